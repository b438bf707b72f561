#include "model/onnx_graph.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "ellice/core/error.hpp"

namespace ellice::onnx {

namespace {

constexpr std::size_t most_nodes = 2000;

/// Those first whose inputs are known, then those that need these alone, and so on; within each of
/// these groups as they are written. Takes time in proportion to the graph.
std::vector<Node> by_depth(std::vector<Node>& nodes, const std::set<std::string>& known,
                           const std::set<std::string>& made, const std::string& source) {
  std::map<std::string, std::vector<std::size_t>> readers;
  std::vector<std::size_t> unknown(nodes.size(), 0);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      if (known.contains(input)) continue;
      readers[input].push_back(i);
      ++unknown[i];
    }
    if (unknown[i] == 0) ready.push_back(i);
  }
  std::vector<Node> sorted;
  while (!ready.empty()) {
    std::vector<std::size_t> next;
    for (const std::size_t i : ready) {
      for (const std::string& output : nodes[i].outputs) {
        for (const std::size_t reader : std::exchange(readers[output], {})) {
          if (--unknown[reader] == 0) next.push_back(reader);
        }
      }
      sorted.push_back(std::move(nodes[i]));
    }
    std::sort(next.begin(), next.end());
    ready = std::move(next);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (unknown[i] == 0) continue;
    const auto absent =
        std::find_if(nodes[i].inputs.begin(), nodes[i].inputs.end(), [&](const std::string& input) {
          const auto waiting = readers.find(input);
          return waiting != readers.end() && !waiting->second.empty();
        });
    fail(ErrorCode::input, "{}: {} reads \"{}\", which {}", source, nodes[i].text(), *absent,
         made.contains(*absent) ? "is made from its own output: the graph has a cycle"
                                : "nothing makes");
  }
  return sorted;
}

}  // namespace

const Attribute* Node::find(std::string_view wanted) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const Attribute& attribute) { return attribute.name == wanted; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string Node::text() const {
  return fmt::format("the {} node \"{}\"", op,
                     !name.empty() || outputs.empty() ? name : outputs.front());
}

void put_in_order(Graph& graph, const std::string& source) {
  require_input(graph.nodes.size() <= most_nodes, "{}: {} nodes, expected at most {}", source,
                graph.nodes.size(), most_nodes);
  std::set<std::string> known = {""};
  for (const auto& [name, tensor] : graph.constants) known.insert(name);
  for (const Input& input : graph.inputs) known.insert(input.name);
  std::set<std::string> made = known;
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      require_input(output.empty() || made.insert(output).second, "{}: \"{}\" is made twice",
                    source, output);
    }
  }
  std::vector<Node> sorted = by_depth(graph.nodes, known, made, source);
  graph.nodes = std::move(sorted);
}

}  // namespace ellice::onnx

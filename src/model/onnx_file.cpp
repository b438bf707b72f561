#include "model/onnx_file.hpp"

#include <optional>

#include "ellice/core/error.hpp"
#include "model/onnx_tensor.hpp"
#include "model/onnx_wire.hpp"

namespace ellice::onnx {

namespace {

constexpr std::size_t largest_file = std::size_t{64} << 20U;

/// Before version 7 numbers were matched by other rules, and Dropout trained unless told not to.
void check_version(std::string_view bytes, const std::string& source) {
  std::string domain;
  std::int64_t version = 0;
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number == 1) domain = field.name();
    if (field.number == 2) version = field.integer("a version");
  });
  require_input(!domain.empty() || version >= 7,
                "{}: it has the operators of ONNX version {}, expected 7 or later; export it "
                "again with a later opset",
                source, version);
}

/// A file may say what its operators do, but not what those of the standard do.
void check_function(std::string_view bytes, const std::string& source) {
  std::string op;
  std::string domain;
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number == 1) op = field.name();
    if (field.number == 10) domain = field.name();
  });
  require_input(!domain.empty() && domain != "ai.onnx" && domain != "ai.onnx.ml",
                "{}: it has a function of its own for the operator {}, which cannot be imported",
                source, op);
}

/// The letter of a field of an attribute, by its number, as Attribute::fields has them; none of
/// those that hold no value: name, text and type of the attribute.
std::string letter_of(std::uint64_t number) {
  if (number == 1 || number == 13 || number == 20) return "";
  constexpr std::string_view letters = "fistgFIS?G";
  const bool is_known = number >= 2 && number < 2 + letters.size();
  return std::string(1, is_known ? letters[number - 2] : '?');
}

Attribute read_attribute(std::string_view bytes, const std::string& source) {
  Attribute result;
  for_each_field(bytes, source, [&](const Field& field) {
    result.fields += letter_of(field.number);
    switch (field.number) {
      case 1:
        result.name = field.name();
        break;
      case 2: {
        std::vector<double> numbers;
        field.append_fixed<float>(numbers);
        if (!numbers.empty()) result.f = numbers.back();
        break;
      }
      case 3:
        result.i = field.integer("an attribute");
        break;
      case 4:
        result.s = field.name();
        break;
      case 5:
        result.tensors.push_back(read_tensor(field.text("a tensor"), source));
        break;
      case 7:
        field.append_fixed<float>(result.floats);
        break;
      case 8:
        for (const std::int64_t entry : field.integers()) result.ints.push_back(entry);
        break;
      case 9:
        result.strings.push_back(field.name());
        break;
      case 6:
      case 11:
        result.has_graph = true;
        break;
      default:
        break;
    }
  });
  return result;
}

Node read_node(std::string_view bytes, const std::string& source) {
  Node node;
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number == 1) node.inputs.push_back(field.name());
    if (field.number == 2) node.outputs.push_back(field.name());
    if (field.number == 3) node.name = field.name();
    if (field.number == 4) node.op = field.name();
    if (field.number == 5)
      node.attributes.push_back(read_attribute(field.text("an attribute"), source));
    if (field.number == 7) node.domain = field.name();
  });
  for (const Attribute& attribute : node.attributes) {
    require_input(&attribute == node.find(attribute.name), "{}: {} has two attributes \"{}\"",
                  source, node.text(), attribute.name);
    require_input(!attribute.has_graph,
                  "{}: {} has a graph of its own (\"{}\"), which cannot be imported", source,
                  node.text(), attribute.name);
  }
  return node;
}

void read_shape(std::string_view bytes, const std::string& source, Input& into) {
  for_each_field(bytes, source, [&](const Field& dimension) {
    std::int64_t size = -1;
    for_each_field(dimension.text("a dimension"), source, [&](const Field& value) {
      if (value.number == 1) size = value.integer("a dimension");
    });
    into.dims.push_back(size);
  });
}

void read_type(std::string_view bytes, const std::string& source, Input& into) {
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number != 1) return;  // only of tensors
    for_each_field(field.text("a type"), source, [&](const Field& inner) {
      if (inner.number == 1) into.type = inner.integer("an element type");
      if (inner.number == 2) read_shape(inner.text("a shape"), source, into);
    });
  });
}

Input read_value(std::string_view bytes, const std::string& source) {
  Input result;
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number == 1) result.name = field.name();
    if (field.number == 2) read_type(field.text("a type"), source, result);
  });
  return result;
}

Graph read_graph(std::string_view bytes, const std::string& source) {
  Graph graph;
  std::vector<Input> inputs;
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number == 1) graph.nodes.push_back(read_node(field.text("a node"), source));
    if (field.number == 5) {
      Tensor tensor = read_tensor(field.text("a tensor"), source);
      const std::string key = tensor.name;
      require_input(graph.constants.emplace(key, std::move(tensor)).second,
                    "{}: two tensors are called \"{}\"", source, key);
    }
    if (field.number == 11) inputs.push_back(read_value(field.text("an input"), source));
    if (field.number == 12)
      graph.outputs.push_back(read_value(field.text("an output"), source).name);
    require_input(field.number != 15, "{}: sparse tensors cannot be imported", source);
  });
  for (Input& input : inputs) {
    if (!graph.constants.contains(input.name)) graph.inputs.push_back(std::move(input));
  }
  return graph;
}

Graph read_model(std::string_view bytes, const std::string& source) {
  std::optional<Graph> graph;
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number == 8) check_version(field.text("a version"), source);
    if (field.number == 25) check_function(field.text("a function"), source);
    if (field.number != 7) return;
    require_input(!graph, "{}: more than one graph", source);
    graph = read_graph(field.text("graph"), source);
  });
  require_input(graph.has_value(), "{}: not an ONNX file: it holds no graph", source);
  return std::move(*graph);
}

}  // namespace

bool looks_like_onnx(std::string_view bytes) {
  // ir_version, field 1, a small number; a text does not begin with a line feed's neighbour.
  return bytes.size() >= 2 && bytes[0] == '\x08' && static_cast<unsigned char>(bytes[1]) < 0x20U;
}

Graph parse_onnx(std::string_view bytes, const std::string& source) {
  require_input(bytes.size() <= largest_file, "{}: {} bytes, expected at most 64 MiB", source,
                bytes.size());
  Graph graph = read_model(bytes, source);
  put_in_order(graph, source);
  return graph;
}

}  // namespace ellice::onnx

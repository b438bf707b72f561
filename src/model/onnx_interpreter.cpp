#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_execution.hpp"
#include "model/onnx_fold.hpp"
#include "model/onnx_operators.hpp"

namespace ellice::onnx {

namespace {

/// Whether all levels are numbers, which count as these where a column of numbers is asked for.
bool are_codes(const std::vector<std::string>& levels) {
  double ignored = 0;
  return !levels.empty() && std::all_of(levels.begin(), levels.end(), [&](const auto& level) {
    return parse_number(level, ignored);
  });
}

/// One feature, or all of them.
Tensor input_of(const Input& input, std::optional<std::size_t> own, const Schema& schema,
                std::span<const double> raw) {
  Tensor made{.type = input.type == 0 ? std::int64_t{float_type} : input.type};
  const std::size_t first = own.value_or(0);
  const std::size_t last = own ? *own + 1 : schema.features.size();
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::size_t j = first; j < last; ++j) {
      const double value = row == 0 ? raw[j] : 0;
      const std::vector<std::string>& levels = schema.features[j].levels;
      const std::string text =
          levels.empty() ? std::string() : levels[static_cast<std::size_t>(value)];
      if (made.type == string_type) {
        made.texts.push_back(text);
      } else {
        made.numbers.push_back(are_codes(levels) ? std::strtod(text.c_str(), nullptr) : value);
      }
    }
  }
  made.dims = {batch};
  if (input.dims.size() != 1) made.dims.push_back(static_cast<std::int64_t>(last - first));
  return made;
}

Execution executed(const Graph& graph, const InputFeatures& features, const Schema& schema,
                   std::span<const double> raw, const std::string& source) {
  Execution execution;
  for (const auto& [name, tensor] : graph.constants) execution.known[name] = &tensor;
  for (std::size_t k = 0; k < features.size(); ++k) {
    const Input& input = graph.inputs[k];
    execution.keep(input.name, input_of(input, features[k], schema, raw));
  }
  for (const Node& node : graph.nodes) {
    ExecutedNode one(node, execution, source);
    const Operator* found = find_operator(node.op);
    if (found == nullptr) one.refuse("is not executed");
    found->execute(one);
  }
  return execution;
}

const Tensor& output_of(const Execution& execution, const std::string& output,
                        const std::string& source) {
  const auto found = execution.known.find(output);
  require_input(found != execution.known.end(), "{}: nothing makes \"{}\"", source, output);
  return *found->second;
}

/// That an output says of the first row what the sign of its score says.
void check_output(const Execution& execution, const std::string& output, const std::string& event,
                  const std::string& source) {
  constexpr double undecided = 1e-6;
  const double score = *execution.score;
  if (std::abs(score) <= undecided) return;
  const Tensor& made = output_of(execution, output, source);
  const auto probability = execution.probabilities.find(output);
  const bool is_pair = made.numbers.size() == 2 * batch;
  bool says_event = score > 0;
  if (probability != execution.probabilities.end()) {
    const double p = is_pair ? made.numbers[1] : made.numbers.front();
    says_event = (p > 0.5) == (probability->second > 0);
    if (std::abs(p - 0.5) <= undecided) return;
  } else if (made.type == string_type) {
    says_event = event.empty() || made.texts.front() == event;
  } else if (is_whole_type(made.type) && !is_pair) {
    says_event = fmt::format("{}", static_cast<std::int64_t>(made.numbers.front())) ==
                 (event.empty() ? "1" : event);
  }
  require_input(says_event == (score > 0),
                "{}: the output \"{}\" of a row says another thing than the score, {:g}, that "
                "was recognised; export the model without what stands between them",
                source, output, score);
}

}  // namespace

double interpret(const Graph& graph, const InputFeatures& features, const Schema& schema,
                 std::span<const double> raw, const std::string& event, const std::string& source) {
  const Execution execution = executed(graph, features, schema, raw, source);
  const std::string& first = graph.outputs.front();
  if (!execution.score) {  // a network that ends with it
    const std::vector<double>& last = output_of(execution, first, source).numbers;
    return last.size() == 2 * batch ? last[1] - last[0] : last.front();
  }
  for (const std::string& output : graph.outputs) check_output(execution, output, event, source);
  // Of 1 − p alone the other label is meant.
  const auto only = execution.probabilities.find(first);
  const bool is_turned = event.empty() && only != execution.probabilities.end() && only->second < 0;
  return is_turned ? -*execution.score : *execution.score;
}

}  // namespace ellice::onnx

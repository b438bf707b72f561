#include "model/onnx_fold.hpp"

#include <set>

#include "ellice/core/error.hpp"
#include "model/onnx_folding.hpp"
#include "model/onnx_operators.hpp"

namespace ellice::onnx {

namespace {

// ── the table ────────────────────────────────────────────────────────────────────────────────────

/// Refuses a column of whole numbers for a feature that has others, and types that round.
void check_input_type(const Input& input, const Feature& feature, const std::string& source) {
  const std::int64_t type = input.type;
  const bool is_known = type == 0 || type == float_type || type == double_type ||
                        type == string_type || is_whole_type(type) ||
                        (type == bool_type && feature.kind == FeatureKind::binary);
  require_input(is_known,
                "{}: the input \"{}\" has the element type {}, expected float, double, int32, "
                "int64 or string, or bool for a binary feature",
                source, input.name, type);
  require_input(!is_whole_type(type) || has_whole_values(feature),
                "{}: the input \"{}\" takes whole numbers, and \"{}\" is {}; make it `kind: "
                "integer` in the schema",
                source, input.name, feature.name, enum_name(feature.kind));
}

/// All features, in the order of the schema.
Value table_of(const Input& input, Columns& columns, const std::string& source) {
  const std::size_t count = columns.schema().features.size();
  const std::int64_t found = input.dims.size() == 2 ? input.dims[1] : -1;
  require_input(found == static_cast<std::int64_t>(count),
                "{}: the input \"{}\" has {} columns, and the schema {} features; a table has all "
                "features in the order of the schema, and columns of their own have their names",
                source, input.name, found, count);
  Texts texts;
  std::vector<Affine> numbers;
  for (std::size_t j = 0; j < count; ++j) {
    check_input_type(input, columns.feature(j), source);
    texts.features.push_back(j);
    if (input.type != string_type) numbers.push_back(columns.number(j));
  }
  const Shape shape = {static_cast<Index>(count)};
  return input.type == string_type ? Value{texts, shape} : Value{joined(numbers), shape};
}

Value column_of(const Input& input, std::size_t j, Columns& columns, const std::string& source) {
  const std::size_t rank = input.dims.size();
  require_input(rank <= 2 && (rank == 0 || input.dims.back() == 1 || input.dims.back() == -1),
                "{}: the input \"{}\" has the shape [{}], expected one column", source, input.name,
                fmt::join(input.dims, ", "));
  check_input_type(input, columns.feature(j), source);
  const Shape shape = rank == 1 ? Shape{} : Shape{1};
  return input.type == string_type ? Value{Texts{{j}}, shape} : Value{columns.number(j), shape};
}

void fold_inputs(Folding& folding, const InputFeatures& features, const std::string& source) {
  for (std::size_t k = 0; k < features.size(); ++k) {
    const Input& input = folding.graph->inputs[k];
    folding.values[input.name] = features[k]
                                     ? column_of(input, *features[k], folding.columns, source)
                                     : table_of(input, folding.columns, source);
  }
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

/// What an output of the graph is; nullptr where it is something else.
template <class T>
const T* output_as(const Folding& folding, const std::string& output) {
  const auto found = folding.values.find(output);
  return found == folding.values.end() ? nullptr : std::get_if<T>(&found->second.is);
}

/// The score of a network that ends with it.
const Affine& last_score(const Folding& folding, const std::string& source) {
  const std::vector<std::string>& outputs = folding.graph->outputs;
  require_input(outputs.size() == 1, "{}: the graph has {} outputs and none is a score", source,
                outputs.size());
  const auto* row = output_as<Affine>(folding, outputs.front());
  require_input(row != nullptr && (row->size() == 1 || row->size() == 2),
                "{}: the output \"{}\" is no score of two classes", source, outputs.front());
  return *row;
}

/// What the outputs say, which must be made of the score.
struct Said {
  std::set<Final::Kind> kinds = {};
  std::vector<std::string> labels = {};  // the same of all that have any
};

Said said_by_outputs(const Folding& folding, const std::string& source) {
  const Node& score_node = *folding.score_node;
  Said said;
  for (const std::string& output : folding.graph->outputs) {
    const bool is_score =
        score_node.op != "LinearClassifier" && output == score_node.inputs.front();
    if (is_score) continue;
    const auto* made = output_as<Final>(folding, output);
    require_input(made != nullptr,
                  "{}: the output \"{}\" is not made of the score, which is that of {}; export "
                  "the model with the output that decides alone",
                  source, output, score_node.text());
    said.kinds.insert(made->kind);
    if (made->labels.empty()) continue;
    require_input(said.labels.empty() || said.labels == made->labels,
                  "{}: the outputs have the labels {} and {}, expected the same of all, in the "
                  "same order",
                  source, fmt::join(said.labels, ", "), fmt::join(made->labels, ", "));
    said.labels = made->labels;
  }
  return said;
}

/// Without labels an output speaks for the event: the index 1, or a large number.
void read_unnamed(Folding& folding, const std::set<Final::Kind>& kinds, const std::string& source) {
  const std::string& favourable = folding.columns.schema().target.favourable;
  const bool are_indices = favourable == "0" || favourable == "1";
  if (kinds.contains(Final::Kind::index) && are_indices) folding.labels = {"0", "1"};
  if (!kinds.contains(Final::Kind::other)) return;
  Affine& score = *folding.score;
  require_input(kinds.size() == 1,
                "{}: the outputs are 1 − p and others, and no labels say which one decides; "
                "export the model with one of them",
                source);
  score.weights = -score.weights;
  score.bias = -score.bias;
}

void read_outputs(Folding& folding, const std::string& source) {
  require_input(!folding.graph->outputs.empty(), "{}: the graph has no output", source);
  if (!folding.score) {
    folding.score = last_score(folding, source);
    return;
  }
  const Said said = said_by_outputs(folding, source);
  if (!said.labels.empty()) folding.labels = said.labels;
  if (folding.labels.empty()) read_unnamed(folding, said.kinds, source);
}

}  // namespace

Folded fold(const Graph& graph, const InputFeatures& features, const Schema& schema,
            const std::string& source) {
  Folding folding(graph, schema, source);
  fold_inputs(folding, features, source);
  for (const Node& node : graph.nodes) {
    FoldedNode folded(node, folding, source);
    operator_of(folded).fold(folded);
  }
  read_outputs(folding, source);
  DeployedModel model = std::move(folding.model);
  const Affine& score = *folding.score;
  require_input(score.layer == model.layers.size() + 1,
                "{}: the score does not come from the last layer", source);
  model.layers.push_back({.weights = score.weights, .bias = score.bias});
  model.source = source;
  model.kind = "onnx";
  model.precision = Precision::float32;
  if (!folding.labels.empty()) model.event = folding.labels[1];
  return {.model = std::move(model), .labels = std::move(folding.labels)};
}

}  // namespace ellice::onnx

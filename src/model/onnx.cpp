#include "ellice/model/onnx.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "model/onnx_file.hpp"
#include "model/onnx_fold.hpp"

namespace ellice {

namespace {

/// The file's own labels must be those of the rows, for one of them may mean another class there:
/// 1 is the second of 0 and 1, and the first of 1 and 2.
void check_classes(const std::vector<std::string>& labels, const Dataset& data,
                   const std::string& source) {
  if (labels.empty()) return;
  const bool are_same =
      std::is_permutation(labels.begin(), labels.end(), data.classes.begin(), data.classes.end());
  require_input(are_same,
                "{}: its labels are {} and {}, those of {} {}; --event names the label that its "
                "second class, {}, is there",
                source, labels[0], labels[1], data.source, fmt::join(data.classes, " and "),
                labels[1]);
}

}  // namespace

bool looks_like_onnx(std::string_view bytes) {
  return onnx::looks_like_onnx(bytes);
}

Model model_of_onnx(std::string_view bytes, const std::string& source, const Dataset& data,
                    const OnnxOptions& options) {
  const onnx::Graph graph = onnx::parse_onnx(bytes, source);
  const onnx::InputFeatures features = onnx::features_of_inputs(graph, data.schema, source);
  onnx::Folded folded = onnx::fold(graph, features, data.schema, source);
  DeployedModel model = std::move(folded.model);
  model.loss = options.loss;
  model.l2 = options.l2;
  model.penalize_bias = options.penalize_bias;
  model.weights = options.weights;
  model.tool = options.tool;
  model.store_rows = options.store_rows;
  model.sha256 = sha256_hex(bytes);
  const std::string own_event = model.event;
  if (options.event.empty()) {
    check_classes(folded.labels, data, source);
  } else {
    model.event = options.event;
  }
  return model_of(model, data, [&](std::span<const double> raw) {
    return onnx::interpret(graph, features, data.schema, raw, own_event, source);
  });
}

}  // namespace ellice

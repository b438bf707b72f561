#include "ellice/model/onnx.hpp"

#include "core/sha256.hpp"
#include "model/onnx_file.hpp"
#include "model/onnx_fold.hpp"

namespace ellice {

bool looks_like_onnx(std::string_view bytes) {
  return onnx::looks_like_onnx(bytes);
}

Model model_of_onnx(std::string_view bytes, const std::string& source, const Dataset& data,
                    const OnnxOptions& options) {
  const onnx::Graph graph = onnx::parse_onnx(bytes, source);
  const onnx::InputFeatures features = onnx::features_of_inputs(graph, data.schema, source);
  DeployedModel model = onnx::fold(graph, features, data.schema, source);
  model.loss = options.loss;
  model.l2 = options.l2;
  model.penalize_bias = options.penalize_bias;
  model.weights = options.weights;
  model.tool = options.tool;
  model.store_rows = options.store_rows;
  model.sha256 = sha256_hex(bytes);
  const std::string own_event = model.event;
  if (!options.event.empty()) model.event = options.event;
  return model_of(model, data, [&](std::span<const double> raw) {
    return onnx::interpret(graph, features, data.schema, raw, own_event, source);
  });
}

}  // namespace ellice

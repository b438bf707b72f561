#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ellice/data/schema.hpp"
#include "model/onnx_graph.hpp"

namespace ellice::onnx {

/// The feature that each input of a graph is; none where the only input is a table, with all
/// features in the order of the schema. An input has the name of its feature, or the one that
/// skl2onnx makes of it: signs other than letters and digits become underscores, and one stands
/// before a digit at the beginning. Throws Error{input} naming an input that is no feature or may
/// be several.
using InputFeatures = std::vector<std::optional<std::size_t>>;
[[nodiscard]] InputFeatures features_of_inputs(const Graph& graph, const Schema& schema,
                                               const std::string& source);

}  // namespace ellice::onnx

#pragma once

#include "ellice/model/deployed.hpp"
#include "model/onnx_inputs.hpp"

namespace ellice::onnx {

struct Folded {
  DeployedModel model = {};
  std::vector<std::string> labels = {};  // the file's own, the event's second; none: it has none
};

/// The inputs and layers that a graph amounts to, folded in double precision. Operators are
/// recognised, never executed; Error{input} names the node and the operator that is none of these,
/// or that comes in the wrong place.
[[nodiscard]] Folded fold(const Graph& graph, const InputFeatures& features, const Schema& schema,
                          const std::string& source);

/// The score that the operators give to a row of Dataset::raw, one after the other, in double
/// precision: shares nothing with fold(). They are executed to the end, with another row beside it,
/// so that what mixes rows, drops digits or turns labels round shows: Error{input} if an output
/// does not say of the score what its sign says. `event` is the file's own label of the second
/// class, where it has labels.
[[nodiscard]] double interpret(const Graph& graph, const InputFeatures& features,
                               const Schema& schema, std::span<const double> raw,
                               const std::string& event, const std::string& source);

}  // namespace ellice::onnx

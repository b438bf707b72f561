#pragma once

// Models as ONNX files, with the rows that they were fitted on.

#include <string>
#include <string_view>

#include "ellice/model/deployed.hpp"

namespace ellice {

/// Whether bytes may be those of an ONNX file.
[[nodiscard]] bool looks_like_onnx(std::string_view bytes);

/// What such a file does not say.
struct OnnxOptions {
  LossKind loss = LossKind::logistic;
  double l2 = 0;                           // as of DeployedModel
  bool penalize_bias = false;              // of networks
  std::optional<RowWeights> weights = {};  // of the rows
  std::string event = {};                  // where its labels are not those of the data
  std::string tool = {};
  bool store_rows = false;
};

/// The model of an ONNX file, in single precision. Operators are recognised, never executed, and
/// folded exactly; then an interpreter that shares nothing with that scores the rows. Throws
/// Error{input} naming the node and the operator that cannot be imported.
[[nodiscard]] Model model_of_onnx(std::string_view bytes, const std::string& source,
                                  const Dataset& data, const OnnxOptions& options);

}  // namespace ellice

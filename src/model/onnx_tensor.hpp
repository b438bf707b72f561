#pragma once

#include <string>
#include <string_view>

#include "model/onnx_graph.hpp"

namespace ellice::onnx {

/// A constant from its message. Throws Error{input} naming it where it stands in another file, is
/// of a type that is not read, or has other entries than its shape says.
[[nodiscard]] Tensor read_tensor(std::string_view bytes, const std::string& source);

}  // namespace ellice::onnx

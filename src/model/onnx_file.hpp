#pragma once

#include <string>
#include <string_view>

#include "model/onnx_graph.hpp"

namespace ellice::onnx {

/// Whether a text may be an ONNX file: not text, and with the field that such files begin with.
[[nodiscard]] bool looks_like_onnx(std::string_view bytes);

/// Nodes in an order in which each comes after what it reads. Throws Error{input} naming what is
/// wrong: sizes, cut or malformed fields, tensors in other files, subgraphs, shapes, cycles.
[[nodiscard]] Graph parse_onnx(std::string_view bytes, const std::string& source);

}  // namespace ellice::onnx

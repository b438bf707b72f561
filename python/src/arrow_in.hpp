#pragma once

#include "arrow_c.hpp"
#include "frame.hpp"

namespace ellice::python {

/// Takes all batches of a stream, without copying numbers and texts. Throws Error{input} naming
/// what the stream says when it fails, or what it holds if that is no table.
[[nodiscard]] Frame read_arrow(ArrowArrayStream& stream);

}  // namespace ellice::python

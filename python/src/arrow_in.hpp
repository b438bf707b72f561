#pragma once

#include "arrow_c.hpp"
#include "frame.hpp"

namespace ellice::python {

/// Takes a stream over, without copying numbers and texts: its batches are pulled when their rows
/// are read. Throws Error{input} naming what the stream says when it fails, or what it holds if
/// that is no table.
[[nodiscard]] Frame open_arrow(ArrowArrayStream& stream);
/// The same, with all of its batches.
[[nodiscard]] Frame read_arrow(ArrowArrayStream& stream);

}  // namespace ellice::python

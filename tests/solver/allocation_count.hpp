#pragma once

#include <cstddef>
#include <optional>

namespace ellice {

/// Heap allocations of this process so far, by operator new, Eigen or BLAS alike; nothing where
/// another allocator (a sanitizer's) is in charge.
[[nodiscard]] std::optional<std::size_t> allocation_count();

}  // namespace ellice

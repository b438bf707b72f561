#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "ellice/core/execution.hpp"

namespace ellice {

/// The number of threads that `threads` asks for: itself, or one per core for 0.
[[nodiscard]] int thread_count(int threads);

/// Calls body(0) … body(count-1), each once, on up to execution.threads threads. Indices are handed
/// out in increasing order. If bodies throw, no further index is handed out and the exception of
/// the smallest index is rethrown, so that the error is the same for any number of threads.
/// Progress is reported after each index; when it says stop, Error{cancelled} is thrown. BLAS stays
/// single-threaded while this runs. The result of a computation is the same for any number of
/// threads if body(i) writes only what belongs to i.
void parallel_for(std::string_view stage, std::size_t count, const Execution& execution,
                  const std::function<void(std::size_t)>& body);

}  // namespace ellice

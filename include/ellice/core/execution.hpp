#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace ellice {

struct ProgressState {
  std::string_view stage = {};
  std::size_t done = 0;
  std::size_t total = 0;  // 0: not known
};

/// Called from one thread at a time. Answering false stops the work, which then throws
/// Error{cancelled}: a progress bar, a server's event stream and Ctrl-C are the same mechanism.
using Progress = std::function<bool(const ProgressState&)>;

/// How a piece of work is run; never changes a result.
struct Execution {
  int threads = 1;  // 0: one per core
  Progress progress = {};
};

}  // namespace ellice

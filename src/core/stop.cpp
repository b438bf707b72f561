#include "core/stop.hpp"

namespace ellice {

namespace internal {

thread_local constinit const std::atomic<bool>* current_stop = nullptr;
thread_local constinit bool keeps_finished = false;

void throw_stopped() {
  fail(ErrorCode::cancelled, "stopped");
}

}  // namespace internal

void keep_stop(const Error& error) {
  if (error.code() == ErrorCode::cancelled) throw;
}

}  // namespace ellice

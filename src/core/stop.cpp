#include "core/stop.hpp"

#include "ellice/core/error.hpp"

namespace ellice::internal {

thread_local constinit const std::atomic<bool>* current_stop = nullptr;
thread_local constinit bool keeps_finished = false;

void throw_stopped() {
  fail(ErrorCode::cancelled, "stopped");
}

}  // namespace ellice::internal

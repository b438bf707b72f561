#include "core/progress.hpp"

#include "ellice/core/error.hpp"

namespace ellice {

void report_progress(const Progress& progress, const ProgressState& state) {
  if (progress && !progress(state)) fail(ErrorCode::cancelled, "{}: stopped", state.stage);
}

}  // namespace ellice

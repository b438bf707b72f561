#pragma once

#include "ellice/core/execution.hpp"

namespace ellice {

/// Tells the callback, if there is one, and throws Error{cancelled} when it says stop.
void report_progress(const Progress& progress, const ProgressState& state);

}  // namespace ellice

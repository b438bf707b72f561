#pragma once

// Ctrl-C, SIGTERM and SIGHUP: work is asked to stop and keeps what is finished; work that does not
// hear it is ended before half a second is over, its temporary files removed.

#include <atomic>

namespace ellice::cli {

/// From now on signals ask for a stop. Those that the caller ignores (nohup, a background job) stay
/// ignored.
void listen_for_signals();

/// Set by the first signal: what every piece of work looks at (Execution.stop).
[[nodiscard]] const std::atomic<bool>& stop_flag();

/// The work has stopped and now writes what is finished: it is given the time for that. A second
/// signal ends it at once.
void stop_was_heard();

/// What a shell says of a program that a signal ended: 130 for Ctrl-C, 143 for SIGTERM.
[[nodiscard]] int interrupted_status();

}  // namespace ellice::cli

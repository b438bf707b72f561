#pragma once

// Long work beside Python: on a thread of its own, without the interpreter's lock, while the
// calling thread looks for Ctrl-C and tells the progress callback.

#include <nanobind/nanobind.h>

#include <functional>
#include <optional>

#include "core/parallel.hpp"

namespace ellice::python {

namespace nb = nanobind;

/// Runs `body`, which gets how to run. `progress` is None or called as progress(stage, done, total)
/// some twenty times a second; answering False stops. Rethrows what `body` throws. Returns the
/// exception for which the work was stopped, if it was: KeyboardInterrupt, that of the callback, or
/// `stopped`.
[[nodiscard]] std::optional<nb::object> run_work(const nb::object& progress, int threads,
                                                 const std::function<void(const Execution&)>& body);

/// The same for work of which nothing is kept: raises.
void run_whole(const nb::object& progress, int threads,
               const std::function<void(const Execution&)>& body);

/// Raises an exception that was held.
[[noreturn]] void raise(const nb::object& exception);

/// What a progress callback that answers False raises; set when the module is made.
void set_stopped_type(const nb::object& type);

}  // namespace ellice::python

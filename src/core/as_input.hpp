#pragma once

#include <string>
#include <utility>

namespace ellice {

/// Throws the exception in flight again: as Error{input} that names `source` where it says that
/// what was read cannot be used (a wrong argument, a JSON value of another type), else as it is.
[[noreturn]] void rethrow_as_input(const std::string& source);

/// Calls what reads or checks the content of `source`. The library calls what is out of range a
/// wrong argument; in a file it is bad input.
template <class F>
decltype(auto) as_input(const std::string& source, F&& read) {
  try {
    return std::forward<F>(read)();
  } catch (...) {
    rethrow_as_input(source);
  }
}

}  // namespace ellice

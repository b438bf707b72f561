#pragma once

// A caller's mistake or bad input throws Error; a mathematical outcome is a status; our bug is an
// assert.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ellice {

enum class ErrorCode {
  argument,   // a call or an option is wrong
  input,      // a file, its data, a schema, a model or a certificate cannot be used
  output,     // a result could not be written
  internal,   // a promise of ours is broken
  cancelled,  // the progress callback said stop
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

/// Checks what a caller passes; the message names the field, its value and the bound.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(ErrorCode::argument, text, std::forward<Args>(args)...);
}

/// Checks what was read; the message names the place, what was found and what was expected.
template <class... Args>
void require_input(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(ErrorCode::input, text, std::forward<Args>(args)...);
}

}  // namespace ellice

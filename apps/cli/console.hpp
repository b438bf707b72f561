#pragma once

// What the program says while it works: messages and progress on standard error, results elsewhere.

#include <array>
#include <string>
#include <string_view>

#include "core/progress.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/fields.hpp"

namespace ellice::cli {

enum class LogLevel { error, warning, info, debug };

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::LogLevel> {
  static constexpr std::array<std::string_view, 4> names = {"error", "warning", "info", "debug"};
};

namespace ellice::cli {

/// Messages that cannot be written are lost, and nothing else happens.
class Console {
 public:
  explicit Console(LogLevel level) : level_(level) {}

  void error(std::string_view text) const { say(LogLevel::error, "ellice: ", text); }
  void warning(std::string_view text) const { say(LogLevel::warning, "ellice: warning: ", text); }
  void info(std::string_view text) const { say(LogLevel::info, "", text); }
  void debug(std::string_view text) const { say(LogLevel::debug, "", text); }

  /// A bar with rate and remaining time on a terminal, once the work has lasted over a second;
  /// stops the work after Ctrl-C.
  [[nodiscard]] Progress progress() const;

 private:
  void say(LogLevel level, std::string_view prefix, std::string_view text) const;

  LogLevel level_;
};

/// Standard streams that the caller closed stay unusable but taken: a file that is opened later
/// must not get the number of standard error, and messages with it.
void hold_standard_streams();

}  // namespace ellice::cli

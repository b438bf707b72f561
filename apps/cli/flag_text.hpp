#pragma once

// The library names fields, in backticks: `node_limit`, or with a value `set: true`. On the command
// line they are flags: --node-limit, --set true. This is the one place that knows.

#include <string>
#include <string_view>

namespace ellice::cli {

/// The flag of a field: --max-iterations for max_iterations.
[[nodiscard]] std::string field_flag(std::string_view name);

/// Notes that some verb takes this flag.
void remember_flag(const std::string& flag);

/// The text with flags in place of the fields that some verb takes as flags; other words in
/// backticks stay as they are.
[[nodiscard]] std::string with_flags(std::string_view text);

}  // namespace ellice::cli

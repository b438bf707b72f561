#pragma once

#include <string>
#include <string_view>

namespace ellice {

/// What messages call an input: its path, or "standard input" for "-".
[[nodiscard]] std::string input_name(const std::string& path);

/// The whole file; "-" is standard input. Throws Error{input} naming the file and the reason.
[[nodiscard]] std::string read_file(const std::string& path);

/// Writes the whole file or nothing: a temporary file beside it, synced, then renamed over it. "-"
/// is standard output. Throws Error{output} naming the file and the reason; an existing file is
/// then untouched.
void write_file(const std::string& path, std::string_view text);

}  // namespace ellice

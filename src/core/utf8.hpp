#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ellice {

/// Where the first byte stands that keeps the text from being UTF-8, or nothing.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Whether a file that begins so holds text in UTF-16 (or UTF-32), with a mark at its start or not.
[[nodiscard]] bool looks_like_utf16(std::string_view start);

/// Error{input} for such a file, with what to do.
void refuse_utf16(std::string_view start, const std::string& name);

/// The text for a message: cut, at a character, after `longest` bytes at most, with "…" in place of
/// the rest.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest);

/// The text as it can be shown on a terminal and in a log: control characters, marks that turn the
/// direction of writing, line separators and bytes that are not UTF-8 become escapes such as \x1B
/// and \u202E.
[[nodiscard]] std::string visible(std::string_view text);

/// The same for text of several lines, whose ends stay.
[[nodiscard]] std::string visible_lines(std::string_view text);

/// The text with its ASCII letters small, whatever the locale; other letters stay.
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace ellice

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ellice {

/// Where the first byte stands that keeps the text from being UTF-8, or nothing.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace ellice

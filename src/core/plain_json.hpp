#pragma once

#include <optional>
#include <string_view>

#include "ellice/core/json_fwd.hpp"

namespace ellice {

/// The tree of a text as programs write JSON, as the library's own parser would build it but
/// several times as fast; nothing where anything is unusual (no JSON, a key that stands twice,
/// numbers beyond double precision, surrogates, deep nesting), so that the library says what it is.
[[nodiscard]] std::optional<Json> parse_plain_json(std::string_view text);

}  // namespace ellice

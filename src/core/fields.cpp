#include "ellice/core/fields.hpp"

namespace ellice {

std::string Range::text() const {
  const bool has_lower = std::isfinite(lower);
  const bool has_upper = std::isfinite(upper);
  if (has_lower && has_upper) {
    return fmt::format("in {}{}, {}{}", lower_open ? '(' : '[', lower, upper,
                       upper_open ? ')' : ']');
  }
  if (has_lower) return fmt::format("{} {}", lower_open ? ">" : ">=", lower);
  if (has_upper) return fmt::format("{} {}", upper_open ? "<" : "<=", upper);
  return "finite";
}

std::string join_names(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace ellice

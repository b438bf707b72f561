#include "data/repeated_rows.hpp"

#include <fmt/format.h>

#include <functional>

namespace ellice {

void RepeatedRows::add(std::span<const std::string_view> cells) {
  if (rows_ == most_rows) return;
  ++rows_;
  std::uint64_t hash = 0;
  for (const std::size_t column : columns_) {
    // Multiplied, so that equal cells of two columns do not cancel and their order counts.
    hash = (hash ^ std::hash<std::string_view>()(cells[column])) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  }
  const std::uint64_t label = std::hash<std::string_view>()(cells[target_]);
  Seen& seen = seen_[hash];
  if (seen.rows == 0) {
    seen.label = label;
  } else if (seen.label != label) {
    seen.has_labels = true;
  } else {
    ++duplicates_;
  }
  ++seen.rows;
}

std::size_t RepeatedRows::contradicting() const {
  std::size_t rows = 0;
  for (const auto& [hash, seen] : seen_) rows += seen.has_labels ? seen.rows : 0;
  return rows;
}

std::string RepeatedRows::extent() const {
  return fmt::format("{}{} rows", rows_ == most_rows ? "the first " : "", rows_);
}

std::vector<std::string> RepeatedRows::notes() const {
  if (duplicates_ == 0) return {};
  return {fmt::format("{} of {} repeat an earlier one, label included (identifiers aside)",
                      duplicates_, extent())};
}

std::vector<std::string> RepeatedRows::doubts() const {
  const std::size_t rows = contradicting();
  if (rows == 0) return {};
  return {fmt::format(
      "{} of {} contradict each other: the same values (identifiers aside) with different labels",
      rows, extent())};
}

}  // namespace ellice

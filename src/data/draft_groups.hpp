#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ellice {

/// Columns that share the part of their names before the last '_' or '=', and whether they hold one
/// 1 and otherwise 0 in every row so far.
struct ColumnGroup {
  std::string name = {};
  std::vector<std::size_t> columns = {};
  bool exact = true;

  void add(std::span<const std::string_view> cells);
};

[[nodiscard]] std::vector<ColumnGroup> possible_groups(const std::vector<std::string>& header,
                                                       std::size_t target);

/// By column, of those that are exact; null where it is in none.
[[nodiscard]] std::vector<const ColumnGroup*> exact_groups(const std::vector<ColumnGroup>& groups,
                                                           std::size_t columns);

}  // namespace ellice

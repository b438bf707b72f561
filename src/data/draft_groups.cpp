#include "data/draft_groups.hpp"

#include <unordered_map>
#include <unordered_set>

namespace ellice {

void ColumnGroup::add(std::span<const std::string_view> cells) {
  std::size_t marked = 0;
  for (const std::size_t column : columns) {
    if (cells[column] == "1") {
      ++marked;
    } else if (cells[column] != "0") {
      exact = false;
    }
  }
  exact = exact && marked == 1;
}

std::vector<ColumnGroup> possible_groups(const std::vector<std::string>& header,
                                         std::size_t target) {
  std::vector<ColumnGroup> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t column = 0; column < header.size(); ++column) {
    const std::size_t end = header[column].find_last_of("_=");
    if (column == target || end == std::string::npos || end == 0) continue;
    const std::string name = header[column].substr(0, end);
    const auto [place, is_new] = known.try_emplace(name, groups.size());
    if (is_new) groups.push_back({.name = name});
    groups[place->second].columns.push_back(column);
  }
  const std::unordered_set<std::string_view> names(header.begin(), header.end());
  std::erase_if(groups, [&](const ColumnGroup& group) {
    return group.columns.size() < 2 || names.contains(group.name);
  });
  return groups;
}

std::vector<const ColumnGroup*> exact_groups(const std::vector<ColumnGroup>& groups,
                                             std::size_t columns) {
  std::vector<const ColumnGroup*> result(columns, nullptr);
  for (const ColumnGroup& group : groups) {
    if (!group.exact) continue;
    for (const std::size_t column : group.columns) result[column] = &group;
  }
  return result;
}

}  // namespace ellice

#include "study/answer_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

bool is_blank(std::string_view cell) {
  return cell.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> AnswerColumns::own(std::string name, const Schema& schema) const {
  while (schema.find(name)) name += '_';
  const std::vector<std::string>& header = table_->header();
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

AnswerColumns::AnswerColumns(RowSource& table, const Schema& schema) : table_(&table) {
  const std::optional<std::size_t> index = own("query_index", schema);
  require_input(index.has_value(),
                "{}: there is no column query_index, which says to which row of the query file an "
                "answer belongs; {}",
                table.name(), suggestion("query_index", table.header()));
  index_ = *index;
  plan_ = own("plan", schema);
  status_ = own("status", schema);
  for (const char* const name : {"seconds", "distance_l2", "distance_l1"}) {
    if (const std::optional<std::size_t> cell = own(name, schema)) numbers_[name] = *cell;
  }
  std::set<std::size_t> hidden;
  for (const char* const name : {"query_index", "plan", "status", "seconds", "id", "distance_l2",
                                 "distance_l1", "distance_weighted", "changed", "logit",
                                 "robust_logit", "gap", "message", "reason", "certificate"}) {
    if (const std::optional<std::size_t> cell = own(name, schema)) hidden.insert(*cell);
  }
  const std::vector<std::string>& header = table.header();
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (hidden.contains(i)) continue;
    const std::optional<std::size_t> feature = schema.find(header[i]);
    const bool is_group = feature && !schema.features[*feature].one_hot.empty();
    if (is_group) {
      groups_.push_back({.feature = &schema.features[*feature], .cell = i});
    } else {
      kept_.push_back(i);
      header_.push_back(header[i]);
    }
  }
  for (const Group& group : groups_) {
    header_.insert(header_.end(), group.feature->one_hot.begin(), group.feature->one_hot.end());
  }
  std::set<std::string_view> names;
  for (const std::string& name : header_) {
    require_input(names.insert(name).second,
                  "{}: the column \"{}\" is there beside the group that it belongs to",
                  table.name(), name);
  }
}

void AnswerColumns::expand(const Group& group) {
  const std::string_view level = row_[group.cell];
  const std::vector<std::string>& levels = group.feature->one_hot;
  require_input(is_blank(level) || std::find(levels.begin(), levels.end(), level) != levels.end(),
                "{}: {} is \"{}\", expected one of its levels; {}", place(), group.feature->name,
                level, suggestion(level, levels));
  for (const std::string& one : levels) cells_.emplace_back(one == level ? "1" : "0");
}

bool AnswerColumns::next(std::span<const std::string_view>& cells) {
  if (!table_->next(row_)) return false;
  is_empty_ =
      std::all_of(kept_.begin(), kept_.end(), [&](std::size_t i) { return is_blank(row_[i]); }) &&
      std::all_of(groups_.begin(), groups_.end(),
                  [&](const Group& group) { return is_blank(row_[group.cell]); });
  cells_.clear();
  for (const std::size_t i : kept_) cells_.push_back(row_[i]);
  for (const Group& group : groups_) expand(group);
  cells = cells_;
  return true;
}

int AnswerColumns::plan() const {
  if (!plan_) return 0;
  double value = 0;
  const bool is_plan = parse_number(row_[*plan_], value) && value >= 0 &&
                       value == std::floor(value) && value <= std::numeric_limits<int>::max();
  require_input(is_plan, "{}: plan is \"{}\", expected a number, from 0", place(), row_[*plan_]);
  return static_cast<int>(value);
}

std::optional<Status> AnswerColumns::status() const {
  if (!status_) return std::nullopt;
  const std::optional<Status> status = enum_from_name<Status>(row_[*status_]);
  require_input(status.has_value(), "{}: status is \"{}\", expected one of {}", place(),
                row_[*status_], join_names(EnumNames<Status>::names));
  return status;
}

std::optional<double> AnswerColumns::number(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end() || is_blank(row_[found->second])) return std::nullopt;
  double value = 0;
  require_input(parse_number(row_[found->second], value) && value >= 0,
                "{}: {} is \"{}\", expected a number >= 0", place(), name, row_[found->second]);
  return value;
}

}  // namespace ellice

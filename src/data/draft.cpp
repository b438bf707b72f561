#include "data/draft.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr std::size_t most_values = 1000;  // distinct texts remembered per column
constexpr std::size_t many_levels = 50;    // a category with more deserves a look
constexpr std::size_t rows_per_report = 8192;

bool is_empty_cell(std::string_view cell) {
  return cell.find_first_not_of(" \t") == std::string_view::npos;
}

/// What one pass over a column tells, in memory that does not grow with the rows.
struct ColumnSummary {
  std::size_t rows = 0;
  std::size_t empty = 0;
  std::size_t numbers = 0;
  bool whole = true;         // every number is a whole number
  bool more_values = false;  // than `values` holds
  std::unordered_set<std::string> values = {};
  std::string text = {};  // the first cell that is no number

  void add(std::string_view cell) {
    ++rows;
    if (is_empty_cell(cell)) {
      ++empty;
      return;
    }
    double value = 0;
    if (parse_number(cell, value)) {
      ++numbers;
      whole = whole && value == std::nearbyint(value);
    } else if (text.empty()) {
      text = cell;
    }
    if (more_values) return;
    std::string spelling(cell);
    if (values.contains(spelling)) return;
    more_values = values.size() == most_values;
    if (!more_values) values.insert(std::move(spelling));
  }

  [[nodiscard]] bool is_number() const { return numbers == rows - empty; }
  [[nodiscard]] std::vector<std::string> sorted_values() const {
    std::vector<std::string> result(values.begin(), values.end());
    std::sort(result.begin(), result.end());
    return result;
  }
};

/// Columns that share the part of their names before the last '_' or '=', and whether they hold one
/// 1 and otherwise 0 in every row so far.
struct Group {
  std::string name = {};
  std::vector<std::size_t> columns = {};
  bool exact = true;

  void add(std::span<const std::string_view> cells) {
    std::size_t ones = 0;
    for (const std::size_t column : columns) {
      if (cells[column] == "1") {
        ++ones;
      } else if (cells[column] != "0") {
        exact = false;
      }
    }
    exact = exact && ones == 1;
  }
};

std::vector<Group> possible_groups(const std::vector<std::string>& header, std::size_t target) {
  std::vector<Group> groups;
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
  std::erase_if(groups, [&](const Group& group) {
    return group.columns.size() < 2 || names.contains(group.name);
  });
  return groups;
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// Orders two texts so that the second means yes; false if nothing but the alphabet speaks for the
/// order.
bool order_levels(std::vector<std::string>& levels) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> known = {
      {{"no", "yes"}, {"false", "true"}, {"n", "y"}, {"f", "t"}, {"off", "on"}}};
  const std::string first = lower_case(levels[0]);
  const std::string second = lower_case(levels[1]);
  for (const auto& [no, yes] : known) {
    if (first == yes && second == no) std::swap(levels[0], levels[1]);
    if ((first == no && second == yes) || (first == yes && second == no)) return true;
  }
  return false;
}

class Drafter {
 public:
  Drafter(const RowSource& source, const std::string& target, const std::string& favourable)
      : source_(&source), columns_(source.header().size()) {
    const std::vector<std::string>& header = source.header();
    const auto found = std::find(header.begin(), header.end(), target);
    require_input(found != header.end(), "{}: there is no column \"{}\" for the target; {}",
                  source.name(), target, suggestion(target, header));
    target_ = static_cast<std::size_t>(found - header.begin());
    groups_ = possible_groups(header, target_);
    draft_.schema.target = {.column = target, .favourable = favourable};
  }

  void add(std::span<const std::string_view> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) columns_[i].add(cells[i]);
    for (Group& group : groups_) {
      if (group.exact) group.add(cells);
    }
    has_favourable_ = has_favourable_ || is_favourable(cells[target_]);
    ++rows_;
  }

  SchemaDraft finish() {
    require_input(rows_ > 0, "{}: the table has a header but no rows", source_->name());
    check_target();
    std::vector<bool> done(columns_.size(), false);
    const std::vector<const Group*> groups = exact_groups();
    done[target_] = true;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (done[column]) continue;
      const Group* const group = groups[column];
      if (group == nullptr) {
        draft_column(column);
        continue;
      }
      for (const std::size_t member : group->columns) done[member] = true;
      draft_group(*group);
    }
    require_input(!draft_.schema.features.empty(), "{}: no column but the target can be a feature",
                  source_->name());
    draft_missing();
    return std::move(draft_);
  }

 private:
  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    draft_.notes.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  /// The same text, or the same number in another spelling.
  [[nodiscard]] bool is_favourable(std::string_view cell) const {
    double value = 0;
    double favourable = 0;
    return cell == draft_.schema.target.favourable ||
           (parse_number(draft_.schema.target.favourable, favourable) &&
            parse_number(cell, value) && value == favourable);
  }

  void check_target() {
    const ColumnSummary& column = columns_[target_];
    const Target& target = draft_.schema.target;
    std::vector<std::string> values = column.sorted_values();
    const bool more = column.more_values || values.size() > 10;
    if (values.size() > 10) values.resize(10);
    require_input(has_favourable_,
                  "{}: the target column \"{}\" never holds \"{}\"; it holds: {}{}",
                  source_->name(), target.column, target.favourable, fmt::join(values, ", "),
                  more ? ", ..." : "");
    require_input(values.size() > 1,
                  "{}: the target column \"{}\" holds only \"{}\"; a model needs two classes",
                  source_->name(), target.column, target.favourable);
    if (values.size() > 2) {
      note("target \"{}\" has more than two values; all but \"{}\" count as the other class",
           target.column, target.favourable);
    }
    if (column.empty > 0) {
      note("target \"{}\" is empty in {} of {} rows; training refuses these rows", target.column,
           column.empty, rows_);
    }
  }

  /// By column; null where it is in none.
  [[nodiscard]] std::vector<const Group*> exact_groups() const {
    std::vector<const Group*> groups(columns_.size(), nullptr);
    for (const Group& group : groups_) {
      if (!group.exact) continue;
      for (const std::size_t column : group.columns) groups[column] = &group;
    }
    return groups;
  }

  void draft_group(const Group& group) {
    Feature feature{.name = group.name, .kind = FeatureKind::categorical};
    for (const std::size_t column : group.columns)
      feature.one_hot.push_back(source_->header()[column]);
    feature.levels = feature.one_hot;
    note("\"{}\": {} columns of 0 and 1, with one 1 in every row, taken as one category",
         group.name, group.columns.size());
    draft_.schema.features.push_back(std::move(feature));
  }

  void drop(const std::string& name, const std::string& reason) {
    draft_.schema.drop.push_back(name);
    note("\"{}\" is dropped: {}", name, reason);
  }

  void draft_column(std::size_t index) {
    const std::string& name = source_->header()[index];
    const ColumnSummary& column = columns_[index];
    if (name.empty()) return drop(name, "the column has no name; an index?");
    if (column.empty == rows_) return drop(name, "all its cells are empty");
    Feature feature{.name = name};
    if (column.values.size() == 1) note("\"{}\" has only one value", name);
    if (column.numbers > 0 && !column.is_number()) {
      note(
          "\"{}\": {} of {} cells are numbers, but \"{}\" is not; where that means no value, leave "
          "the cell empty",
          name, column.numbers, rows_ - column.empty, column.text);
    }
    if (column.values.size() == 2 && draft_binary(column, feature)) {
      // levels are set
    } else if (column.is_number()) {
      feature.kind = column.whole ? FeatureKind::integer : FeatureKind::numeric;
    } else {
      if (column.more_values) {
        return drop(name, fmt::format("text with more than {} distinct values; an identifier?",
                                      most_values));
      }
      if (column.values.size() == rows_)
        return drop(name, "text that differs in every row; an identifier?");
      if (column.values.size() > many_levels) {
        note("\"{}\" has {} levels; drop it or merge rare ones", name, column.values.size());
      }
      feature.kind = FeatureKind::categorical;
      feature.levels = column.sorted_values();
    }
    if (column.empty > 0) {
      note("\"{}\" is empty in {} of {} rows", name, column.empty, rows_);
      (feature.kind == FeatureKind::categorical ? category_is_empty_ : other_is_empty_) = true;
    }
    draft_.schema.features.push_back(std::move(feature));
  }

  /// Two distinct values; false for two spellings of one number.
  bool draft_binary(const ColumnSummary& column, Feature& feature) {
    std::vector<std::string> levels = column.sorted_values();
    if (column.is_number()) {
      std::array<double, 2> values = {};
      for (std::size_t i = 0; i < 2; ++i) (void)parse_number(levels[i], values[i]);
      if (values[0] == values[1]) return false;
      if (values[0] > values[1]) std::swap(levels[0], levels[1]);
    } else if (!order_levels(levels)) {
      note("\"{}\": \"{}\" counts as 0 and \"{}\" as 1, by the alphabet; check the order",
           feature.name, levels[0], levels[1]);
    }
    feature.kind = FeatureKind::binary;
    feature.levels = std::move(levels);
    return true;
  }

  void draft_missing() {
    if (other_is_empty_) {
      draft_.schema.missing = MissingPolicy::median;
      note("empty cells take the median or the most frequent level (missing: median)");
    } else if (category_is_empty_) {
      draft_.schema.missing = MissingPolicy::level;
      note("an empty cell is a level of its own (missing: level)");
    }
  }

  const RowSource* source_;
  std::vector<ColumnSummary> columns_;
  std::vector<Group> groups_;
  std::size_t target_ = 0;
  std::size_t rows_ = 0;
  bool has_favourable_ = false;
  bool category_is_empty_ = false;
  bool other_is_empty_ = false;
  SchemaDraft draft_;
};

}  // namespace

SchemaDraft draft_schema(RowSource& source, const std::string& target,
                         const std::string& favourable, const Progress& progress) {
  Drafter drafter(source, target, favourable);
  std::span<const std::string_view> cells;
  for (std::size_t row = 0; source.next(cells); ++row) {
    check_stop();
    if (row % rows_per_report == 0) report_progress(progress, {.stage = "reading", .done = row});
    drafter.add(cells);
  }
  return drafter.finish();
}

}  // namespace ellice

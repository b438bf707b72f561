#include "data/draft.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/stop.hpp"
#include "core/utf8.hpp"
#include "data/draft_column.hpp"
#include "data/draft_groups.hpp"
#include "data/draft_guess.hpp"
#include "data/repeated_rows.hpp"
#include "data/schema_writer.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr std::size_t rows_per_report = 8192;

class Drafter {
 public:
  Drafter(const RowSource& source, const DraftOptions& options)
      : source_(&source),
        reader_(source.format(), options.missing_values),
        columns_(source.header().size()) {
    const std::vector<std::string>& header = source.header();
    const auto found = std::find(header.begin(), header.end(), options.target);
    require_input(found != header.end(), "{}: there is no column \"{}\" for the target; {}",
                  source.name(), options.target, suggestion(options.target, header));
    target_ = static_cast<std::size_t>(found - header.begin());
    for (const std::string& name : header) symbols_.push_back(&reader_.symbols_of(name));
    groups_ = possible_groups(header, target_);
    draft_.schema.target = {.column = options.target, .favourable = options.favourable};
    draft_.schema.format = source.format();
    draft_.schema.missing_values = options.missing_values;
    draft_.schema.merge_levels = options.merge_levels;
  }

  void add(std::span<const std::string_view> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      columns_[i].add(cells[i], reader_, *symbols_[i]);
    }
    for (ColumnGroup& group : groups_) {
      if (group.exact) group.add(cells);
    }
    has_favourable_ = has_favourable_ || is_favourable(cells[target_]);
    ++draft_.rows;
    // Whether a column only tells rows from each other shows after some of them.
    if (repeated_) {
      repeated_->add(cells);
      return;
    }
    first_rows_.emplace_back(cells.begin(), cells.end());
    const bool suffice = draft_.rows == rows_until_identifiers ||
                         draft_.rows * cells.size() >= cells_until_identifiers;
    if (suffice) begin_to_compare();
  }

  SchemaDraft finish() {
    require_input(draft_.rows > 0, "{}: the table has a header but no rows, expected at least two",
                  source_->name());
    check_target();
    if (!repeated_) begin_to_compare();
    for (const std::string& note : repeated_->notes()) draft_.notes.push_back(note);
    for (const std::string& doubt : repeated_->doubts()) draft_.doubts.push_back(doubt);
    draft_columns();
    require_input(!draft_.schema.features.empty(), "{}: no column but the target can be a feature",
                  source_->name());
    const bool all_fixed = std::all_of(draft_.schema.features.begin(), draft_.schema.features.end(),
                                       [](const Feature& feature) { return feature.immutable; });
    if (all_fixed) {
      draft_.doubts.emplace_back(
          "every feature is immutable or protected: nobody whom the model declines can get a plan");
    }
    draft_missing();
    forget_unused_symbols();
    return std::move(draft_);
  }

 private:
  static constexpr std::size_t rows_until_identifiers = 500;
  static constexpr std::size_t cells_until_identifiers = 1'000'000;  // of wide tables

  void begin_to_compare() {
    std::vector<std::size_t> compared;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i != target_ && !is_identifier(source_->header()[i], columns_[i])) compared.push_back(i);
    }
    repeated_.emplace(std::move(compared), target_);
    std::vector<std::string_view> cells;
    for (const std::vector<std::string>& row : first_rows_) {
      cells.assign(row.begin(), row.end());
      repeated_->add(cells);
    }
    first_rows_.clear();
  }

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
    refuse_variants(values);
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
           column.empty, draft_.rows);
    }
  }

  /// Two spellings of one label would be two classes.
  void refuse_variants(const std::vector<std::string>& values) const {
    std::map<std::string, const std::string*> known;
    for (const std::string& value : values) {
      const auto [other, is_new] = known.emplace(folded_level(value), &value);
      require_input(
          is_new,
          "{}: the target column \"{}\" holds \"{}\" ({} rows) and \"{}\" ({} rows), which "
          "differ in case or blanks only and would be two classes; make them one first",
          source_->name(), draft_.schema.target.column, *other->second,
          columns_[target_].values.at(*other->second), value, columns_[target_].values.at(value));
    }
  }

  void draft_columns() {
    const std::vector<const ColumnGroup*> groups = exact_groups(groups_, columns_.size());
    std::vector<bool> done(columns_.size(), false);
    done[target_] = true;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (done[column]) continue;
      const ColumnGroup* const group = groups[column];
      if (group == nullptr) {
        draft_column(column);
        continue;
      }
      for (const std::size_t member : group->columns) done[member] = true;
      draft_group(*group);
    }
  }

  void draft_group(const ColumnGroup& group) {
    Feature feature{.name = group.name, .kind = FeatureKind::categorical};
    for (const std::size_t column : group.columns)
      feature.one_hot.push_back(source_->header()[column]);
    feature.levels = feature.one_hot;
    draft_.guesses.push_back({.column = group.name,
                              .what = "one category",
                              .why = fmt::format("{} columns of 0 and 1, with one 1 in every row",
                                                 group.columns.size())});
    guess_freedom(feature, draft_.guesses);
    draft_.schema.features.push_back(std::move(feature));
  }

  void draft_column(std::size_t index) {
    const std::string& name = source_->header()[index];
    const ColumnSummary& column = columns_[index];
    if (const std::optional<std::string> reason = reason_to_drop(name, column)) {
      draft_.schema.drop.push_back(name);
      draft_.guesses.push_back({.column = name, .what = "dropped", .why = *reason});
      return;
    }
    Feature feature =
        FeatureGuesser(column, reader_, draft_.schema.merge_levels, draft_.guesses).guess(name);
    if (column.empty > 0) {
      draft_.guesses.push_back({.column = name,
                                .what = "empty cells",
                                .why = fmt::format("in {} of {} rows", column.empty, draft_.rows)});
      (feature.kind == FeatureKind::categorical ? category_is_empty_ : other_is_empty_) = true;
    }
    draft_.schema.features.push_back(std::move(feature));
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

  /// Signs beside numbers are of use to features that are numbers.
  void forget_unused_symbols() {
    std::erase_if(draft_.schema.format.symbols, [&](const auto& entry) {
      const std::optional<std::size_t> feature = draft_.schema.find(entry.first);
      return !feature || !draft_.schema.features[*feature].is_number();
    });
  }

  const RowSource* source_;
  CellReader reader_;
  std::vector<const std::vector<std::string>*> symbols_;  // by column
  std::vector<ColumnSummary> columns_;
  std::vector<ColumnGroup> groups_;
  std::vector<std::vector<std::string>> first_rows_;
  std::optional<RepeatedRows> repeated_;
  std::size_t target_ = 0;
  bool has_favourable_ = false;
  bool category_is_empty_ = false;
  bool other_is_empty_ = false;
  SchemaDraft draft_;
};

}  // namespace

std::vector<std::string> SchemaDraft::open_questions() const {
  std::vector<std::string> result = doubts;
  for (const Guess& guess : guesses) {
    if (guess.is_doubtful) result.push_back(fmt::format("\"{}\": {}", guess.column, guess.why));
  }
  return result;
}

SchemaDraft draft_schema(RowSource& source, const DraftOptions& options, const Progress& progress) {
  Drafter drafter(source, options);
  std::span<const std::string_view> cells;
  for (std::size_t row = 0; source.next(cells); ++row) {
    check_stop();
    if (row % rows_per_report == 0) report_progress(progress, {.stage = "reading", .done = row});
    drafter.add(cells);
  }
  return drafter.finish();
}

std::string to_yaml(const SchemaDraft& draft) {
  YamlComments comments;
  for (const Guess& guess : draft.guesses) {
    std::string& text = comments[guess.column];
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", visible(guess.what),
                        visible(guess.why), guess.is_doubtful ? " (?)" : "");
  }
  return to_yaml(draft.schema, comments);
}

}  // namespace ellice

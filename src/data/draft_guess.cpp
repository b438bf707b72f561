#include "data/draft_guess.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "core/number_text.hpp"
#include "core/utf8.hpp"
#include "data/draft_intervals.hpp"
#include "data/draft_words.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr std::size_t many_levels = 50;   // of a category: searched only among the frequent ones
constexpr std::size_t most_allowed = 20;  // of them
constexpr double frequent = 0.01;         // share of the rows of a frequent level
constexpr double nearly_all = 0.95;
constexpr double mostly_distinct = 0.9;
constexpr std::size_t most_shown = 3;     // levels with several spellings
constexpr std::size_t enough_values = 5;  // to speak of a grid
constexpr std::size_t enough_rows = 10;   // to speak of an identifier of numbers
constexpr std::size_t many_rows = 30;     // that no quantity rises through by chance

std::string by_name(const WordMatch& match) {
  return fmt::format("{}, by \"{}\" in its name", match.meaning, match.word);
}

/// Orders two texts so that the second means yes; false if nothing but the alphabet speaks for the
/// order.
bool order_yes_and_no(std::vector<std::string>& levels) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> known = {
      {{"no", "yes"},
       {"false", "true"},
       {"n", "y"},
       {"f", "t"},
       {"off", "on"},
       {"nein", "ja"},
       {"non", "oui"},
       {"no", "si"},
       {"none", "yes"}}};
  const std::string first = lower_case(levels[0]);
  const std::string second = lower_case(levels[1]);
  for (const auto& [no, yes] : known) {
    if (first == yes && second == no) std::swap(levels[0], levels[1]);
    if ((first == no && second == yes) || (first == yes && second == no)) return true;
  }
  return false;
}

/// «7days»: a time that is part of what the column is about, not its unit.
bool is_number_of(std::string_view word, const std::string& name) {
  const std::string split = split_name(name);
  const std::size_t place = split.find("_" + std::string(word));
  return place != std::string::npos && place > 0 && split[place - 1] >= '0' &&
         split[place - 1] <= '9';
}

bool is_free_text(const ColumnSummary& column) {
  const auto texts = static_cast<double>(column.filled() - column.numbers);
  return texts > 0 && static_cast<double>(column.words) / texts >= 4 &&
         column.distinct_share() > 0.5 && column.values.size() > enough_rows;
}

/// Numbers of customers, contracts or applications, in the order in which they were given; a few
/// rows may stand twice.
bool is_rising(const ColumnSummary& column) {
  return column.rows >= many_rows && column.numbers == column.rows && column.whole &&
         column.distinct_share() >= nearly_all &&
         static_cast<double>(column.rises) >= nearly_all * static_cast<double>(column.rows - 1);
}

/// Texts of which hardly any comes twice.
bool is_distinct_text(const ColumnSummary& column) {
  return column.numbers == 0 && column.filled() >= enough_rows &&
         column.distinct_share() >= nearly_all;
}

/// Digits of one length of which some begin with 0: a code that only looks like a number.
bool is_code_of_digits(const ColumnSummary& column) {
  return column.leading_zeros > 0 && column.digits_only == column.filled() &&
         column.shortest == column.longest && column.longest >= 2;
}

}  // namespace

bool is_identifier(const std::string& name, const ColumnSummary& column) {
  if (name.empty()) return true;
  if (column.rows >= enough_rows && column.counts_up) return true;
  if (is_rising(column) || is_distinct_text(column)) return true;
  const bool may_be = !column.is_number() || column.whole;
  return may_be && column.filled() >= enough_rows && column.distinct_share() >= mostly_distinct &&
         match_name(name, {"identifier"}).has_value();
}

std::optional<std::string> reason_to_drop(const std::string& name, const ColumnSummary& column) {
  if (name.empty()) return "the column has no name; an index?";
  if (column.filled() == 0) return "all its cells are empty";
  if (column.values.size() == 1 && !column.more_values) {
    return fmt::format("it holds nothing but \"{}\"", column.values.begin()->first);
  }
  if (const auto match = match_name(name, {"postcode"})) return by_name(*match);
  if (is_code_of_digits(column) && column.longest >= 4) {
    return "codes of digits with leading zeros, such as postcodes, are no quantities";
  }
  if (const auto match = match_name(name, {"identifier"}); match && is_identifier(name, column)) {
    return fmt::format("{}, and nearly every row has another value", by_name(*match));
  }
  if (const auto match = match_name(name, {"person", "remark"}); match && column.numbers == 0)
    return by_name(*match);
  if (column.rows >= enough_rows && column.counts_up) return "it counts the rows";
  if (is_rising(column)) {
    return "whole numbers that rise from row to row, as identifiers do; if it is a quantity by "
           "which the rows are sorted, describe it under features";
  }
  const auto texts = static_cast<double>(column.filled() - column.numbers);
  if (column.dates > 0 && static_cast<double>(column.dates) >= nearly_all * texts &&
      column.numbers == 0) {
    return "dates; turn them into a number of days, months or years first if they matter";
  }
  if (column.is_number()) return std::nullopt;
  if (is_free_text(column)) return "free text";
  if (column.more_values) {
    return fmt::format("text with more than {} distinct values; an identifier?",
                       ColumnSummary::most_values);
  }
  if (column.values.size() == column.rows) return "text that differs in every row; an identifier?";
  if (is_distinct_text(column)) return "text that differs in nearly every row; an identifier?";
  if (column.filled() >= enough_rows && column.distinct_share() > 0.5) {
    if (const auto match = match_name(name, {"identifier"})) return by_name(*match);
  }
  return std::nullopt;
}

Feature FeatureGuesser::guess(const std::string& name) {
  feature_ = {.name = name};
  guess_kind();
  if (feature_.is_number()) {
    guess_unit();
    guess_step();
    doubt_low_mark();
  }
  guess_freedom(feature_, *guesses_);
  limit_levels();
  return std::move(feature_);
}

void FeatureGuesser::say(std::string what, std::string why, bool is_doubtful) {
  guesses_->push_back({.column = feature_.name,
                       .what = std::move(what),
                       .why = std::move(why),
                       .is_doubtful = is_doubtful});
}

void FeatureGuesser::guess_kind() {
  const bool is_code = is_code_of_digits(*column_);
  if (column_->numbers > 0 && !column_->is_number()) {
    say("text",
        fmt::format("{} of {} cells are numbers, but \"{}\" is not; where that means no value, say "
                    "--missing",
                    column_->numbers, column_->filled(), column_->text),
        true);
  }
  const bool has_symbols = !reader_->symbols_of(feature_.name).empty();
  const bool is_quantity = column_->is_number() && !is_code;
  if (is_quantity && (has_symbols || column_->more_values || column_->values.size() > 2)) {
    feature_.kind = column_->whole ? FeatureKind::integer : FeatureKind::numeric;
    return;
  }
  std::vector<std::string> levels = levels_found();
  if (is_quantity && levels.size() == 2) {
    std::array<double, 2> values = {};
    for (std::size_t i = 0; i < 2; ++i) {
      (void)reader_->read_number(levels[i], {}, values[i]);
      if (!reader_->is_plain()) levels[i] = number_text(values[i]);
    }
    if (values[0] == values[1]) {
      feature_.kind = column_->whole ? FeatureKind::integer : FeatureKind::numeric;
      return;
    }
    if (values[0] > values[1]) std::swap(levels[0], levels[1]);
    feature_.kind = FeatureKind::binary;
    feature_.levels = std::move(levels);
    return;
  }
  if (is_code) say("category", "digits with leading zeros are a code, no quantity");
  guess_levels(std::move(levels));
}

/// The distinct values; where levels are merged, the most frequent spelling of each.
std::vector<std::string> FeatureGuesser::levels_found() {
  std::map<std::string, std::vector<std::string>> spellings;
  for (const std::string& value : column_->sorted_values()) {
    spellings[folded_level(value)].push_back(value);
  }
  std::vector<std::string> merged;
  std::string variants;
  std::size_t groups = 0;
  for (const auto& [folded, same] : spellings) {
    merged.push_back(*std::max_element(same.begin(), same.end(), [&](const auto& a, const auto& b) {
      return column_->values.at(a) < column_->values.at(b);
    }));
    if (same.size() == 1) continue;
    if (++groups > most_shown) continue;
    std::string shown;
    for (const std::string& spelling : same) {
      shown += fmt::format("{}\"{}\" ({} rows)", shown.empty() ? "" : ", ", spelling,
                           column_->values.at(spelling));
    }
    variants += (variants.empty() ? "" : "; ") + shown;
  }
  if (variants.empty()) return column_->sorted_values();
  if (groups > most_shown) variants += fmt::format("; and {} more", groups - most_shown);
  if (merges_) {
    say("merged levels", variants);
    return merged;
  }
  say("levels",
      fmt::format("{} differ in case or blanks only; merge_levels: true makes them one", variants),
      true);
  return column_->sorted_values();
}

void FeatureGuesser::guess_levels(std::vector<std::string> levels) {
  std::optional<LadderMatch> ladder = match_ladder(levels);
  if (!ladder && levels.size() > 2) ladder = match_intervals(levels);
  if (levels.size() == 2) {
    if (ladder) {
      levels = ladder->levels;
    } else {
      order_two(levels);
    }
    feature_.kind = FeatureKind::binary;
    feature_.levels = std::move(levels);
    return;
  }
  feature_.kind = ladder ? FeatureKind::ordinal : FeatureKind::categorical;
  if (ladder) {
    say("ordinal",
        fmt::format("{}: \"{}\"", ladder->meaning, fmt::join(ladder->levels, "\" < \"")));
  }
  feature_.levels = ladder ? ladder->levels : std::move(levels);
}

void FeatureGuesser::order_two(std::vector<std::string>& levels) {
  if (order_yes_and_no(levels)) return;
  say("binary",
      fmt::format("\"{}\" counts as 0 and \"{}\" as 1, by the alphabet", levels[0], levels[1]));
}

void FeatureGuesser::guess_unit() {
  const std::vector<std::string>& symbols = reader_->symbols_of(feature_.name);
  if (!symbols.empty()) {
    const NumberSign* const sign = find_sign(symbols.front());
    feature_.unit = sign == nullptr ? symbols.front() : sign->unit;
    say(fmt::format("unit {}", feature_.unit), "by the sign beside its numbers");
  } else if (const auto match = match_name(feature_.name, {"unit"});
             match && !is_number_of(match->word, feature_.name)) {
    feature_.unit = match->meaning;
    say(fmt::format("unit {}", feature_.unit), fmt::format("by \"{}\" in its name", match->word));
  }
}

/// The coarsest grid on which nearly all numbers lie.
void FeatureGuesser::guess_step() {
  if (column_->values.size() < enough_values || column_->nonzero == 0) return;
  for (std::size_t k = 0; k < ColumnSummary::grids.size(); ++k) {
    const double grid = ColumnSummary::grids[k];
    const bool lie_on_it = static_cast<double>(column_->on_grid[k]) >=
                           nearly_all * static_cast<double>(column_->nonzero);
    // A grid that holds fewer steps than values are many would be none of people's making.
    if (!lie_on_it || column_->greatest - column_->least < 4 * grid) continue;
    if (feature_.kind == FeatureKind::integer && grid <= 1) return;
    feature_.step = grid;
    say(fmt::format("step {}", number_text(grid)),
        column_->on_grid[k] == column_->nonzero
            ? fmt::format("every value is a multiple of {}", number_text(grid))
            : fmt::format("{} of {} values other than 0 are multiples of {}", column_->on_grid[k],
                          column_->nonzero, number_text(grid)));
    return;
  }
}

/// -9 among numbers that are 0 at least is hardly a number.
void FeatureGuesser::doubt_low_mark() {
  static constexpr std::array<double, 8> marks = {-1, -7, -8, -9, -99, -999, -9999, -99999};
  if (column_->more_values || column_->least >= 0) return;
  std::vector<std::string> found;
  for (const auto& [text, count] : column_->values) {
    double value = 0;
    if (!reader_->read_number(text, reader_->symbols_of(feature_.name), value) || value >= 0)
      continue;
    if (std::find(marks.begin(), marks.end(), value) == marks.end()) return;
    found.push_back(text);
  }
  if (found.empty() || found.size() == column_->values.size()) return;
  std::sort(found.begin(), found.end());
  say("negative numbers",
      fmt::format("all that is below 0 is {}; where that means no value, say --missing",
                  fmt::join(found, ", ")),
      true);
}

/// A category of very many levels is not searched level by level.
void FeatureGuesser::limit_levels() {
  if (feature_.kind != FeatureKind::categorical || feature_.immutable) return;
  if (feature_.levels.size() <= many_levels) return;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& level : feature_.levels) {
    const std::size_t count = column_->values.at(level);
    if (static_cast<double>(count) >= frequent * static_cast<double>(column_->filled())) {
      ranked.emplace_back(count, level);
    }
  }
  const std::size_t levels = feature_.levels.size();
  if (ranked.size() < 2) {
    feature_.immutable = true;
    say("immutable",
        fmt::format("{} levels, none of them frequent: too many to search; drop it or merge rare "
                    "ones",
                    levels),
        true);
    return;
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (ranked.size() > most_allowed) ranked.resize(most_allowed);
  for (const auto& [count, level] : ranked) feature_.allowed.emplace_back(level);
  say("allowed",
      fmt::format("{} levels, of which plans may use the {} most frequent", levels, ranked.size()));
}

void guess_freedom(Feature& feature, std::vector<Guess>& guesses) {
  const auto say = [&](const char* what, std::string why, bool is_doubtful = false) {
    guesses.push_back(
        {.column = feature.name, .what = what, .why = std::move(why), .is_doubtful = is_doubtful});
  };
  std::optional<WordMatch> match =
      match_name(feature.name, {"passes", "grows", "protected", "fixed"});
  std::string why = match ? by_name(*match) : "";
  const auto values =
      feature.is_number() || !feature.one_hot.empty() ? std::nullopt : match_values(feature.levels);
  // What values say weighs more than a name that only says that something grows.
  if (values && (!match || match->action == "passes" || match->action == "grows")) {
    match = values;
    why = values->meaning;
  }
  if (!match) return;
  if (match->action == "protected") {
    feature.is_protected = true;
    feature.immutable = true;
    say("protected", std::move(why));
  } else if (match->action == "fixed") {
    feature.immutable = true;
    say("immutable", std::move(why));
  } else if (feature.kind == FeatureKind::categorical || feature.kind == FeatureKind::binary) {
    // Without an order nobody can tell a rise from a fall.
    say("no direction",
        fmt::format("{}: if its levels have an order, make it ordinal with direction increase",
                    why),
        feature.kind == FeatureKind::categorical);
  } else {
    feature.direction = Direction::increase;
    say("increase", why);
    if (match->action != "passes" || !feature.is_number()) return;
    const std::map<std::string, Pace::Period> periods = {{"years", Pace::Period::year},
                                                         {"months", Pace::Period::month},
                                                         {"days", Pace::Period::day}};
    if (const auto period = periods.find(feature.unit); period != periods.end()) {
      feature.slow = Pace{.amount = 1, .per = period->second};
      say("slow", fmt::format("{}, as time passes", to_text(*feature.slow)));
    }
  }
}

}  // namespace ellice

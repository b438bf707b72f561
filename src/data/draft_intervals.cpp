#include "data/draft_intervals.hpp"

#include <algorithm>
#include <limits>

#include "data/digit.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Interval {
  double from = -unbounded;
  double to = unbounded;
  std::string level = {};
};

/// The numbers of a text, without signs: «1-4» is 1 and 4.
std::vector<double> numbers_of(std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() &&
           (is_digit(text[end]) ||
            (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])))) {
      ++end;
    }
    double value = 0;
    if (parse_number(text.substr(i, end - i), value)) numbers.push_back(value);
    i = end;
  }
  return numbers;
}

bool has_any(const std::string& text, const std::vector<std::string_view>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

std::optional<Interval> range_of(const std::string& level) {
  const std::vector<double> numbers = numbers_of(level);
  Interval range{.level = level};
  if (numbers.size() == 2 && numbers[0] <= numbers[1]) {
    range.from = numbers[0];
    range.to = numbers[1];
    return range;
  }
  if (numbers.size() != 1) return std::nullopt;
  const std::string words = split_name(level);
  const bool below = level.find('<') != std::string::npos ||
                     has_any(words, {"_below_", "_under_", "_less_", "_up_to_", "_unter_", "_bis_",
                                     "_moins_", "_menos_", "_hasta_"});
  const bool above = level.find('>') != std::string::npos || level.find('+') != std::string::npos ||
                     has_any(words, {"_above_", "_over_", "_more_", "_least_", "_from_", "_ueber_",
                                     "_ab_", "_mehr_", "_plus_", "_mas_", "_desde_"});
  if (below == above) return std::nullopt;
  (below ? range.to : range.from) = numbers[0];
  return range;
}

bool means_nothing(const std::string& level) {
  const std::string words = split_name(level);
  if (has_any(words, {"_unknown_", "_unbekannt", "_inconnu", "_desconocid"})) return false;
  return has_any(words,
                 {"_none_", "_no_", "_unemployed_", "_zero_", "_nothing_", "_kein", "_arbeitslos",
                  "_aucun", "_sans_", "_chomage_", "_ninguno_", "_sin_", "_desemplead"});
}

}  // namespace

std::optional<LadderMatch> match_intervals(const std::vector<std::string>& values) {
  std::vector<Interval> ranges;
  std::string nothing;
  for (const std::string& value : values) {
    if (const std::optional<Interval> range = range_of(value)) {
      ranges.push_back(*range);
    } else if (nothing.empty() && means_nothing(value) && numbers_of(value).empty()) {
      nothing = value;
    } else {
      return std::nullopt;
    }
  }
  if (ranges.size() < 2) return std::nullopt;
  std::sort(ranges.begin(), ranges.end(), [](const Interval& a, const Interval& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  // «No account» is less than an account of 100, but what is it beside an overdrawn one?
  if (!nothing.empty() && ranges.front().to <= 0) return std::nullopt;
  LadderMatch match{.meaning = "ranges of numbers"};
  if (!nothing.empty()) match.levels.push_back(nothing);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0 && ranges[i].from < ranges[i - 1].to) return std::nullopt;
    match.levels.push_back(ranges[i].level);
  }
  return match;
}

}  // namespace ellice

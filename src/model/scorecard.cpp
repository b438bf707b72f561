#include "model/scorecard.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/sha256.hpp"
#include "core/utf8.hpp"
#include "data/csv_detection.hpp"
#include "data/csv_number.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr std::array<std::string_view, 3> base_names = {"base", "basepoints", "base points"};
constexpr std::string_view level_separator = "%,%";  // of levels that share a row

/// The columns of a scorecard's table.
struct Columns {
  std::size_t feature = 0;
  std::size_t points = 0;
  std::optional<std::size_t> from = {};  // and `to`, or `bin`
  std::optional<std::size_t> to = {};
  std::optional<std::size_t> bin = {};
  std::optional<std::size_t> level = {};
  std::optional<std::size_t> reason = {};
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Columns columns_of(const CsvReader& file) {
  const std::vector<std::string>& header = file.header();
  const auto find = [&](std::initializer_list<std::string_view> names) {
    std::optional<std::size_t> found;
    for (std::size_t i = header.size(); i-- > 0;) {
      const std::string name = lower_case(trimmed(header[i]));
      if (std::find(names.begin(), names.end(), name) != names.end()) found = i;
    }
    return found;
  };
  const auto feature = find({"feature", "variable", "characteristic"});
  const auto points = find({"points"});
  Columns columns{.from = find({"from"}),
                  .to = find({"to"}),
                  .bin = find({"bin"}),
                  .level = find({"level"}),
                  .reason = find({"reason"})};
  const bool has_ends = columns.from && columns.to && !columns.bin;
  const bool has_bins = !columns.from && !columns.to && columns.bin;
  require_input(feature && points && (has_ends || has_bins),
                "{}: found the columns {}, expected feature, points and either from and to or bin, "
                "and level and reason where there are any",
                file.name(), fmt::join(header, ", "));
  columns.feature = *feature;
  columns.points = *points;
  return columns;
}

/// Nothing for an end that is open: an empty cell, or infinity.
std::optional<double> end_at(const CsvReader& file, std::size_t column, std::string_view cell,
                             bool is_lower) {
  const std::string word = lower_case(trimmed(cell));
  if (word.empty()) return std::nullopt;
  const bool is_negative = word.starts_with('-');
  const std::string_view size =
      std::string_view(word).substr(is_negative || word.starts_with('+') ? 1 : 0);
  if (size == "inf" || size == "infinity" || size == "∞") {
    require_input(is_negative == is_lower, "{}:{}: {}: found \"{}\", expected {} or a number",
                  file.name(), file.line(), file.header()[column], cell, is_lower ? "-inf" : "inf");
    return std::nullopt;
  }
  return number_at(file, column, cell);
}

/// Whether a mark and three digits may be a thousand: «1.000», «12,500», but not «0.125».
bool may_be_thousands(std::string_view cell) {
  std::string_view text = trimmed(cell);
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t mark = text.find_first_of(".,");
  if (mark == std::string_view::npos || mark == 0 || mark > 3 || text.size() != mark + 4)
    return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.front() != '0' && std::all_of(text.begin(), text.begin() + mark, is_digit) &&
         std::all_of(text.begin() + mark + 1, text.end(), is_digit);
}

/// «[0.3,0.6)» into a bin; false for what has no brackets.
bool read_interval(const CsvReader& file, std::size_t column, std::string_view cell,
                   ScorecardBin& bin) {
  const std::string_view text = trimmed(cell);
  const std::size_t comma = text.find_first_of(",;");
  const bool has_brackets = text.size() >= 3 && (text.front() == '[' || text.front() == '(') &&
                            (text.back() == ']' || text.back() == ')');
  if (!has_brackets || comma == std::string_view::npos) return false;
  bin.from = end_at(file, column, trimmed(text.substr(1, comma - 1)), true);
  bin.to = end_at(file, column, trimmed(text.substr(comma + 1, text.size() - comma - 2)), false);
  bin.has_from = text.front() == '[';
  bin.has_to = text.back() == ']';
  return true;
}

Characteristic& characteristic(Scorecard& card, const std::string& feature,
                               const std::string& place) {
  const auto found =
      std::find_if(card.characteristics.begin(), card.characteristics.end(),
                   [&](const Characteristic& one) { return one.feature == feature; });
  if (found != card.characteristics.end()) return *found;
  card.characteristics.push_back({.feature = feature, .bins = {}, .place = place});
  return card.characteristics.back();
}

/// The rows that a line stands for: one, or one for each of its levels.
std::vector<ScorecardBin> bins_of(ScorecardBin bin) {
  std::vector<ScorecardBin> result;
  const std::string levels = bin.level;
  const bool is_level = !bin.from && !bin.to;
  for (std::size_t at = 0; is_level && at < levels.size();) {
    const std::size_t end = std::min(levels.find(level_separator, at), levels.size());
    bin.level = levels.substr(at, end - at);
    result.push_back(bin);
    at = end + level_separator.size();
  }
  if (result.empty()) result.push_back(std::move(bin));
  return result;
}

Scorecard read_table(CsvReader& file, CardEnds ends) {
  const Columns columns = columns_of(file);
  Scorecard card{.source = file.name()};
  bool has_base = false;
  std::span<const std::string_view> cells;
  while (file.next(cells)) {
    const std::string place = file.place();
    const std::string feature(trimmed(cells[columns.feature]));
    require_input(!feature.empty(), "{}: feature: found nothing, expected the name of a feature",
                  place);
    require_input(!trimmed(cells[columns.points]).empty(),
                  "{}: points: found nothing, expected a number", place);
    ScorecardBin bin{.has_from = ends != CardEnds::right,
                     .has_to = ends != CardEnds::left,
                     .points = number_at(file, columns.points, cells[columns.points]),
                     .place = place};
    if (columns.level) bin.level = cells[*columns.level];
    if (columns.reason) bin.reason = cells[*columns.reason];
    if (columns.bin) {
      const std::string_view text = trimmed(cells[*columns.bin]);
      double code = 0;
      if (!read_interval(file, *columns.bin, text, bin)) {
        if (bin.level.empty()) {
          bin.level = text;
        } else if (parse_number(text, code)) {  // with its meaning under `level`
          bin.from = bin.to = code;
          bin.spelled = text;
        }
      }
    } else {
      bin.from = end_at(file, *columns.from, cells[*columns.from], true);
      bin.to = end_at(file, *columns.to, cells[*columns.to], false);
      if (bin.is_single()) bin.spelled = trimmed(cells[*columns.from]);
      for (const std::size_t column : {*columns.from, *columns.to}) {
        if (may_be_thousands(cells[column])) bin.doubtful = cells[column];
      }
    }
    const bool is_base =
        std::find(base_names.begin(), base_names.end(), lower_case(feature)) != base_names.end();
    if (is_base && !bin.from && !bin.to && bin.level.empty()) {
      require_input(!has_base, "{}: the points of everybody ({}) were given before", place,
                    feature);
      has_base = true;
      card.initial = bin.points;
      continue;
    }
    for (ScorecardBin& one : bins_of(std::move(bin)))
      characteristic(card, feature, place).bins.push_back(std::move(one));
  }
  return card;
}

}  // namespace

Scorecard read_scorecard(const std::string& path, CardEnds ends) {
  const std::string text = read_file(path);
  refuse_utf16(text, input_name(path));
  const std::size_t start = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start != std::string::npos && text[start] == '<') {
    Scorecard card = parse_scorecard_pmml(text, input_name(path));
    card.sha256 = sha256_hex(text);
    return card;
  }
  CsvReader file(path, [&](std::string_view begin) {
    return detect_format(begin, {.thousands = '\0'}, input_name(path)).format;
  });
  Scorecard card = read_table(file, ends);
  card.sha256 = sha256_hex(text);
  require_input(!card.characteristics.empty(), "{}: found no bins, expected some", card.source);
  return card;
}

}  // namespace ellice

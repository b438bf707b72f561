#include "data/csv_detection.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "core/utf8.hpp"
#include "data/csv_encoding.hpp"
#include "data/csv_scanner.hpp"
#include "data/draft_words.hpp"
#include "data/number_format.hpp"

namespace ellice {

namespace {

constexpr std::size_t most_lines = 1000;       // looked at for the separator
constexpr std::size_t most_cells = 1'000'000;  // looked at for the spelling of numbers
constexpr std::size_t most_marks = 20;         // remembered of a column
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

struct NumberSpelling {
  char decimal = '.';
  char thousands = '\0';
};

/// The plain one first, then those that are likelier.
using Spellings = std::array<NumberSpelling, 8>;
constexpr Spellings usual_with_comma = {{{'.', '\0'},
                                         {'.', ','},
                                         {'.', ' '},
                                         {'.', '\''},
                                         {',', '\0'},
                                         {',', '.'},
                                         {',', ' '},
                                         {',', '\''}}};
constexpr Spellings usual_without = {{{'.', '\0'},
                                      {',', '\0'},
                                      {',', '.'},
                                      {',', ' '},
                                      {',', '\''},
                                      {'.', ','},
                                      {'.', ' '},
                                      {'.', '\''}}};

/// How often each separator stands on each of the first lines, outside of quotes.
std::vector<std::array<std::size_t, separators.size()>> count_separators(std::string_view text) {
  std::vector<std::array<std::size_t, separators.size()>> lines;
  std::array<std::size_t, separators.size()> counts = {};
  bool quoted = false;
  bool empty = true;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '\n' && !quoted) {
      if (!empty) lines.push_back(counts);
      counts = {};
      empty = true;
      if (lines.size() == most_lines) return lines;
      continue;
    }
    empty = empty && c == '\r';
    const std::size_t place = quoted ? std::string_view::npos : separators.find(c);
    if (place != std::string_view::npos) ++counts[place];
  }
  // A last line without an end may be cut where the bytes end, and so counts only if it is all.
  if (lines.empty()) lines.push_back(counts);
  return lines;
}

/// The first separator that stands equally often on every line; else the first of the header.
char find_separator(std::string_view text) {
  const auto lines = count_separators(text);
  for (std::size_t k = 0; k < separators.size(); ++k) {
    const std::size_t expected = lines.front()[k];
    const bool even = std::all_of(lines.begin(), lines.end(),
                                  [&](const auto& counts) { return counts[k] == expected; });
    if (expected > 0 && even) return separators[k];
  }
  for (std::size_t k = 0; k < separators.size(); ++k) {
    if (lines.front()[k] > 0) return separators[k];
  }
  return ',';
}

/// What the cells of one column say about the spelling of numbers.
struct Evidence {
  std::size_t cells = 0;                 // that are not empty
  std::array<std::size_t, 8> read = {};  // by spelling, as numbers
  std::map<std::string, std::size_t> signs = {};
  std::set<std::string> units = {};
  std::size_t unsigned_numbers = 0;
  std::map<std::string, std::size_t> marks = {};
  std::size_t mark_cells = 0;

  void add(std::string_view cell, const Spellings& spellings,
           const std::optional<std::vector<std::string>>& missing) {
    cell = without_outer_blanks(cell);
    if (cell.empty()) return;
    if (!missing && add_plain(cell, spellings)) return;
    if (is_mark(cell, missing)) {
      ++mark_cells;
      if (marks.size() < most_marks || marks.contains(std::string(cell)))
        ++marks[std::string(cell)];
      return;
    }
    if (missing && add_plain(cell, spellings)) return;
    ++cells;
    add_number(cell, spellings);
  }

  [[nodiscard]] bool is_number(std::size_t spelling) const {
    return cells > 0 && read[spelling] == cells;
  }

 private:
  static bool is_mark(std::string_view cell,
                      const std::optional<std::vector<std::string>>& missing) {
    if (!missing) return missing_mark(cell) != MissingMark::none;
    return std::find(missing->begin(), missing->end(), cell) != missing->end();
  }

  /// Digits with a point among them or not, which most cells of most files are; false for others.
  bool add_plain(std::string_view cell, const Spellings& spellings) {
    if (cell.starts_with('-')) cell.remove_prefix(1);
    const auto count_digits = [](std::string_view text) {
      return std::min(text.find_first_not_of("0123456789"), text.size());
    };
    const std::size_t whole = count_digits(cell);
    if (whole == 0) return false;
    const bool has_point = whole < cell.size() && cell[whole] == '.';
    const std::size_t decimals = has_point ? count_digits(cell.substr(whole + 1)) : 0;
    if (whole + (has_point ? 1 + decimals : 0) != cell.size() || (has_point && decimals == 0)) {
      return false;
    }
    for (std::size_t k = 0; k < spellings.size(); ++k) {
      const bool is_group = spellings[k].thousands == '.' && whole <= 3 && decimals == 3;
      if (!has_point || spellings[k].decimal == '.' || is_group) ++read[k];
    }
    ++cells;
    ++unsigned_numbers;
    return true;
  }

  void add_number(std::string_view cell, const Spellings& spellings) {
    if (cell.find_first_of("0123456789") == std::string_view::npos) return;
    const NumberSign* const sign = find_sign(cell.starts_with('-') ? cell.substr(1) : cell);
    const std::vector<std::string> symbols =
        sign == nullptr ? std::vector<std::string>() : std::vector<std::string>{sign->sign};
    bool any = false;
    for (std::size_t k = 0; k < spellings.size(); ++k) {
      const CsvFormat format{.decimal = spellings[k].decimal, .thousands = spellings[k].thousands};
      double value = 0;
      if (!parse_formatted_number(cell, format, symbols, value)) continue;
      ++read[k];
      any = true;
    }
    if (!any) return;
    if (sign == nullptr) {
      ++unsigned_numbers;
    } else {
      ++signs[sign->sign];
      units.insert(sign->unit);
    }
  }
};

class Detector {
 public:
  Detector(std::string_view start, const FormatHints& hints, const std::string& name)
      : hints_(&hints), name_(name) {
    CsvFormat& format = result_.format;
    const bool is_utf8_or_none =  // of UTF-16 whoever reads the file says that it is none
        is_utf8(start) || start.starts_with(byte_order_mark) || looks_like_utf16(start);
    format.encoding = hints.encoding.value_or(is_utf8_or_none ? Encoding::utf8 : Encoding::latin1);
    if (format.encoding == Encoding::latin1) {
      append_latin1(start, text_);
    } else {
      text_ = start;
    }
    std::string_view table = text_;
    if (table.starts_with(byte_order_mark)) table.remove_prefix(byte_order_mark.size());
    format.separator = hints.separator.value_or(find_separator(table));
    spellings_ = format.separator == ',' ? usual_with_comma : usual_without;
  }

  Detection run() {
    read_cells();
    choose_spelling();
    choose_marks();
    choose_symbols();
    say();
    return std::move(result_);
  }

 private:
  /// Collects evidence until the text, or what is worth looking at, ends. What is wrong with the
  /// text whoever reads the file whole will say.
  void read_cells() try {
    std::size_t given = 0;
    CsvScanner scanner(
        name_,
        [&](char* into, std::size_t size) {
          const std::size_t count = text_.copy(into, size, given);
          given += count;
          return count;
        },
        CsvScanner::default_buffer_size, result_.format.separator);
    header_ = scanner.header();
    columns_.resize(header_.size());
    std::span<const std::string_view> cells;
    for (std::size_t seen = 0; seen < most_cells; seen += header_.size()) {
      try {
        if (!scanner.next(cells)) return;
      } catch (const RowError&) {
        continue;
      }
      for (std::size_t i = 0; i < cells.size(); ++i) {
        columns_[i].add(cells[i], spellings_, hints_->missing_values);
      }
    }
  } catch (const Error&) {
    return;
  }

  [[nodiscard]] bool is_possible(const NumberSpelling& spelling) const {
    return (!hints_->decimal || spelling.decimal == *hints_->decimal) &&
           (!hints_->thousands || spelling.thousands == *hints_->thousands);
  }

  [[nodiscard]] std::size_t count_numbers(std::size_t spelling) const {
    return static_cast<std::size_t>(
        std::count_if(columns_.begin(), columns_.end(),
                      [&](const Evidence& column) { return column.is_number(spelling); }));
  }

  void choose_spelling() {
    std::optional<std::size_t> best;
    for (std::size_t k = 0; k < spellings_.size(); ++k) {
      if (!is_possible(spellings_[k])) continue;
      if (!best || count_numbers(k) > count_numbers(*best)) best = k;
    }
    spelling_ = best.value_or(0);
    result_.format.decimal = spellings_[spelling_].decimal;
    result_.format.thousands = spellings_[spelling_].thousands;
    // With both hints there may be no such pair in the list, as when both are the same mark.
    if (hints_->decimal) result_.format.decimal = *hints_->decimal;
    if (hints_->thousands) result_.format.thousands = *hints_->thousands;
    note_second_reading();
  }

  /// «1,234» is one number where the comma stands before decimals, and another between groups.
  void note_second_reading() {
    if (hints_->decimal || hints_->thousands) return;
    const bool is_usual = result_.format.separator == ',' && spelling_ == 0;
    if (is_usual) return;
    for (std::size_t k = 0; k < spellings_.size(); ++k) {
      if (spellings_[k].decimal == spellings_[spelling_].decimal) continue;
      if (count_numbers(k) != count_numbers(spelling_) || !has_mark(spelling_)) continue;
      result_.doubts.push_back(fmt::format(
          "numbers such as 1{0}234 are read with \"{0}\" {1}, but could have it {2}: say --decimal "
          "or --thousands",
          mark_in_use(),
          spellings_[spelling_].decimal == mark_in_use() ? "before decimals"
                                                         : "between groups of three digits",
          spellings_[spelling_].decimal == mark_in_use() ? "between groups of three digits"
                                                         : "before decimals"));
      return;
    }
  }

  /// Whether any column of numbers has a number that is more than digits.
  [[nodiscard]] bool has_mark(std::size_t spelling) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const Evidence& column) {
      return column.is_number(spelling) &&
             std::any_of(column.read.begin(), column.read.end(),
                         [&](std::size_t count) { return count < column.cells; });
    });
  }

  [[nodiscard]] char mark_in_use() const {
    const NumberSpelling& spelling = spellings_[spelling_];
    return spelling.thousands != '\0' ? spelling.thousands : spelling.decimal;
  }

  void choose_marks() {
    if (hints_->missing_values) {
      result_.missing_values = *hints_->missing_values;
      return;
    }
    std::map<std::string, std::size_t> everywhere;
    std::map<std::string, std::size_t> among_numbers;
    std::set<std::string> among_texts;
    for (const Evidence& column : columns_) {
      for (const auto& [mark, count] : column.marks) {
        if (missing_mark(mark) == MissingMark::everywhere) {
          everywhere[mark] += count;
        } else if (column.is_number(spelling_)) {
          among_numbers[mark] += count;
        } else {
          among_texts.insert(mark);
        }
      }
    }
    for (const auto& [mark, count] : everywhere) result_.missing_values.push_back(mark);
    for (const auto& [mark, count] : among_numbers) {
      // Dashes and dots are no level that anybody means; a word may be one.
      const bool is_word = std::any_of(mark.begin(), mark.end(),
                                       [](unsigned char c) { return std::isalpha(c) != 0; });
      if (!is_word || !among_texts.contains(mark)) {
        result_.missing_values.push_back(mark);
        continue;
      }
      result_.doubts.push_back(fmt::format(
          "\"{}\" stands for a missing number in some columns and for a value in others: say "
          "--missing",
          mark));
    }
  }

  void choose_symbols() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Evidence& column = columns_[i];
      if (column.signs.empty() || !column.is_number(spelling_)) continue;
      if (column.units.size() > 1) {  // not one quantity, and so no number
        result_.doubts.push_back(
            fmt::format("\"{}\" holds amounts in {}: convert them to one first", header_[i],
                        fmt::join(column.units, " and ")));
        continue;
      }
      std::vector<std::string>& symbols = result_.format.symbols[header_[i]];
      for (const auto& [sign, count] : column.signs) symbols.push_back(sign);
      if (column.unsigned_numbers > 0 && *column.units.begin() == "%") {
        result_.doubts.push_back(
            fmt::format("\"{}\" has numbers with and without a percent sign: 12 % is read as 12, "
                        "and is 0.12 among the others?",
                        header_[i]));
      }
    }
  }

  void say() {
    const CsvFormat& format = result_.format;
    const auto say = [&](std::string text) { result_.found.push_back(std::move(text)); };
    if (format.encoding == Encoding::latin1) say("the text is Latin-1 (Windows-1252)");
    if (format.separator != ',') {
      say(fmt::format("cells are separated by {}", format.separator == '\t'
                                                       ? std::string("tabs")
                                                       : fmt::format("\"{}\"", format.separator)));
    }
    if (format.decimal != '.') say("decimals stand behind a comma");
    if (format.thousands != '\0') {
      say(fmt::format("\"{}\" stands between groups of three digits", format.thousands));
    }
    for (const auto& [column, symbols] : format.symbols) {
      say(fmt::format("\"{}\" has numbers with {}", column, fmt::join(symbols, ", ")));
    }
    if (!result_.missing_values.empty()) {
      say(fmt::format("cells that hold {} count as empty",
                      fmt::join(result_.missing_values, ", ")));
    }
  }

  const FormatHints* hints_;
  std::string name_;
  std::string text_;  // as UTF-8
  std::vector<std::string> header_;
  std::vector<Evidence> columns_;
  Spellings spellings_ = {};
  std::size_t spelling_ = 0;
  Detection result_;
};

}  // namespace

Detection detect_format(std::string_view start, const FormatHints& hints, const std::string& name) {
  return Detector(start, hints, name).run();
}

}  // namespace ellice

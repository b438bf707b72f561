#include "data/csv_scanner.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

constexpr std::uint64_t ones = 0x0101010101010101;

/// Marks, by the high bit of its byte, each of 8 characters that comes before '-' in ASCII. The
/// four that end a run of plain text (NUL, line feed, quote, comma) do; digits, letters, '-', '.'
/// and UTF-8 do not. A borrow may mark a '-' behind another mark, so a marked character must still
/// be looked at.
std::uint64_t marks(std::uint64_t word) {
  return (word - ones * ('-')) & ~word & (ones * 0x80);
}

/// Marks, in the same way and with the same caution, each of 8 characters that is this one.
std::uint64_t marks_of(char character, std::uint64_t word) {
  const std::uint64_t difference = word ^ (ones * static_cast<unsigned char>(character));
  return (difference - ones) & ~difference & (ones * 0x80);
}

std::uint64_t load(const char* place) {
  std::uint64_t word = 0;
  std::memcpy(&word, place, word_size);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

std::string_view spelled(char separator) {
  return separator == ','    ? "a comma"
         : separator == ';'  ? "a semicolon"
         : separator == '\t' ? "a tab"
                             : "a bar (|)";
}

/// «0,1,2» or «1,2,3»: what tools write when columns were never named.
bool counts_up(const std::vector<double>& numbers) {
  if (numbers.front() != 0 && numbers.front() != 1) return false;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[i - 1] + 1) return false;
  }
  return true;
}

/// Whether a line of data stands where the header should be.
bool looks_like_data(const std::vector<std::string>& header) {
  std::vector<double> numbers;
  for (const std::string& name : header) {
    double value = 0;
    if (name.empty()) continue;
    if (!parse_number(name, value)) return false;
    numbers.push_back(value);
  }
  return !numbers.empty() && !counts_up(numbers);
}

}  // namespace

CsvScanner::CsvScanner(std::string name, Read read, std::size_t buffer_size, char separator)
    : name_(std::move(name)),
      read_(std::move(read)),
      separator_(separator),
      buffer_(buffer_size + word_size) {
  require(buffer_size >= 4, "CsvScanner: buffer_size = {} must be >= 4", buffer_size);
  fill();
  const std::string_view start(buffer_.data(), filled_);
  require_input(!start.empty(), "{}: the file is empty; expected a header line", name_);
  refuse_utf16(start, name_);
  if (start.starts_with("\xef\xbb\xbf")) row_ = 3;
  read_header();
}

std::string CsvScanner::place() const {
  return fmt::format("{}:{}", name_, line_);
}

bool CsvScanner::next(std::span<const std::string_view>& cells) {
  if (empty_lines_ == 0) {
    const std::size_t first = next_line_;
    if (!skip_empty_lines()) return false;
    empty_lines_ = next_line_ - first;
  }
  if (empty_lines_ > 0) {
    line_ = next_line_ - empty_lines_--;
    if (header_.size() > 1) {
      throw RowError(fmt::format("{}: line {}: the line is empty, expected {} cells", name_, line_,
                                 header_.size()));
    }
    cells_.assign(1, {});
  } else {
    read_row();
    if (cells_.size() != header_.size()) {
      throw RowError(
          fmt::format("{}: line {}: found {} cells, expected {} as in the header{}", name_, line_,
                      cells_.size(), header_.size(),
                      cells_.size() > header_.size()
                          ? fmt::format("; quote cells that hold {}", spelled(separator_))
                          : ""));
    }
  }
  cells = cells_;
  return true;
}

void CsvScanner::read_header() {
  require_input(skip_empty_lines(), "{}: the file holds only empty lines; expected a header line",
                name_);
  require_input(next_line_ == 1, "{}: line 1: the line is empty, expected the names of the columns",
                name_);
  read_row();
  header_.assign(cells_.begin(), cells_.end());

  const std::string& first = header_.front();
  require_input(!first.starts_with("sep="),
                "{}: line 1 is a hint for spreadsheets (\"sep=\") and no header; remove that line",
                name_);
  if (header_.size() == 1) {
    for (const auto& [separator, spelling] :
         {std::pair(',', "','"), std::pair(';', "';'"), std::pair('\t', "a tab")}) {
      require_input(separator == separator_ || first.find(separator) == std::string::npos,
                    "{}: line 1: the header is one column, \"{}\": is the file separated by {}? it "
                    "is read as separated by {}; `ellice schema` finds out and writes it into the "
                    "schema (format: {{separator: \"{}\"}})",
                    name_, first, spelling, spelled(separator_),
                    separator == '\t' ? std::string("\\t") : std::string(1, separator));
    }
    require_input(!first.empty(), "{}: line 1: the only column has no name", name_);
  }
  require_input(
      !looks_like_data(header_),
      "{}: line 1: the header holds only numbers (\"{}\", ...): the file seems to have no header; "
      "put a line with the names of the columns first",
      name_, first.empty() ? header_[1] : first);
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < header_.size(); ++i) {
    require_input(i == 0 || !header_[i].empty(),
                  "{}: line 1: column {} has no name (only the first column may lack one)", name_,
                  i + 1);
    require_input(
        header_[i].find('\r') == std::string::npos,
        "{}: line 1: the name of column {} holds a carriage return; line ends must be LF or CRLF",
        name_, i + 1);
    const auto [other, is_new] = seen.emplace(header_[i], i);
    require_input(
        is_new, "{}: line 1: the column name \"{}\" appears twice (columns {} and {}); rename one",
        name_, header_[i], other->second + 1, i + 1);
  }
}

/// Advances to the next line that is not empty; false if there is none.
bool CsvScanner::skip_empty_lines() {
  while (true) {
    if (filled_ - row_ < 2 && !ended_) refill();
    const std::string_view rest(buffer_.data() + row_, filled_ - row_);
    if (rest.empty() || rest == "\r") {
      row_ = filled_;
      return false;
    }
    const std::size_t length = rest.starts_with('\n') ? 1 : rest.starts_with("\r\n") ? 2 : 0;
    if (length == 0) return true;
    row_ += length;
    ++next_line_;
  }
}

/// Reads the row at row_, which is not an empty line, and moves behind it.
void CsvScanner::read_row() {
  line_ = next_line_;
  std::size_t first = row_;
  for (; !scan_row(); first = row_) refill();
  check_text({buffer_.data() + first, row_ - first});
  for (const std::size_t cell : escaped_) unescape(cells_[cell]);
}

/// Names the place of text that is not UTF-8: nothing that is written later could hold it.
void CsvScanner::check_text(std::string_view row) const {
  const std::optional<std::size_t> fault = find_invalid_utf8(row);
  if (!fault) return;
  const char* const place = row.data() + *fault;
  const auto line = line_ + static_cast<std::size_t>(std::count(row.data(), place, '\n'));
  const auto cell = std::find_if(cells_.begin(), cells_.end(), [&](std::string_view text) {
    return place < text.data() + text.size();
  });
  throw RowError(fmt::format(
      "{}: line {}: column {} holds the byte 0x{:02X}, which is not UTF-8 here; save the file as "
      "UTF-8, or say format: {{encoding: latin1}} in the schema",
      name_, line, cell - cells_.begin() + 1, static_cast<unsigned char>(*place)));
}

/// Splits the row into cells; false if its end is not in the buffer yet.
bool CsvScanner::scan_row() {
  return separator_ == ',' ? scan_row_between<true>() : scan_row_between<false>();
}

template <bool is_comma>
bool CsvScanner::scan_row_between() {
  const char separator = is_comma ? ',' : separator_;
  cells_.clear();
  escaped_.clear();
  next_line_ = line_;
  const char* const end = buffer_.data() + filled_;
  const char* cell = buffer_.data() + row_;
  for (const char* word = cell;; word += word_size) {
    std::uint64_t left = marks(load(word));
    if constexpr (!is_comma) left |= marks_of(separator, load(word));
    for (; left != 0; left &= left - 1) {
      const char* place = word + std::countr_zero(left) / 8;
      if (*place == '"') {
        require_input(place == cell,
                      "{}: line {}: column {} holds a quote inside a cell that is not quoted; "
                      "quote the cell and double the quotes in it",
                      name_, next_line_, cells_.size() + 1);
        if (!scan_quoted(cell, place)) return false;
        if (*place == separator) {  // scanning goes on behind the quoted cell
          cell = place + 1;
          word = cell - word_size;
          break;
        }
      } else if (*place == separator) {
        cells_.emplace_back(cell, place);
        cell = place + 1;
        continue;
      } else if (*place == '\n') {
        if (place == end && !ended_) return false;
        const bool carriage_return = place > cell && place[-1] == '\r';
        cells_.emplace_back(cell, carriage_return ? place - 1 : place);
      } else {
        require_input(*place != '\0',
                      "{}: line {}: column {} holds a NUL byte; is this a text file? save "
                      "spreadsheets as CSV",
                      name_, next_line_, cells_.size() + 1);
        continue;
      }
      row_ = static_cast<std::size_t>(std::min(place + 1, end) - buffer_.data());
      ++next_line_;
      return true;
    }
  }
}

/// Takes the quoted cell that opens at `open` and sets `place` on the separator or line feed
/// behind; false if that is not in the buffer yet.
bool CsvScanner::scan_quoted(const char* open, const char*& place) {
  const char* const end = buffer_.data() + filled_;
  open_quote_line_ = next_line_;
  bool doubled = false;
  const char* close = open + 1;
  while (true) {
    close =
        static_cast<const char*>(std::memchr(close, '"', static_cast<std::size_t>(end - close)));
    if (close == nullptr || (close + 1 == end && !ended_)) {
      require_input(!ended_, "{}: line {}: column {}: the quote that opens here is never closed",
                    name_, open_quote_line_, cells_.size() + 1);
      return false;
    }
    if (close[1] != '"' || close + 1 == end) break;
    doubled = true;
    close += 2;
  }
  place = close + 1;
  if (place < end && *place == '\r') {
    if (place + 1 == end && !ended_) return false;
    ++place;
  }
  const std::string_view text(open + 1, close);
  next_line_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  require_input((*place == separator_ && place == close + 1) || *place == '\n',
                "{}: line {}: column {} goes on after its closing quote", name_, next_line_,
                cells_.size() + 1);
  require_input(
      text.find('\0') == std::string_view::npos,
      "{}: line {}: column {} holds a NUL byte; is this a text file? save spreadsheets as CSV",
      name_, open_quote_line_, cells_.size() + 1);
  open_quote_line_ = 0;
  if (doubled) escaped_.push_back(cells_.size());
  cells_.push_back(text);
  return true;
}

/// Halves doubled quotes where they stand: the row is whole, so nobody scans these bytes again.
void CsvScanner::unescape(std::string_view& cell) {
  char* const first = buffer_.data() + (cell.data() - buffer_.data());
  char* out = first;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    *out++ = cell[i];
    if (cell[i] == '"') ++i;
  }
  cell = {first, out};
}

/// Moves the row to the front of the buffer, enlarges the buffer if the row fills it, and reads on.
void CsvScanner::refill() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(row_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
  filled_ -= row_;
  row_ = 0;
  const std::size_t room = buffer_.size() - word_size;
  if (filled_ == room) {
    require_input(
        room < longest_row, "{}: line {}: {} within {} MiB; is this a CSV file?", name_, line_,
        open_quote_line_ == 0
            ? std::string("the line does not end")
            : fmt::format("the quote that opens on line {} is not closed", open_quote_line_),
        longest_row >> 20);
    buffer_.resize(2 * room + word_size);
  }
  fill();
}

/// Reads until the buffer is full, so that a row is scanned again only after the buffer has
/// doubled, and puts a line feed behind the last byte, where every scan stops.
void CsvScanner::fill() {
  const std::size_t room = buffer_.size() - word_size;
  while (!ended_ && filled_ < room) {
    const std::size_t got = read_(buffer_.data() + filled_, room - filled_);
    ended_ = got == 0;
    filled_ += got;
  }
  std::fill_n(buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), word_size, '\n');
}

}  // namespace ellice

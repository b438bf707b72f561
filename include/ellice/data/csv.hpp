#pragma once

// CSV by RFC 4180: quoted fields with embedded commas, quotes and line ends, LF or CRLF, an
// optional byte-order mark, empty cells; and the other separators and encodings of CsvFormat.
// Streaming: memory does not grow with the file.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/data/csv_format.hpp"

namespace ellice {

/// Thrown for a row that cannot be used while those behind it can: `next` may be called again.
class RowError : public Error {
 public:
  explicit RowError(const std::string& message) : Error(ErrorCode::input, message) {}
};

/// Rows of text with a header, from wherever they come. Of columns that hold numbers already, as in
/// memory, a reader may take these instead, and no text is made of them.
class RowSource {
 public:
  virtual ~RowSource() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;  // of the file, for messages
  [[nodiscard]] virtual const std::vector<std::string>& header() const = 0;
  /// The next row, as many cells as the header, valid until the next call; false at the end. Throws
  /// RowError for a row that has more or fewer, any other Error where reading cannot go on.
  virtual bool next(std::span<const std::string_view>& cells) = 0;
  /// Where the current row is, for messages: «loans.csv:7», the line on which it began.
  [[nodiscard]] virtual std::string place() const = 0;
  /// Asks for the numbers of a column. True where it holds nothing else: from the next row on
  /// `numbers` has them, and its cells need not.
  [[nodiscard]] virtual bool takes_numbers(std::size_t column);
  /// Of the current row, as many as the header: those of the columns that were asked for. NaN is an
  /// empty cell.
  [[nodiscard]] virtual std::span<const double> numbers() const { return {}; }
  /// How the cells spell numbers; plain unless the rows come from a file that says otherwise.
  [[nodiscard]] virtual const CsvFormat& format() const;
};

/// The format of a file by its first bytes.
using ChooseFormat = std::function<CsvFormat(std::string_view start)>;

/// Reads a CSV file, or standard input for "-". Refuses, naming line and column: a ragged row, a
/// duplicate or (except for one leading column without a name, an index) empty header, an unclosed
/// quote, text after a closing quote, a quote inside an unquoted cell, a NUL byte, a header of
/// numbers only (a file without one), a row of more than 64 MiB, an empty file. Rows that are
/// ragged, empty or not UTF-8 can be passed over (RowError).
class CsvReader final : public RowSource {
 public:
  explicit CsvReader(const std::string& path, const CsvFormat& format = {});
  /// Reads by the format that is chosen for the first bytes of the file (16 MiB at most).
  CsvReader(const std::string& path, const ChooseFormat& choose);
  ~CsvReader() override;
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;
  CsvReader(CsvReader&&) = delete;
  CsvReader& operator=(CsvReader&&) = delete;

  [[nodiscard]] const std::string& name() const override;
  [[nodiscard]] const std::vector<std::string>& header() const override;
  bool next(std::span<const std::string_view>& cells) override;
  [[nodiscard]] std::string place() const override;
  [[nodiscard]] std::size_t line() const;  // on which the current row began, from 1
  [[nodiscard]] const CsvFormat& format() const override;

  /// SHA-256 of the bytes of the file; call it after the last row.
  [[nodiscard]] std::string sha256();
  /// Bytes read so far and, for a regular file, its size (else 0): for progress.
  [[nodiscard]] std::size_t bytes_read() const;
  [[nodiscard]] std::size_t bytes_total() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Parses the whole cell as a finite number (surrounding blanks allowed); false for anything else,
/// such as "", "1,5", "nan", "0x10".
[[nodiscard]] bool parse_number(std::string_view cell, double& value);

/// A cell as CSV: quoted where it must be.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace ellice

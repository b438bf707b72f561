#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/data/csv.hpp"

namespace ellice {

/// Finds the rows of CSV text that arrives in pieces; CsvReader without the file. The cells of a
/// row are views into one buffer, which only ever grows to hold the longest row.
class CsvScanner final : public RowSource {
 public:
  /// Writes up to `size` bytes and says how many; 0 is the end.
  using Read = std::function<std::size_t(char* into, std::size_t size)>;
  static constexpr std::size_t default_buffer_size = std::size_t{1} << 18;
  static constexpr std::size_t longest_row = std::size_t{1} << 26;

  CsvScanner(std::string name, Read read, std::size_t buffer_size = default_buffer_size,
             char separator = ',');

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::vector<std::string>& header() const override { return header_; }
  bool next(std::span<const std::string_view>& cells) override;
  [[nodiscard]] std::string place() const override;
  [[nodiscard]] std::size_t line() const { return line_; }

  /// Whether every byte was read.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  void read_header();
  bool skip_empty_lines();
  void read_row();
  void check_text(std::string_view row) const;
  bool scan_row();
  template <bool is_comma>
  bool scan_row_between();
  bool scan_quoted(const char* open, const char*& place);
  void unescape(std::string_view& cell);
  void refill();
  void fill();

  std::string name_;
  Read read_;
  char separator_;
  std::vector<char> buffer_;  // room for 8 bytes more than it is filled with: see fill()
  std::size_t filled_ = 0;
  std::size_t row_ = 0;  // where the next row begins
  bool ended_ = false;
  std::vector<std::string> header_;
  std::vector<std::string_view> cells_;
  std::vector<std::size_t> escaped_;  // cells of the row that hold doubled quotes
  std::size_t line_ = 0;              // of the current row
  std::size_t next_line_ = 1;
  std::size_t open_quote_line_ = 0;  // 0: none is open
  std::size_t empty_lines_ = 0;      // still to be handed out, or refused one by one
};

}  // namespace ellice

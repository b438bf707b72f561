#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) == 0x80U) continue;  // continuation of a code point
    // U+0300 … U+036F, combining marks, are CC 80 … CD AF.
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0xCCU || (byte == 0xCDU && next < 0xB0U)) continue;
    ++width;
  }
  return width;
}

TextTable::TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

void TextTable::header(std::vector<std::string> cells) {
  row(std::move(cells));
  has_header_ = true;
}

void TextTable::row(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(), "a table row has {} cells, expected {}", cells.size(),
          columns_.size());
  for (std::string& cell : cells) cell = visible(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& cells : rows_) {
    for (std::size_t j = 0; j < cells.size(); ++j) {
      widths[j] = std::max(widths[j], display_width(cells[j]));
    }
  }
  std::string out;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::string line;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const std::string padding(widths[j] - display_width(rows_[i][j]), ' ');
      line += columns_[j] == Align::left ? rows_[i][j] + padding : padding + rows_[i][j];
      line += "  ";
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    if (i == 0 && has_header_) {
      for (const std::size_t width : widths) {
        for (std::size_t k = 0; k < width; ++k) out += "─";
        out += "  ";
      }
      out.resize(out.size() - 2);
      out += '\n';
    }
  }
  return out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  std::vector<std::string> lines(1);
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = text.find(' ', begin);
    while (end < text.size() && end > 0 && is_digit(end - 1) && is_digit(end + 1))
      end = text.find(' ', end + 1);
    const std::string_view word = text.substr(begin, end - begin);
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (display_width(line) + 1 + display_width(word) <= width) {
      line += " " + std::string(word);
    } else {
      lines.emplace_back(word);
    }
    begin = end == std::string_view::npos ? text.size() + 1 : end + 1;
  }
  return lines;
}

std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), " ");
  }
  return digits;
}

std::string rounded(double value, int significant) {
  return fmt::format("{:.{}g}", value, significant);
}

std::string rounded_beside(double value, double other) {
  int digits = 4;
  while (digits < 17 && value != other && rounded(value, digits) == rounded(other, digits))
    ++digits;
  return rounded(value, digits);
}

}  // namespace ellice

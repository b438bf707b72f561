#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "data/csv_scanner.hpp"

namespace ellice {

/// A table that is written down in a test.
inline CsvScanner text_table(std::string text, std::string name = "table.csv") {
  return {std::move(name),
          [text = std::move(text), at = std::size_t{0}](char* into, std::size_t size) mutable {
            const std::size_t count = std::min(size, text.size() - at);
            std::memcpy(into, text.data() + at, count);
            at += count;
            return count;
          }};
}

}  // namespace ellice

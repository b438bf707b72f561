#pragma once

// Finds out how a file spells its table. A plain file (commas, points, UTF-8) is taken for one
// unless it would then have fewer columns of numbers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/data/csv.hpp"

namespace ellice {

/// What somebody said about a file; what they did not say is detected.
struct FormatHints {
  std::optional<char> separator = {};
  std::optional<char> decimal = {};
  std::optional<char> thousands = {};  // 0: there are no groups
  std::optional<Encoding> encoding = {};
  std::optional<std::vector<std::string>> missing_values = {};
};

struct Detection {
  CsvFormat format = {};
  std::vector<std::string> missing_values = {};
  std::vector<std::string> found = {};   // what is not plain, in words
  std::vector<std::string> doubts = {};  // what could be read in two ways
};

/// By the first bytes of the file; `name` is for messages.
[[nodiscard]] Detection detect_format(std::string_view start, const FormatHints& hints,
                                      const std::string& name);

}  // namespace ellice

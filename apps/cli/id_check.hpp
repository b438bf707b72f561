#pragma once

// Whether the identifiers that --id names tell people apart.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "console.hpp"
#include "request/query_reader.hpp"

namespace ellice::cli {

/// «row 3», «rows 3, 4, 9 … (12 in all)»: counted from 1, as the names of letters are, of rows
/// counted from 0.
[[nodiscard]] std::string named_rows(std::vector<std::size_t> rows);

/// Remembers 16 bytes of each row, whatever its identifier.
class IdCheck {
 public:
  void add(const QueryBlock& block);
  /// What was remembered of rows that come later.
  void add(const IdCheck& later);
  /// Says which rows have no identifier, and which one that another has; `letters` go by it.
  void warn(const std::string& column, bool letters, const Console& console);

 private:
  void add(std::size_t row, const std::optional<std::string>& id);

  std::vector<std::size_t> empty_ = {};                           // rows, counted from 0
  std::vector<std::pair<std::size_t, std::size_t>> hashed_ = {};  // hash and row
};

}  // namespace ellice::cli

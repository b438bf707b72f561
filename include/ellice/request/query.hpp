#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ellice/model/model.hpp"

namespace ellice {

/// One person who asks.
struct Query {
  std::size_t index = 0;
  Vector raw = {};  // as in Dataset::raw, empty cells filled
  std::optional<std::string> id = {};
  std::vector<std::size_t> filled = {};  // features whose cell was empty: their value is a guess
};

/// What a row that cannot be read does: it ends the work, or becomes an answer `invalid`.
enum class OnError { stop, skip };

/// All rows of a CSV file; «-» is standard input. Throws Error{input} for one that cannot be read.
[[nodiscard]] std::vector<Query> read_queries(const std::string& path, const Model& model,
                                              const std::optional<std::string>& id_column = {});

}  // namespace ellice

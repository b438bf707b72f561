#pragma once

#include <string>

#include "ellice/core/progress.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// A first schema for a table, to be read over by a person. Two distinct values: binary; all
/// numbers: integer or numeric; text: categorical with the levels found. A column without a name is
/// dropped, and so is text with as many levels as rows (an identifier); `notes` says so, and what
/// else deserves a look.
struct SchemaDraft {
  Schema schema = {};
  std::vector<std::string> notes = {};
};

[[nodiscard]] SchemaDraft draft_schema(RowSource& source, const std::string& target,
                                       const std::string& favourable,
                                       const Progress& progress = {});

}  // namespace ellice

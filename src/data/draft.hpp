#pragma once

#include <string>
#include <vector>

#include "core/progress.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// Something that the draft took for granted, and what made it think so.
struct Guess {
  std::string column = {};
  std::string what = {};  // such as "immutable" or "dropped"
  std::string why = {};
  bool is_doubtful = false;  // could well be otherwise: somebody should decide
  bool operator==(const Guess&) const = default;
};

/// A first schema for a table, to be read over by a person. Two distinct values: binary; all
/// numbers: integer or numeric; text: categorical with the levels found, or ordinal where these are
/// a known ladder. Identifiers, names, postcodes, dates, free text and constants are dropped; what
/// people cannot change is immutable, and what no decision should rest on is protected, by the
/// names and values of the columns (draft_words.inc).
struct SchemaDraft {
  Schema schema = {};
  std::vector<Guess> guesses = {};       // in the order of the columns
  std::vector<std::string> notes = {};   // about the table as a whole
  std::vector<std::string> doubts = {};  // the same, of what somebody should decide
  std::size_t rows = 0;

  /// All that somebody should decide, one line each.
  [[nodiscard]] std::vector<std::string> open_questions() const;
};

struct DraftOptions {
  std::string target = {};
  std::string favourable = {};
  std::vector<std::string> missing_values = {};
  bool merge_levels = false;
};

[[nodiscard]] SchemaDraft draft_schema(RowSource& source, const DraftOptions& options,
                                       const Progress& progress = {});

/// The schema as YAML, with each guess as a comment beside the line that it explains.
[[nodiscard]] std::string to_yaml(const SchemaDraft& draft);

}  // namespace ellice

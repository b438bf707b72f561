#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ellice/data/csv.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "ellice/request/query.hpp"

namespace ellice {

/// What of rows somebody should look at: cells that could mean another number, empty ones that were
/// filled, numbers far outside the training rows.
struct CellRemarks {
  /// Cells of which the same is to be said: the first of them in words, all by number.
  struct Kind {
    std::size_t count = 0;
    std::vector<std::string> first = {};
    [[nodiscard]] std::string named() const;
  };
  Kind doubts = {};
  Kind filled = {};
  Kind far = {};

  /// Those of rows that come later.
  void add(const CellRemarks& later);
  /// In words.
  [[nodiscard]] std::vector<std::string> texts() const;
};

/// Some queries, and answers (status invalid) for the rows that could not be read.
struct QueryBlock {
  std::vector<Query> queries = {};
  std::vector<Answer> invalid = {};
  CellRemarks remarks = {};
  [[nodiscard]] std::size_t size() const { return queries.size() + invalid.size(); }
};

/// Reads people from a table in blocks, so that memory does not grow with it. Columns are matched
/// by name; target and dropped columns are ignored. Empty cells are filled as in training.
class QueryReader {
 public:
  /// `id_column`, if any, is echoed and may be a column that the schema does not know. Model and
  /// source must outlive the reader.
  QueryReader(const Model& model, RowSource& source, std::optional<std::string> id_column,
              OnError on_error);
  ~QueryReader();
  QueryReader(const QueryReader&) = delete;
  QueryReader& operator=(const QueryReader&) = delete;
  QueryReader(QueryReader&&) = delete;
  QueryReader& operator=(QueryReader&&) = delete;

  /// The next rows, at most `most`; an empty block at the end. Throws Error{input} if there are no
  /// rows at all.
  [[nodiscard]] QueryBlock next(std::size_t most);
  /// The same of a source that goes on elsewhere in the table: its next row has this index.
  [[nodiscard]] QueryBlock next(std::size_t most, std::size_t first_index);

 private:
  class WithoutId;
  /// Refuses a number that is finite but overflows in model space.
  void require_near(std::size_t feature, double value) const;
  /// Refuses "29.000" where the training rows show that it does not mean 29, counts it where they
  /// show nothing.
  void question_groups(std::size_t feature, std::string_view cell, double value);
  /// Refuses "7.325" where "." stands between groups and the training rows show that it does not
  /// mean 7325.
  void question_decimals(std::size_t feature, std::string_view cell, double value) const;
  /// From the least to the greatest number of the training rows.
  [[nodiscard]] bool is_usual(std::size_t feature, double value) const;
  /// The signs that may stand beside a feature's numbers.
  [[nodiscard]] std::span<const std::string> symbols_of(const Feature& feature) const;
  /// The value that stands for an empty cell, as in training.
  [[nodiscard]] double fill_of(std::size_t feature) const;
  void note_filled(const Query& query);
  /// Notes numbers at which no training row says anything about what the model answers.
  void note_far(const Query& query);

  const Model* model_;
  std::unique_ptr<WithoutId> source_;
  std::unique_ptr<RowParser> parser_;
  OnError on_error_;
  const CsvFormat* format_;  // of the source
  std::size_t next_index_ = 0;
  std::vector<std::size_t> cells_;  // of features that are numbers
  CellRemarks remarks_ = {};        // of the block that is being read
};

/// The only column of a table that the schema does not know, which is the identifier of people
/// whose answers are at hand; nothing where there is none, or several.
[[nodiscard]] std::optional<std::string> identifier_column(const RowSource& source,
                                                           const Schema& schema);

}  // namespace ellice

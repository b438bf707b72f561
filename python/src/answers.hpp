#pragma once

// Answers as Python holds them: blocks of them, a table, records and Arrow streams.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arrow_c.hpp"
#include "ellice/explain/explainer.hpp"
#include "explain/answer_block.hpp"
#include "frame.hpp"
#include "request/query_reader.hpp"

namespace ellice::python {

/// The answers to consecutive rows of a table.
struct Answers {
  std::shared_ptr<const Explainer> explainer = {};
  std::vector<std::shared_ptr<const AnswerBlock>> blocks = {};
  std::vector<std::size_t> ends = {};  // of the blocks, counted in answers
  std::size_t first_row = 0;
  std::size_t rows = 0;  // that were asked about
  bool has_ids = false;
  bool is_interrupted = false;
  std::vector<std::string> remarks = {};
  std::vector<std::size_t> incomplete = {};  // queries whose row had empty cells

  [[nodiscard]] std::size_t size() const { return ends.empty() ? 0 : ends.back(); }
  [[nodiscard]] Answer answer(std::size_t i) const;
  void add(std::vector<Answer> answers, int threads);
};

/// The rows of a frame, answered when they are asked for. Explainer and frame must outlive it.
class AnswerStream {
 public:
  AnswerStream(std::shared_ptr<const Explainer> explainer, const Frame& frame,
               const std::optional<std::string>& id, OnError on_error);

  /// The next rows, at most `most`; `total` is for progress, 0 where nobody knows. Stopped, it has
  /// those that were finished. Throws Error{input} if there are no rows at all.
  void next(std::size_t most, std::size_t total, const Execution& execution, Answers& result);
  [[nodiscard]] bool is_at_end() const { return is_at_end_; }
  [[nodiscard]] std::vector<std::string> remarks() const { return remarks_.texts(); }
  /// Nothing yet, but what is known before any row is read.
  [[nodiscard]] Answers none() const { return {.explainer = explainer_, .has_ids = has_ids_}; }

 private:
  std::shared_ptr<const Explainer> explainer_;
  FrameSource source_;
  QueryReader reader_;
  CellRemarks remarks_ = {};
  bool has_ids_;
  std::size_t done_ = 0;
  bool is_at_end_ = false;
};

/// The recourse file of `ellice explain`, byte for byte.
[[nodiscard]] std::string file_text(const Answers& answers, int threads);

/// Texts one behind the other, as Arrow lays them out.
struct Texts {
  std::vector<std::int64_t> offsets = {0};
  std::string all = {};
  std::vector<bool> is_there = {};
  void add(std::string_view text, bool is_text = true);
};

/// One column of the table of answers: what is absent is NaN, or no text.
struct AnswerColumn {
  std::string name = {};
  std::variant<std::vector<double>, std::vector<std::int64_t>, Texts> values = {};
};

/// The table: `query`, `plan`, `status`, `id` where asked for, the features of the rows to reach
/// (with `only_changes` those that some answer changes, where it does), and the numbers of each
/// answer. A name that a feature has taken has an underscore before it.
class AnswerTable {
 public:
  AnswerTable(const Answers& answers, bool only_changes);
  /// Of the blocks from `first` to before `last`.
  [[nodiscard]] std::vector<AnswerColumn> columns(std::size_t first, std::size_t last) const;

 private:
  const Answers* answers_;
  bool only_changes_;
  std::vector<std::size_t> features_;
};

/// Tables with the same columns, one after the other.
class TableStream {
 public:
  virtual ~TableStream() = default;
  /// One without rows shows the columns.
  [[nodiscard]] virtual std::vector<AnswerColumn> empty() = 0;
  /// Nothing at the end.
  [[nodiscard]] virtual std::optional<std::vector<AnswerColumn>> next() = 0;
};

/// Answers that are there, some ten thousand at a time.
[[nodiscard]] std::unique_ptr<TableStream> table_stream(Answers answers, bool only_changes);

/// Fills in a stream with a batch for each table; it asks for one when somebody asks for it.
void export_arrow(std::unique_ptr<TableStream> tables, ArrowArrayStream& stream);

}  // namespace ellice::python

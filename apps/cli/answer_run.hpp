#pragma once

// A table of people, read, answered and written block by block, on several threads at once.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer_sink.hpp"
#include "ellice/core/execution.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/explain/explainer.hpp"
#include "id_check.hpp"
#include "report/letter_batch.hpp"
#include "request/query_reader.hpp"

namespace ellice::cli {

/// How far the whole table is, from how far its present block is.
class TableProgress {
 public:
  explicit TableProgress(Progress progress) : progress_(std::move(progress)) {}

  [[nodiscard]] bool operator()(ProgressState state) const;
  /// So many rows come next; the share of the table that is read then, 0 where nobody knows.
  void begin(std::size_t rows, double share);
  /// The rows that came are done.
  void end();
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  /// The number of rows is known only at the end; the bytes read so far tell how far that is.
  [[nodiscard]] std::size_t total(std::size_t done) const;

  Progress progress_;
  std::size_t rows_ = 0;
  std::size_t read_ = 0;
  double share_ = 0;
};

struct RunOptions {
  int threads = 1;
  std::optional<std::string> id = {};  // the column
  OnError on_error = OnError::stop;
  /// Several plans of a person are a trade-off, of which only the one to recommend is wanted.
  std::optional<double> worth = {};
  Progress progress = {};
  /// Before anything is said of the last rows, with their number.
  std::function<void(std::size_t rows)> check_rows = {};
};

/// Rows that cost much are shared out among all threads, one block after the other; of rows that
/// cost little each thread takes a block of its own, so that reading and writing, which have an
/// order, go on beside the rest. Which it is never changes what is written.
class AnswerRun {
 public:
  /// Both must outlive it. Throws Error{input} for columns that do not fit.
  AnswerRun(const Explainer& explainer, CsvReader& source, RunOptions options);
  ~AnswerRun();
  AnswerRun(const AnswerRun&) = delete;
  AnswerRun& operator=(const AnswerRun&) = delete;
  AnswerRun(AnswerRun&&) = delete;
  AnswerRun& operator=(AnswerRun&&) = delete;

  /// Answers all rows. Of what cannot be read or answered the first in the table is thrown;
  /// stopped, it has added what was finished. `letters` may be null.
  void write(AnswerSink& sink, LetterBatch* letters);

  [[nodiscard]] std::size_t rows() const { return progress_.rows(); }
  [[nodiscard]] IdCheck& ids() { return ids_; }
  [[nodiscard]] const CellRemarks& remarks() const { return remarks_; }

 private:
  struct Block;
  /// How many threads share a block, and whether there is no other beside it.
  struct Sharing {
    int threads = 1;
    bool is_alone = false;
  };
  /// Whether rows cost so much, lately, that a block of one thread would keep the others waiting.
  [[nodiscard]] bool are_dear() const;
  bool take(Block& block, std::size_t rows);
  void answer(Block& block, const Sharing& sharing, const AnswerSink& sink,
              const LetterBatch* letters);
  void give(Block& block, AnswerSink& sink, LetterBatch* letters);

  const Explainer* explainer_;
  CsvReader* source_;
  RunOptions options_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t read_ = 0;  // rows
  bool is_at_end_ = false;
  std::atomic<double> row_seconds_;  // of one thread, lately
  TableProgress progress_;
  IdCheck ids_;
  CellRemarks remarks_;
};

}  // namespace ellice::cli

#pragma once

// A table of people, block by block, and how far it is.

#include <algorithm>
#include <cstddef>
#include <future>
#include <utility>

#include "core/parallel.hpp"
#include "core/progress.hpp"
#include "core/stop.hpp"
#include "ellice/data/csv.hpp"
#include "explain/answer_block.hpp"
#include "request/query_reader.hpp"

namespace ellice::cli {

/// The blocks of a table. Of a file the next one is read while the one before is answered, where
/// there are threads for it; a pipe may take for ever, and nobody waits for what is not needed yet.
class BlockReader {
 public:
  struct Block {
    QueryBlock people = {};
    double share = 0;  // of the file that is read then; 0 where nobody knows
  };
  BlockReader(const CsvReader& source, QueryReader& reader, int threads)
      : source_(&source),
        reader_(&reader),
        rows_(block_rows(threads)),
        policy_(source.bytes_total() > 0 && thread_count(threads) > 1 ? std::launch::async
                                                                      : std::launch::deferred) {
    begin();
  }
  [[nodiscard]] Block next() {
    Block block = next_.get();
    if (!is_last(block.people)) begin();
    return block;
  }
  [[nodiscard]] bool is_last(const QueryBlock& block) const { return block.size() < rows_; }

 private:
  void begin() {
    next_ = std::async(policy_, [this, asked = internal::current_stop] {
      const StopScope inherited(asked);
      Block block{.people = reader_->next(rows_)};
      const auto total = static_cast<double>(source_->bytes_total());
      if (total > 0) block.share = static_cast<double>(source_->bytes_read()) / total;
      return block;
    });
  }

  const CsvReader* source_;
  QueryReader* reader_;
  std::size_t rows_;  // of a block
  std::launch policy_;
  std::future<Block> next_;
};

/// How far the whole table is, from how far its present block is.
class TableProgress {
 public:
  explicit TableProgress(Progress progress) : progress_(std::move(progress)) {}

  [[nodiscard]] bool operator()(ProgressState state) const {
    if (state.stage == "explaining") {
      state.done += rows_;
      state.total = total(state.done);
    }
    return progress_(state);
  }
  /// Answers to so many rows come next; the share of the table that is read then.
  void begin(std::size_t rows, double share) {
    read_ = rows_ + rows;
    share_ = share;
  }
  void add(std::size_t rows) {
    rows_ += rows;
    report_progress(progress_, {"explaining", rows_, total(rows_)});
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  /// The number of rows is known only at the end; the bytes read so far tell how far that is.
  [[nodiscard]] std::size_t total(std::size_t done) const {
    if (!(share_ > 0)) return 0;
    return std::max(static_cast<std::size_t>(static_cast<double>(read_) / share_), done);
  }

  Progress progress_;
  std::size_t rows_ = 0;
  std::size_t read_ = 0;
  double share_ = 0;
};

}  // namespace ellice::cli

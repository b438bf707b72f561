#include "answer_run.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/parallel.hpp"
#include "core/pipeline.hpp"
#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "data/held_rows.hpp"
#include "explain/answer_block.hpp"
#include "explain/fewer_changes.hpp"
#include "interruption.hpp"
#include "report/trade_off.hpp"

namespace ellice::cli {

namespace {

// Rows of a block that one thread has to itself: enough for the matrix products of a search, so few
// that their answers stay in the caches.
constexpr std::size_t own_rows = 256;
// What such a block may take, so that nobody waits long for the last one, nor for its rows alone.
constexpr double own_seconds = 0.05;

/// Whose row had empty cells.
std::set<std::size_t> incomplete(const std::vector<Query>& queries) {
  std::set<std::size_t> result;
  for (const Query& query : queries)
    if (!query.filled.empty()) result.insert(query.index);
  return result;
}

}  // namespace

bool TableProgress::operator()(ProgressState state) const {
  if (state.stage == "explaining") {
    state.done += rows_;
    state.total = total(state.done);
  }
  return progress_(state);
}

void TableProgress::begin(std::size_t rows, double share) {
  read_ = rows_ + rows;
  share_ = share;
}

void TableProgress::end() {
  rows_ = read_;
  // Who wants a stop says so to the work that is left.
  (void)progress_({"explaining", rows_, total(rows_)});
}

std::size_t TableProgress::total(std::size_t done) const {
  if (!(share_ > 0)) return 0;
  return std::max(static_cast<std::size_t>(static_cast<double>(read_) / share_), done);
}

/// Some rows on their way.
struct AnswerRun::Block {
  Block(const Explainer& explainer, const CsvReader& source, const RunOptions& options)
      : rows(source), reader(explainer.model(), rows, options.id, options.on_error) {}

  HeldRows rows;
  QueryReader reader;
  std::size_t first = 0;  // row
  double share = 0;       // of the table that was read then
  QueryBlock people = {};
  IdCheck ids = {};
  std::vector<Answer> answers = {};  // where letters are made of them
  AnswerSink::Part part = {};
  bool is_cut = false;  // by a stop
};

AnswerRun::AnswerRun(const Explainer& explainer, CsvReader& source, RunOptions options)
    : explainer_(&explainer),
      source_(&source),
      options_(std::move(options)),
      row_seconds_(std::numeric_limits<double>::infinity()),
      progress_(options_.progress) {
  const auto threads = static_cast<std::size_t>(thread_count(options_.threads));
  // Twice as many as threads, so that nobody waits for the one whose turn it is.
  for (std::size_t k = 0; k < 2 * threads; ++k)
    blocks_.push_back(std::make_unique<Block>(explainer, source, options_));
}

AnswerRun::~AnswerRun() = default;

bool AnswerRun::are_dear() const {
  return row_seconds_ * static_cast<double>(own_rows) > own_seconds;
}

void AnswerRun::write(AnswerSink& sink, LetterBatch* letters) {
  const FinishedScope finished(true);
  const int threads = thread_count(options_.threads);
  while (!is_at_end_) {
    const bool is_alone = are_dear();
    const std::size_t rows = is_alone ? block_rows(threads) : own_rows;
    const Sharing sharing{.threads = is_alone ? threads : 1, .is_alone = is_alone};
    run_in_order(
        is_alone ? 1 : blocks_.size(), threads,
        {.take =
             [&](std::size_t place) {
               return are_dear() == is_alone && take(*blocks_[place], rows);
             },
         .work = [&](std::size_t place) { answer(*blocks_[place], sharing, sink, letters); },
         .give = [&](std::size_t place) { give(*blocks_[place], sink, letters); }});
  }
}

bool AnswerRun::take(Block& block, std::size_t rows) {
  if (is_at_end_) return false;
  block.first = read_;
  block.rows.take(*source_, rows);
  read_ += block.rows.rows();
  is_at_end_ = block.rows.are_last();
  const auto total = static_cast<double>(source_->bytes_total());
  block.share = total > 0 ? static_cast<double>(source_->bytes_read()) / total : 0;
  return true;
}

void AnswerRun::answer(Block& block, const Sharing& sharing, const AnswerSink& sink,
                       const LetterBatch* letters) {
  const ThreadStopwatch watch;
  const std::size_t rows = block.rows.rows();
  block.part = {};
  block.is_cut = false;
  block.people = block.reader.next(rows, block.first);
  if (block.rows.are_last()) options_.check_rows(block.first + rows);
  if (rows == 0) return;
  block.ids.add(block.people);
  Execution execution{.threads = sharing.threads};
  if (sharing.is_alone) {
    progress_.begin(rows, block.share);
    execution.progress = std::cref(progress_);
  }
  std::vector<Answer> answers = explainer_->explain(block.people.queries, execution);
  if (options_.worth) answers = recommended_alone(answers, *options_.worth);
  block.is_cut = is_stop_requested();  // some of the block may be missing
  if (block.is_cut) {
    if (!sink.keeps_finished()) check_stop();
    stop_was_heard();
    block.people.invalid.clear();
  }
  answers = in_order(std::move(answers), std::move(block.people.invalid));
  if (letters != nullptr) {
    block.answers = std::move(answers);
  } else {
    block.part = sink.part(std::move(answers), sharing.threads);
  }
  row_seconds_ = watch.seconds() * sharing.threads / static_cast<double>(rows);
}

void AnswerRun::give(Block& block, AnswerSink& sink, LetterBatch* letters) {
  if (letters != nullptr) {
    const StopShield shield;
    if (!block.is_cut) letters->add(block.answers, incomplete(block.people.queries));
    block.part = sink.part(std::exchange(block.answers, {}), 1);
  }
  sink.add(std::exchange(block.part, {}));
  ids_.add(std::exchange(block.ids, {}));
  remarks_.add(block.people.remarks);
  if (block.is_cut) return;
  progress_.begin(block.rows.rows(), block.share);
  progress_.end();
}

}  // namespace ellice::cli

#include "answers.hpp"

#include <algorithm>
#include <limits>

#include "core/parallel.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "request/query_reader.hpp"
#include "request/recourse_file.hpp"

namespace ellice::python {

namespace {

// Of a block, which one thread makes.
constexpr std::size_t most_held = 1024;

/// Progress within the whole table.
Execution of_block(const Execution& execution, std::size_t before, std::size_t total) {
  return {.threads = execution.threads,
          .progress = [&execution, before, total](const ProgressState& state) {
            return execution.progress(
                {.stage = state.stage, .done = before + state.done, .total = total});
          }};
}

}  // namespace

Answer Answers::answer(std::size_t i) const {
  const auto block = std::upper_bound(ends.begin(), ends.end(), i) - ends.begin();
  const auto at = static_cast<std::size_t>(block);
  return blocks.at(at)->answer(i - (at == 0 ? 0 : ends[at - 1]));
}

void Answers::add(std::vector<Answer> answers, int threads) {
  const StopShield shield;  // what is finished is kept
  const std::size_t parts = (answers.size() + most_held - 1) / most_held;
  std::vector<std::shared_ptr<const AnswerBlock>> made(parts);
  parallel_for("holding", parts, {.threads = threads}, [&](std::size_t p) {
    const auto first = answers.begin() + static_cast<std::ptrdiff_t>(p * most_held);
    const auto last =
        first + static_cast<std::ptrdiff_t>(std::min(most_held, answers.size() - p * most_held));
    made[p] = std::make_shared<const AnswerBlock>(
        *explainer, std::vector<Answer>(std::move_iterator(first), std::move_iterator(last)));
  });
  for (std::shared_ptr<const AnswerBlock>& block : made) {
    ends.push_back(size() + block->size());
    blocks.push_back(std::move(block));
  }
}

AnswerStream::AnswerStream(std::shared_ptr<const Explainer> explainer, const Frame& frame,
                           const std::optional<std::string>& id, OnError on_error)
    : explainer_(std::move(explainer)),
      source_(frame, explainer_->model().schema()),
      reader_(explainer_->model(), source_, id, on_error),
      has_ids_(id.has_value()) {}

void AnswerStream::next(std::size_t most, std::size_t total, const Execution& execution,
                        Answers& result) {
  const std::size_t together = block_rows(execution.threads);
  const FinishedScope finished(true);
  result.first_row = done_;
  while (result.rows < most && !is_at_end_) {
    const std::size_t wanted = std::min(together, most - result.rows);
    QueryBlock block = reader_.next(wanted);
    remarks_.add(block.remarks);
    is_at_end_ = block.size() < wanted;
    const std::size_t read = block.size();
    for (const Query& query : block.queries)
      if (!query.filled.empty()) result.incomplete.push_back(query.index);
    std::vector<Answer> answers =
        explainer_->explain(block.queries, of_block(execution, done_, total), FindReasons::later);
    result.is_interrupted = is_stop_requested();
    if (result.is_interrupted) block.invalid.clear();
    result.add(in_order(std::move(answers), std::move(block.invalid)), execution.threads);
    if (result.is_interrupted) break;
    done_ += read;
    result.rows += read;
    // Work that is done may not have said so: it speaks now and then only.
    (void)execution.progress({.stage = "explaining", .done = done_, .total = total});
  }
  result.remarks = remarks_.texts();
}

std::string file_text(const Answers& answers, int threads) {
  RecourseWriter writer(answers.explainer->resolved());
  std::string text = writer.begin();
  for (const auto& block : answers.blocks)
    for (const Answer& answer : block->answers(threads)) text += writer.answer(answer);
  // A later part of a table lacks the people before it, too.
  const bool is_whole = !answers.is_interrupted && answers.first_row == 0;
  return text +
         writer.end(is_whole ? RecourseWriter::Ending::whole : RecourseWriter::Ending::interrupted);
}

}  // namespace ellice::python

#include "answer_tally.hpp"

#include <vector>

#include "report/display.hpp"

namespace ellice::cli {

void AnswerTally::add(const Answer& answer, const Schema& schema) {
  held_.insert(answer.held.begin(), answer.held.end());
  if (answer.plan > 0) return;
  ++queries_;
  ++statuses_.at(static_cast<std::size_t>(answer.status));
  if (!answer.reasons) return;
  const std::vector<std::string> named = protected_reasons(*answer.reasons, schema);
  if (!named.empty()) ++protected_refusals_;
  protected_.insert(named.begin(), named.end());
}

void AnswerTally::add(const AnswerTally& later) {
  queries_ += later.queries_;
  for (std::size_t k = 0; k < statuses_.size(); ++k) statuses_.at(k) += later.statuses_.at(k);
  held_.insert(later.held_.begin(), later.held_.end());
  protected_.insert(later.protected_.begin(), later.protected_.end());
  protected_refusals_ += later.protected_refusals_;
}

std::size_t AnswerTally::certified() const {
  std::size_t count = 0;
  for (const Status status : {Status::optimal, Status::certified, Status::already_robust})
    count += statuses_.at(static_cast<std::size_t>(status));
  return count;
}

}  // namespace ellice::cli

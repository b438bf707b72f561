#include "report/appraisal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/model/loss.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"
#include "sets/contest.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

Appraiser::Appraiser(const Model& model, double epsilon, double threshold, const SetChoice& set)
    : model_(&model), epsilon_(epsilon), threshold_(threshold), choice_(set) {
  require(std::isfinite(epsilon) && epsilon >= 0, "epsilon = {} must be finite and >= 0", epsilon);
  SetChoice one = set;
  std::vector<Index> winners = {0};
  if (set.contest) winners = acceptable_classes(model, *set.contest);
  for (const Index winner : winners) {
    if (one.contest) one.contest->winner = winner;
    if (is_first_order(set.kind)) {
      first_order_ = make_set(model, one);
    } else {
      questions_.emplace_back(model, one, epsilon, threshold);
    }
  }
}

double Appraiser::epsilon_of(const Answer& answer) const {
  return answer.certificate ? answer.certificate->epsilon : epsilon_;
}

Appraisal Appraiser::before(const Answer& answer) const {
  const Vector x = model_->encoder.encode(answer.query);
  const double epsilon = epsilon_of(answer);
  const double kappa = std::sqrt(2 * epsilon);
  if (first_order_) {
    const double logit = model_->logit(x);
    return {.logit = logit, .penalty = logit - first_order_->function()->robust_logit(kappa, x)};
  }
  const Question& asked = question_of(answer);
  const auto set = make_set(epsilon == epsilon_ ? asked : asked.with_epsilon(epsilon));
  const std::unique_ptr<RobustFunction> function = set->function();
  double logit = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < function->parts(); ++k) {
    const Part& part = asked.parts()[static_cast<std::size_t>(k)];
    if (part.model == model_) logit = std::min(logit, function->value(k, x).logit);
  }
  return {.logit = logit, .penalty = logit - function->robust_logit(kappa, x)};
}

const Question& Appraiser::question_of(const Answer& answer) const {
  for (const Question& one : questions_) {
    const auto winner = static_cast<std::size_t>(one.front().winner);
    if (one.front().rival && model_->decision.classes[winner] == answer.target) return one;
  }
  return questions_.front();
}

Appraisal Appraiser::after(const Answer& answer) const {
  return {.logit = answer.logit, .penalty = answer.logit - answer.robust_logit};
}

bool Appraiser::has_probabilities() const {
  return model_->training.loss_kind == LossKind::logistic;
}

std::string Appraiser::scale_name() const {
  if (choice_.contest) {
    const std::vector<Index> acceptable = acceptable_classes(*model_, *choice_.contest);
    return fmt::format("lead of {} over the {}", class_text(*model_, acceptable),
                       acceptable.size() > 1 ? "others" : "other classes");
  }
  return (has_probabilities() ? "probability of " : "score for ") + favourable_answer(schema());
}

std::string Appraiser::display_score(double logit) const {
  return has_probabilities() ? display_percent(sigmoid(logit)) : rounded(logit, 3);
}

}  // namespace ellice

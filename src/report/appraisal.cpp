#include "ellice/report/appraisal.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/report/display.hpp"
#include "ellice/report/text_table.hpp"

namespace ellice {

Appraiser::Appraiser(const Model& model, double epsilon, double threshold, const SetChoice& set)
    : model_(&model), epsilon_(epsilon), threshold_(threshold), choice_(set) {
  require(std::isfinite(epsilon) && epsilon >= 0, "epsilon = {} must be finite and >= 0", epsilon);
  if (set.kind == SetKind::true_set && set.contest) {
    true_classes_ = true_softmax(model, training_rows(set, model), epsilon);
  } else if (set.kind == SetKind::true_set) {
    true_set_ = true_set(model, training_rows(set, model), epsilon);
  } else if (set.contest) {
    SetChoice one = set;
    for (const Index winner : acceptable_classes(model, *set.contest)) {
      one.contest->winner = winner;
      sets_.push_back(make_set(model, one));
    }
  } else {
    sets_.push_back(make_set(model, set));
  }
}

double Appraiser::epsilon_of(const Recourse& answer) const {
  return answer.certificate ? answer.certificate->epsilon : epsilon_;
}

Standing Appraiser::before(const Recourse& answer) const {
  const Vector x = model_->encoder.encode(answer.query);
  if (choice_.contest) return lead(answer, x);
  const double logit = model_->logit(x);
  if (true_set_) {
    const Vector features = with_one(model_->network.features(x));
    return {.logit = logit, .penalty = logit - true_set_->worst(features).lower_bound};
  }
  const std::unique_ptr<RobustFunction> function = sets_.front()->function();
  return {.logit = logit,
          .penalty = logit - function->robust_logit(std::sqrt(2 * epsilon_of(answer)), x)};
}

Standing Appraiser::lead(const Recourse& answer, const Vector& x) const {
  if (true_classes_) {
    const TrueSoftmax set = true_classes_->with_epsilon(epsilon_of(answer));
    const Vector features = with_one(model_->network.features(x));
    const Vector scores = set.center().transpose() * features;
    const Index winner = find_class(*model_, answer.target);
    double logit = std::numeric_limits<double>::infinity();
    double robust = logit;
    for (const Index rival : choice_.contest->rivals) {
      logit = std::min(logit, scores(winner) - scores(rival));
      robust = std::min(robust, set.worst(features, winner, rival).lower_bound);
    }
    return {.logit = logit, .penalty = logit - robust};
  }
  const std::vector<Index> acceptable = acceptable_classes(*model_, *choice_.contest);
  std::size_t place = 0;
  for (std::size_t k = 0; k < acceptable.size(); ++k) {
    if (model_->decision.classes[static_cast<std::size_t>(acceptable[k])] == answer.target)
      place = k;
  }
  const std::unique_ptr<RobustFunction> function = sets_[place]->function();
  const double logit = function->robust_logit(0, x);
  return {.logit = logit,
          .penalty = logit - function->robust_logit(std::sqrt(2 * epsilon_of(answer)), x)};
}

Standing Appraiser::after(const Recourse& answer) const {
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

AlignmentMeter::AlignmentMeter(const Model& model) : model_(&model) {
  if (!applies()) return;
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(model.curvature.hessian);
  require(solver.info() == Eigen::Success, "the Hessian's eigenvectors could not be computed");
  const Index count = std::min<Index>(3, model.curvature.hessian.rows());
  leading_ = solver.eigenvectors().rightCols(count).rowwise().reverse();
}

Alignment AlignmentMeter::of(const RawRow& from, const RawRow& to) const {
  const Network& network = model_->network;
  Vector move = Vector::Zero(leading_.rows());  // the bias coordinate never moves
  move.head(leading_.rows() - 1) =
      network.features(model_->encoder.encode(to)) - network.features(model_->encoder.encode(from));
  const double whole = move.squaredNorm();
  if (whole == 0) return {};
  const Vector parts = leading_.transpose() * move;
  return {.top_one = parts[0] * parts[0] / whole, .top_three = parts.squaredNorm() / whole};
}

double AlignmentMeter::by_chance(int k) const {
  return static_cast<double>(std::min<Index>(k, leading_.rows())) /
         static_cast<double>(leading_.rows());
}

}  // namespace ellice

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "sets/question.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

/// How the models judge one row.
struct Appraisal {
  double logit = 0;    // of the base model
  double penalty = 0;  // what the worst model of the set takes away
  [[nodiscard]] double robust_logit() const { return logit - penalty; }
};

/// Says how a model and its set judge the rows of answers; prepared once for a batch.
class Appraiser {
 public:
  /// The model and the set's members must outlive the appraiser. Throws Error{argument} unless
  /// 0 ≤ ε < ∞.
  Appraiser(const Model& model, double epsilon, double threshold, const SetChoice& set = {});

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const Schema& schema() const { return model_->schema(); }
  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] double threshold() const { return threshold_; }

  /// The ε that an answer is about: its certificate's, else the one that was asked for.
  [[nodiscard]] double epsilon_of(const Answer& answer) const;
  /// The query's standing; with many classes the lead of the answer's class over the best of those
  /// that it must beat. The answer must have a query.
  [[nodiscard]] Appraisal before(const Answer& answer) const;
  /// The counterfactual's standing, from the numbers that the answer carries.
  [[nodiscard]] Appraisal after(const Answer& answer) const;

  /// What a logit is called and how it is shown: as a probability for the logistic loss, which
  /// models one, as it is for others.
  [[nodiscard]] bool has_probabilities() const;
  [[nodiscard]] bool has_many_classes() const { return choice_.contest.has_value(); }
  [[nodiscard]] std::string scale_name() const;
  [[nodiscard]] std::string display_score(double logit) const;

 private:
  /// What an answer is about: with many classes, that its own class wins.
  [[nodiscard]] const Question& question_of(const Answer& answer) const;

  const Model* model_;
  double epsilon_;
  double threshold_;
  SetChoice choice_;
  std::vector<Question> questions_;  // one for each acceptable class
  std::unique_ptr<UncertaintySet> first_order_;
};

}  // namespace ellice

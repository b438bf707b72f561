#include "study/answer_evaluators.hpp"

#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"

namespace ellice {

namespace {

// What the published runs did to the ellipsoid.
constexpr double published_scale = 0.99;
constexpr double published_shift = 1e-6;

class TargetedEvaluator final : public Evaluator {
 public:
  TargetedEvaluator(EvaluatorSummary summary, const StressSource& source, Variant variant)
      : Evaluator(std::move(summary)), source_(source), options_{.variant = variant} {}

  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& execution) const override {
    WorstScores scores{.logits = Vector(points.rows()), .objectives = Vector(points.rows())};
    parallel_for(
        "targeted weights", static_cast<std::size_t>(points.rows()), execution, [&](std::size_t k) {
          const auto i = static_cast<Index>(k);
          const Vector x = points.row(i).transpose();
          // One model that rejects the answer is enough. The base itself is inside, ε
          // being positive, so that there is a model.
          const std::optional<StressModel> model =
              adversarial_against(source_, *summary().bound, x, options_, source_.threshold);
          scores.logits(i) = model->network.logit(x);
          scores.objectives(i) = model->objective;
        });
    return scores;
  }

 private:
  StressSource source_;
  StressOptions options_;
};

/// L(Θ) of heads on fixed hidden layers.
class WholeObjective {
 public:
  WholeObjective(const EvaluationSource& source, double base)
      : features_(source.model->network.row_features(source.fitted->encoded)),
        objective_({.features = &features_,
                    .labels = &source.fitted->labels,
                    .weights = &source.fitted->weights},
                   source.model->training.loss_kind, source.model->network.outputs(),
                   penalty_of(source.model->training)),
        hidden_(base - objective_.value(source.model->network.head())) {}
  WholeObjective(const WholeObjective&) = delete;
  WholeObjective& operator=(const WholeObjective&) = delete;

  [[nodiscard]] double value(VectorArg head) const { return objective_.value(head) + hidden_; }

 private:
  RowMatrix features_;
  HeadObjective objective_;
  double hidden_;  // the penalty of the hidden layers
};

class EllipsoidEvaluator final : public Evaluator {
 public:
  EllipsoidEvaluator(EvaluatorSummary summary, const EvaluationSource& source, double base,
                     Ellipsoid set)
      : Evaluator(std::move(summary)),
        network_(&source.model->network),
        set_(std::move(set)),
        objective_(source, base) {}

  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& execution) const override {
    const RowMatrix features = network_->row_features(points);
    WorstScores scores{.logits = robust_logits(set_, features, execution),
                       .objectives = Vector(points.rows())};
    parallel_for("ellipsoid", static_cast<std::size_t>(points.rows()), execution,
                 [&](std::size_t k) {
                   const auto i = static_cast<Index>(k);
                   scores.objectives(i) =
                       objective_.value(worst_model(set_, with_one(features.row(i).transpose())));
                 });
    return scores;
  }

 private:
  const Network* network_;
  Ellipsoid set_;
  WholeObjective objective_;
};

class TrueEvaluator final : public Evaluator {
 public:
  TrueEvaluator(EvaluatorSummary summary, const Network& network, TrueSet set)
      : Evaluator(std::move(summary)), network_(&network), set_(std::move(set)) {}

  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& execution) const override {
    const RowMatrix features = network_->row_features(points);
    WorstScores scores{.logits = Vector(points.rows()), .objectives = Vector(points.rows())};
    // L(Θ) and the head's own objective differ by the penalty of the hidden layers.
    const double hidden = *summary().bound - set_.level();
    parallel_for("true set", static_cast<std::size_t>(points.rows()), execution,
                 [&](std::size_t k) {
                   const auto i = static_cast<Index>(k);
                   const WorstHead found = set_.worst(with_one(features.row(i).transpose()));
                   scores.logits(i) = found.proved;
                   scores.objectives(i) = set_.objective(found.model) + hidden;
                 });
    return scores;
  }

 private:
  const Network* network_;
  TrueSet set_;
};

}  // namespace

EvaluatorPointer targeted_evaluator(const StressSource& source, double epsilon, double bound,
                                    Variant variant) {
  return std::make_shared<TargetedEvaluator>(EvaluatorSummary{.kind = EvaluatorKind::awp_targeted,
                                                              .epsilon = epsilon,
                                                              .bound = bound,
                                                              .is_per_answer = true},
                                             source, variant);
}

EvaluatorPointer ellipsoid_evaluator(const EvaluationSource& source, double base, double epsilon,
                                     Variant variant) {
  Ellipsoid set = last_layer_set(*source.model, epsilon);
  if (variant == Variant::published) {
    Matrix hessian = set.hessian();
    hessian.diagonal().array() += 2 * epsilon * published_shift;
    set = Ellipsoid(set.center(), std::move(hessian), published_scale * published_scale * epsilon);
  }
  return std::make_shared<EllipsoidEvaluator>(
      EvaluatorSummary{.kind = EvaluatorKind::ellipsoid, .epsilon = epsilon, .is_per_answer = true},
      source, base, std::move(set));
}

void append_true_sets(const EvaluationSource& source, double base,
                      const std::vector<double>& epsilons, std::vector<EvaluatorPointer>& result) {
  const Model& model = *source.model;
  const Penalty penalty = penalty_of(model.training);
  const LossKind loss = model.training.loss_kind;
  RowMatrix features = model.network.row_features(source.fitted->encoded);
  LabelledRows view = labelled(*source.fitted);
  view.features = &features;
  const HeadObjective objective(view, loss, model.network.outputs(), penalty);
  const double given = objective.value(model.network.head());
  Network refitted = model.network;
  refit_head(refitted, labelled(*source.fitted), loss, penalty);
  // Rounding may put the minimiser above a base that is one already.
  const bool is_lower = objective.value(refitted.head()) < given;
  const Vector minimiser = is_lower ? refitted.head() : model.network.head();
  const double excess = given - objective.value(minimiser);
  const TrueSet set(std::move(features), source.fitted->labels, loss, model.network.outputs(),
                    penalty, minimiser, epsilons.front() + excess, 1, source.fitted->weights);
  for (const double epsilon : epsilons) {
    result.push_back(
        std::make_shared<TrueEvaluator>(EvaluatorSummary{.kind = EvaluatorKind::true_set,
                                                         .epsilon = epsilon,
                                                         .bound = base + epsilon,
                                                         .is_per_answer = true},
                                        model.network, set.at(epsilon + excess)));
  }
}

}  // namespace ellice

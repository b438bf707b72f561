#include "study/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/folds.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/model/training.hpp"
#include "model/head_objective.hpp"
#include "study/answer_evaluators.hpp"

namespace ellice {

namespace {

// Streams of the seed.
constexpr std::uint64_t retrain_stream = 400;
constexpr std::uint64_t noise_stream = 401;
constexpr std::uint64_t bootstrap_stream = 402;
constexpr std::uint64_t shift_stream = 403;
// Streams of shift's.
constexpr std::uint64_t split_stream = 0;
constexpr std::uint64_t base_stream = 1;
constexpr std::uint64_t models_stream = 2;

// Points that are scored at a time, so that memory does not grow with their number.
constexpr Index point_block = 4096;

/// A set that was made once.
class SetEvaluator final : public Evaluator {
 public:
  SetEvaluator(EvaluatorSummary summary, StressSet set)
      : Evaluator(std::move(summary)), set_(std::move(set)) {}

  [[nodiscard]] const StressSet* models() const override { return &set_; }
  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& execution) const override {
    if (set_.models.empty()) return std::nullopt;
    WorstScores scores{.logits = Vector(points.rows())};
    for (Index first = 0; first < points.rows(); first += point_block) {
      const Index count = std::min(point_block, points.rows() - first);
      scores.logits.segment(first, count) =
          stress_logits(set_, points.middleRows(first, count), execution).rowwise().minCoeff();
    }
    return scores;
  }

 private:
  StressSet set_;
};

StressOptions stress_options(const EvaluatorOptions& options, int count) {
  return {.variant = options.variant, .count = count};
}

void check(const EvaluationSource& source, const EvaluatorOptions& options) {
  validate(options, "EvaluatorOptions");
  require(source.model != nullptr && source.fitted != nullptr,
          "an evaluator needs a model and the rows that it was fitted on");
  const Index outputs = source.model->network.layers.back().bias.size();
  require(outputs == 1,
          "the model has {} outputs: evaluators judge models with one, of kind logistic or mlp",
          outputs);
}

/// Makes the sets; keeps what several tolerances share.
class Factory {
 public:
  Factory(const EvaluationSource& source, const std::vector<double>& epsilons,
          const EvaluatorOptions& options, const Random& seeds, const Execution& execution)
      : source_(source),
        stress_(stress_source(source)),
        epsilons_(epsilons),
        options_(options),
        seeds_(seeds),
        execution_(execution),
        base_(base_objective(stress_)) {}

  void append(EvaluatorKind kind, std::vector<EvaluatorPointer>& result) const {
    switch (kind) {
      case EvaluatorKind::retrain:
        return append_retrained(result);
      case EvaluatorKind::dropout:
        for (const double epsilon : epsilons_) {
          result.push_back(evaluator_of(
              kind, epsilon,
              noise_set(stress_, base_ + epsilon, stress_options(options_, options_.dropout_models),
                        seeds_.split(noise_stream), execution_)));
        }
        return;
      case EvaluatorKind::awp:
        return append_adversarial(result);
      case EvaluatorKind::awp_targeted:
        for (const double epsilon : epsilons_) {
          result.push_back(targeted_evaluator(stress_, epsilon, base_ + epsilon, options_.variant));
        }
        return;
      case EvaluatorKind::ellipsoid:
        for (const double epsilon : epsilons_) {
          result.push_back(ellipsoid_evaluator(source_, base_, epsilon, options_.variant));
        }
        return;
      case EvaluatorKind::true_set:
        return append_true_sets(source_, base_, epsilons_, result);
      case EvaluatorKind::bootstrap:
        result.push_back(
            evaluator_of(kind, std::nullopt,
                         bootstrap_set(stress_, stress_options(options_, options_.bootstrap_models),
                                       seeds_.split(bootstrap_stream), execution_)));
        return;
      case EvaluatorKind::shift:
        return append_shifted(result);
    }
  }

 private:
  /// Trained once, for the largest tolerance.
  void append_retrained(std::vector<EvaluatorPointer>& result) const {
    const double largest = *std::max_element(epsilons_.begin(), epsilons_.end());
    const StressSet all =
        retrain_set(stress_, base_ + largest, stress_options(options_, options_.retrain_models),
                    seeds_.split(retrain_stream), execution_);
    append_filtered(EvaluatorKind::retrain, all, base_, result);
  }

  void append_adversarial(std::vector<EvaluatorPointer>& result) const {
    std::vector<double> bounds;
    for (const double epsilon : epsilons_) bounds.push_back(base_ + epsilon);
    std::vector<StressSet> sets = adversarial_sets(
        stress_, bounds, stress_options(options_, options_.awp_models), execution_);
    for (std::size_t k = 0; k < sets.size(); ++k)
      result.push_back(evaluator_of(EvaluatorKind::awp, epsilons_[k], std::move(sets[k])));
  }

  void append_filtered(EvaluatorKind kind, const StressSet& all, double base,
                       std::vector<EvaluatorPointer>& result) const {
    for (const double epsilon : epsilons_) {
      result.push_back(evaluator_of(kind, epsilon, within(all, base + epsilon)));
    }
  }

  void append_shifted(std::vector<EvaluatorPointer>& result) const {
    require(source_.other != nullptr && !source_.other->labels.empty(),
            "the evaluator shift needs rows that the model was not trained on");
    const StoredRows& other = *source_.other;
    const Random seeds = seeds_.split(shift_stream);
    StressSource shifted = stress_;
    StoredRows train = other;
    StoredRows validation;
    Network fitted = *stress_.base;
    shifted.base = &fitted;
    shifted.train = labelled(train);
    shifted.validation = {};
    if (fitted.is_linear()) {
      // A convex objective has one minimiser on these rows.
      refit_head(fitted, shifted.train, shifted.loss, shifted.penalty);
    } else if (source_.validation != nullptr) {
      const auto kept = static_cast<double>(source_.validation->labels.size());
      const double share = kept / (kept + static_cast<double>(source_.fitted->labels.size()));
      const Fold parts = stratified_split(other.labels, share, seeds.split(split_stream));
      train = rows_at(other, parts.train);
      validation = rows_at(other, parts.test);
      shifted.validation = labelled(validation);
    }
    const StressOptions wanted = stress_options(options_, options_.shift_models);
    if (options_.variant == Variant::corrected) {
      StressSet all = retrain_set(shifted, std::numeric_limits<double>::infinity(), wanted,
                                  seeds.split(models_stream), execution_);
      result.push_back(evaluator_of(EvaluatorKind::shift, std::nullopt, std::move(all)));
      return;
    }
    if (fitted.layers.size() > 1) {
      fitted = fit_network(shifted.train, shifted.validation, shifted.loss, shifted.penalty,
                           shifted.network, seeds.split(base_stream), fitted.groups)
                   .network;
    }
    const double base = base_objective(shifted);
    const double largest = *std::max_element(epsilons_.begin(), epsilons_.end());
    const StressSet all =
        retrain_set(shifted, base + largest, wanted, seeds.split(models_stream), execution_);
    append_filtered(EvaluatorKind::shift, all, base, result);
  }

  static StoredRows rows_at(const StoredRows& rows, const std::vector<Index>& indices) {
    StoredRows result{.encoded = rows.encoded(indices, Eigen::all)};
    for (const Index i : indices) result.labels.push_back(rows.labels[static_cast<std::size_t>(i)]);
    if (rows.weights.size() > 0) result.weights = rows.weights(indices);
    return result;
  }

  EvaluationSource source_;
  StressSource stress_;
  std::vector<double> epsilons_;
  EvaluatorOptions options_;
  Random seeds_;
  Execution execution_;
  double base_;
};

}  // namespace

StressSource stress_source(const EvaluationSource& source) {
  const Model& model = *source.model;
  return {
      .base = &model.network,
      .train = labelled(*source.fitted),
      .validation = source.validation != nullptr ? labelled(*source.validation) : LabelledRows{},
      .loss = model.training.loss_kind,
      .penalty = penalty_of(model.training),
      .network = model.training.network.value_or(NetworkOptions{}),
      .threshold = source.threshold};
}

double base_objective(const EvaluationSource& source) {
  check(source, {});
  return base_objective(stress_source(source));
}

std::vector<EvaluatorKind> parse_evaluators(const std::vector<std::string>& names) {
  const auto& known = EnumNames<EvaluatorKind>::names;
  std::vector<EvaluatorKind> kinds;
  for (const std::string& name : names) {
    const std::optional<EvaluatorKind> kind = enum_from_name<EvaluatorKind>(name);
    require(kind.has_value(), "there is no evaluator \"{}\"; {}", name,
            suggestion(name, {known.begin(), known.end()}));
    if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end()) kinds.push_back(*kind);
  }
  return kinds;
}

EvaluatorPointer evaluator_of(EvaluatorKind kind, std::optional<double> epsilon, StressSet models) {
  EvaluatorSummary summary{.kind = kind,
                           .epsilon = epsilon,
                           .models = models.models.size(),
                           .tried = models.tried,
                           .noise = models.noise};
  if (std::isfinite(models.bound)) summary.bound = models.bound;
  for (const StressModel& model : models.models) summary.objectives.push_back(model.objective);
  return std::make_shared<SetEvaluator>(std::move(summary), std::move(models));
}

std::vector<EvaluatorPointer> make_evaluators(const EvaluationSource& source,
                                              const std::vector<EvaluatorKind>& kinds,
                                              const std::vector<double>& epsilons,
                                              const EvaluatorOptions& options, const Random& seeds,
                                              const Execution& execution) {
  check(source, options);
  require(!epsilons.empty(), "evaluators need a target epsilon");
  for (const double epsilon : epsilons) {
    require(std::isfinite(epsilon) && epsilon > 0, "target epsilon = {} must be > 0", epsilon);
  }
  const Factory factory(source, epsilons, options, seeds, execution);
  std::vector<EvaluatorPointer> result;
  for (const EvaluatorKind kind : kinds) factory.append(kind, result);
  return result;
}

}  // namespace ellice

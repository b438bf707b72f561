#include "study/study_fold.hpp"

#include <algorithm>

#include "data/folds.hpp"
#include "data/recipe.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

namespace {

constexpr double l2 = 1e-3;                 // of the objective
constexpr double published_strength = 1e3;  // C of the authors' linear models: l2 = 1/(C·n)
constexpr double validation_share = 0.2;

// Streams of a study's seed.
constexpr std::uint64_t balancing_stream = 1;
constexpr std::uint64_t fold_stream = 2;
constexpr std::uint64_t inner_stream = 3;
constexpr std::uint64_t half_stream = 4;
constexpr std::uint64_t network_stream = 5;

std::vector<Query> declined(const Model& model, const Dataset& rows, std::optional<int> most) {
  std::vector<Query> queries;
  const Vector logits = model.network.logits(model.encoder.encode(rows.raw));
  for (Index i = 0; i < logits.size(); ++i) {
    if (most && std::cmp_greater_equal(queries.size(), *most)) break;
    if (logits(i) >= model.decision.threshold) continue;
    queries.push_back({.index = queries.size(), .raw = rows.raw.row(i).transpose()});
  }
  return queries;
}

StoredRows encoded(const Encoder& encoder, const Dataset& rows) {
  return {.encoded = encoder.encode(rows.raw), .labels = rows.labels};
}

TrainingOptions training_options(StudyModel kind, const std::string& dataset,
                                 const StudyPlan& plan) {
  TrainingOptions options{.l2 = l2};
  if (kind == StudyModel::mlp) {
    options.model = NetworkKind::mlp;
    options.network.hidden = plan.hidden.at(dataset);
    options.network.keep_best = plan.variant == Variant::corrected;
  }
  return options;
}

}  // namespace

EvaluationSource StudyFold::source() const {
  return {.model = &model,
          .fitted = &fitted,
          .validation = &validation,
          .other = other.labels.empty() ? nullptr : &other,
          .threshold = model.decision.threshold};
}

Dataset study_rows(const std::string& dataset, StudyMode mode, std::uint64_t seed) {
  Dataset data = load_recipe(dataset);
  // Answers anywhere in space treat every column as a number, as the paper does.
  if (mode == StudyMode::continuous) data = with_numeric_columns(data);
  data.schema.constraints.clear();
  for (Feature& feature : data.schema.features) feature.immutable = feature.is_protected;
  return select_rows(data, balanced_rows(data.labels, Random(seed).split(balancing_stream)));
}

StudyFold prepare_fold(const Dataset& rows, const std::string& dataset, StudyModel kind, int fold,
                       const StudyPlan& plan) {
  const Random random(plan.seed);
  const auto number = static_cast<std::uint64_t>(fold);
  const std::vector<Fold> folds =
      stratified_folds(rows.labels, plan.folds, random.split(fold_stream));
  const Fold& outer = folds.at(static_cast<std::size_t>(fold - 1));
  Dataset train = select_rows(rows, outer.train);
  Dataset test = select_rows(rows, outer.test);
  StudyFold result;
  std::optional<Dataset> other;
  if (plan.shift) {
    const Random halves = random.split(half_stream).split(number);
    const Fold half = stratified_split(train.labels, 0.5, halves.split(0));
    other = select_rows(train, half.test);
    train = select_rows(train, half.train);
    test = select_rows(test, stratified_split(test.labels, 0.5, halves.split(1)).train);
  }
  const Fold inner =
      stratified_split(train.labels, validation_share, random.split(inner_stream).split(number));
  const Dataset fitted = select_rows(train, inner.train);
  const Dataset validation = select_rows(train, inner.test);
  TrainingOptions options = training_options(kind, dataset, plan);
  const std::uint64_t seed = random.split(network_stream).split(number).bits();
  if (kind == StudyModel::linear && plan.variant == Variant::published) {
    options.l2 = 1 / (published_strength * static_cast<double>(fitted.rows()));
    options.penalize_bias = false;
  }
  result.model = train_on(fitted, kind == StudyModel::mlp ? &validation : nullptr, options, seed);
  if (kind == StudyModel::linear && plan.variant == Variant::published)
    result.model = with_penalty(result.model, encoded(result.model.encoder, fitted), {.l2 = l2});
  result.fitted = encoded(result.model.encoder, fitted);
  result.fitted_raw = fitted.raw;
  result.validation = encoded(result.model.encoder, validation);
  if (other) result.other = encoded(result.model.encoder, *other);
  result.tuning = declined(result.model, validation, plan.tuning_rows);
  result.test = declined(result.model, test, plan.test_rows);
  for (const std::string& target : plan.targets)
    result.targets.push_back(parse_epsilon_rule(target).resolve(result.model));
  return result;
}

}  // namespace ellice

#include "radius/survival_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "methods/automatic.hpp"
#include "radius/selection_effect.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/stress.hpp"

namespace ellice {

namespace {

// Streams of the seed.
constexpr std::uint64_t bootstrap_stream = 320;
constexpr std::uint64_t split_stream = 321;

/// Answers that are rows, in model space, with what is predicted of them.
struct Explained {
  RowMatrix points = {};
  std::vector<double> plain = {};      // without the selection effect
  std::vector<double> predicted = {};  // with it, where there is one
  std::optional<Interval> interval = {};
};

Explained explain(Problem problem, double epsilon, const std::vector<Query>& queries,
                  const Execution& execution) {
  problem.epsilon = epsilon;
  const Model& model = *problem.model;
  std::vector<Answer> answers =
      automatic_generator(problem, nullptr, execution)->generate(queries, execution);
  state_fresh_survival(problem, queries, answers, disturbed_generator, execution, ShiftFor::mean);
  Explained result{.interval = mean_survival(answers).interval};
  const RetrainedHead retrained(model, problem.fitted);
  std::vector<Vector> points;
  for (const Answer& answer : answers) {
    if (!is_certified(answer.status) || !answer.predicted_survival) continue;
    points.push_back(model.encoder.encode(*answer.counterfactual));
    result.predicted.push_back(*answer.predicted_survival);
    result.plain.push_back(*answer.predicted_survival);
    if (!problem.retraining.fresh_rows) continue;
    const Vector x = with_one(points.back());
    const double margin = model.network.head().dot(x) - problem.threshold;
    const std::optional<Survival> plain =
        retrained.fresh(x, margin, {}, *problem.retraining.fresh_rows);
    if (plain) result.plain.back() = plain->mean;
  }
  result.points.resize(static_cast<Index>(points.size()), model.encoder.columns());
  for (std::size_t i = 0; i < points.size(); ++i)
    result.points.row(static_cast<Index>(i)) = points[i];
  return result;
}

double mean(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size())).mean();
}

/// Mean and its standard error.
void summarise(const std::vector<double>& shares, SurvivalLevel& level) {
  const Eigen::Map<const Vector> values(shares.data(), static_cast<Index>(shares.size()));
  level.measured = values.mean();
  const auto count = static_cast<double>(shares.size());
  level.standard_error =
      count < 2
          ? 0
          : std::sqrt((values.array() - level.measured).square().sum() / (count * (count - 1)));
}

/// By the rule that `--epsilon survival:Q` follows; nothing where no ε reaches the survival.
std::optional<double> epsilon_for(const Problem& problem, const std::vector<Query>& people,
                                  double survival) {
  if (people.empty() || survival <= 0.5)
    return survival_epsilon(*problem.model, survival, problem.retraining);
  try {
    return survival_epsilon_for(problem, people, survival);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::input) throw;
    return std::nullopt;
  }
}

std::vector<SurvivalLevel> check_same(const Problem& problem, const FittedRows& fitted,
                                      const std::vector<double>& wanted,
                                      const SurvivalCheckOptions& options, const Random& random,
                                      const Execution& execution) {
  const Model& model = *problem.model;
  const std::vector<Query> queries = declined_rows(problem, *fitted.raw, options.people);
  const StressSource source{.base = &model.network,
                            .train = labelled(*fitted.rows),
                            .loss = model.training.loss_kind,
                            .penalty = penalty_of(model.training),
                            .threshold = problem.threshold};
  const StressSet models =
      bootstrap_set(source, {.count = options.refits}, random.split(bootstrap_stream), execution);
  Problem same = problem;
  same.retraining = {};
  same.fitted = fitted.rows;
  std::vector<SurvivalLevel> levels;
  for (const double survival : wanted) {
    const std::optional<double> epsilon = epsilon_for(same, queries, survival);
    if (!epsilon) continue;
    SurvivalLevel level{.wanted = survival, .epsilon = *epsilon};
    const Explained answers = explain(same, level.epsilon, queries, {.threads = execution.threads});
    if (answers.predicted.empty()) continue;  // beyond the largest ε with an answer
    const Matrix logits = stress_logits(models, answers.points);
    std::vector<double> shares;
    for (Index k = 0; k < logits.cols(); ++k) {
      shares.push_back((logits.col(k).array() >= problem.threshold).cast<double>().mean());
    }
    level.trials = static_cast<std::size_t>(logits.size());
    level.predicted = mean(answers.predicted);
    summarise(shares, level);
    levels.push_back(level);
  }
  return levels;
}

/// Some of the rows.
struct Half {
  RowMatrix raw = {};
  StoredRows rows = {};
};

/// Two halves at random, not by class: shares of classes that vary with the rows are part of what
/// retraining does.
std::array<Half, 2> cut(const FittedRows& fitted, Random random) {
  std::vector<Index> order(fitted.rows->labels.size());
  std::iota(order.begin(), order.end(), Index{0});
  random.shuffle(order);
  std::array<std::vector<Index>, 2> indices;
  for (std::size_t i = 0; i < order.size(); ++i) indices[i % 2].push_back(order[i]);
  std::array<Half, 2> halves;
  for (const std::size_t side : {0U, 1U}) {
    halves[side] = {.raw = (*fitted.raw)(indices[side], Eigen::all),
                    .rows = {.encoded = fitted.rows->encoded(indices[side], Eigen::all)}};
    for (const Index i : indices[side]) {
      halves[side].rows.labels.push_back(fitted.rows->labels[static_cast<std::size_t>(i)]);
    }
  }
  return halves;
}

/// The model as it would be with these rows alone; columns stay scaled as they are.
Model fitted_on(const Model& model, const StoredRows& rows) {
  Model result = model;
  result.rows.reset();
  result.training.rows = rows.encoded.rows();
  return refit_model(result, rows);
}

/// What one direction of one split says at one level.
struct HalfResult {
  double epsilon = 0;
  std::size_t trials = 0;
  double predicted = 0;
  std::optional<double> corrected = {};
  std::optional<Interval> interval = {};
  double measured = 0;
};

std::vector<SurvivalLevel> check_fresh(const Problem& problem, const FittedRows& fitted,
                                       const std::vector<double>& wanted,
                                       const SurvivalCheckOptions& options, const Random& random,
                                       const Execution& execution) {
  const auto splits = static_cast<std::size_t>(options.splits);
  std::vector<std::vector<std::vector<HalfResult>>> results(splits);  // split, level, direction
  parallel_for("retraining on halves", splits, execution, [&](std::size_t split) {
    const Random stream = random.split(split_stream).split(split);
    const std::array<Half, 2> halves = cut(fitted, stream.split(0));
    const std::array<Model, 2> models = {fitted_on(*problem.model, halves[0].rows),
                                         fitted_on(*problem.model, halves[1].rows)};
    results[split].resize(wanted.size());
    for (const std::size_t side : {0U, 1U}) {
      Problem half = problem;
      half.model = &models[side];
      half.retraining = {.fresh_rows = models[1 - side].training.rows};
      half.fitted = &halves[side].rows;
      const std::vector<Query> queries = declined_rows(half, halves[side].raw, options.people);
      for (std::size_t l = 0; l < wanted.size(); ++l) {
        const std::optional<double> epsilon = epsilon_for(half, queries, wanted[l]);
        if (!epsilon) continue;
        HalfResult found{.epsilon = *epsilon};
        const Explained answers = explain(half, found.epsilon, queries, {});
        if (answers.predicted.empty()) continue;
        found.trials = answers.predicted.size();
        found.predicted = mean(answers.plain);
        found.corrected = mean(answers.predicted);
        found.interval = answers.interval;
        const Vector logits = models[1 - side].network.logits(answers.points);
        found.measured = (logits.array() >= problem.threshold).cast<double>().mean();
        results[split][l].push_back(found);
      }
    }
  });
  std::vector<SurvivalLevel> levels;
  for (std::size_t l = 0; l < wanted.size(); ++l) {
    SurvivalLevel level{.wanted = wanted[l]};
    std::vector<double> epsilons, predicted, corrected, low, high, shares;
    for (const auto& split : results) {
      if (split[l].empty()) continue;
      double share = 0;
      for (const HalfResult& found : split[l]) {
        level.trials += found.trials;
        epsilons.push_back(found.epsilon);
        predicted.push_back(found.predicted);
        if (found.corrected) corrected.push_back(*found.corrected);
        if (found.interval) low.push_back(found.interval->low);
        if (found.interval) high.push_back(found.interval->high);
        share += found.measured / static_cast<double>(split[l].size());
      }
      shares.push_back(share);  // the two directions of a split share their models
    }
    if (shares.empty()) continue;
    level.epsilon = mean(epsilons);
    level.predicted = mean(predicted);
    if (!corrected.empty()) level.corrected = mean(corrected);
    if (!low.empty()) level.interval = Interval{.low = mean(low), .high = mean(high)};
    summarise(shares, level);
    levels.push_back(level);
  }
  return levels;
}

}  // namespace

std::vector<Query> declined_rows(const Problem& problem, const RowMatrix& raw, int most) {
  std::vector<Query> queries;
  const Vector logits = problem.model->network.logits(problem.model->encoder.encode(raw));
  for (Index i = 0; i < logits.size() && std::cmp_less(queries.size(), most); ++i) {
    if (logits(i) >= problem.threshold) continue;
    queries.push_back({.index = queries.size(), .raw = raw.row(i).transpose()});
  }
  return queries;
}

SurvivalCheck check_survival(const Problem& problem, const FittedRows& fitted,
                             const std::vector<double>& wanted, const SurvivalCheckOptions& options,
                             const Random& random, const Execution& execution) {
  validate(problem);
  validate(options, "SurvivalCheckOptions");
  require(problem.model->network.is_linear(),
          "survival is checked for linear models, which can be retrained to their optimum; for a "
          "network `ellice calibrate` measures it");
  const std::string reason = no_survival_reason(*problem.model, problem.set);
  require(reason.empty(), "{}", reason);
  require_input(fitted.rows->encoded.cols() == problem.model->encoder.columns() &&
                    fitted.raw->rows() == fitted.rows->encoded.rows(),
                "the rows are not those of the model: {} columns, expected {}",
                fitted.rows->encoded.cols(), problem.model->encoder.columns());
  return {.same = check_same(problem, fitted, wanted, options, random, execution),
          .fresh = check_fresh(problem, fitted, wanted, options, random, execution)};
}

}  // namespace ellice

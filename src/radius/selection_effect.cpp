#include "radius/selection_effect.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"
#include "methods/automatic.hpp"
#include "search/exact_search.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

namespace {

// Fewer parameters per row than this, and the effect is lost in the noise.
constexpr double large_share_of_parameters = 0.03;
constexpr int shift_draws = 16;
// Of the draws: the same for every run, so that answers do not depend on its seed.
constexpr std::uint64_t shift_seed = 322;
// Share of a draw of V by which a model is disturbed: small enough for a derivative, large enough
// for answers on grids to move.
constexpr double disturbance = 0.25;
// How near the mean survival comes to what is asked for, and in how many trials.
constexpr double survival_tolerance = 2e-3;
constexpr int most_trials = 10;

// Parts of a search for whole numbers and levels, for people and for disturbed models.
constexpr int sketch_nodes = 300;
constexpr int disturbed_nodes = 30;
// Trials that the secant's method usually takes.
constexpr int expected_trials = 4;
constexpr std::size_t draw_groups = 4;

/// Whether answers take a search among whole numbers, levels or grid values.
bool is_discrete(const Schema& schema) {
  return std::any_of(schema.features.begin(), schema.features.end(), [](const Feature& feature) {
    return !feature.immutable && (feature.kind != FeatureKind::numeric || feature.step);
  });
}

/// selection_shift() where query i sees every `groups`th draw only, beginning with i's own.
Vector grouped_shift(const Problem& problem, const std::vector<Query>& queries, int draws,
                     std::size_t groups, const Random& random, const MakeGenerator& make,
                     const Execution& execution, const ProgressState& begun) {
  const Matrix factor = RetrainedHead(*problem.model).covariance_factor();
  const Encoder& encoder = problem.model->encoder;
  Vector sum = Vector::Zero(static_cast<Index>(queries.size()));
  Vector count = sum;
  const Execution inner{.threads = execution.threads};
  for (int k = 0; k < draws; ++k) {
    report_progress(execution.progress,
                    {begun.stage, begun.done + static_cast<std::size_t>(k), begun.total});
    const Vector u =
        factor * random.split(static_cast<std::uint64_t>(k)).normal_vector(factor.cols());
    std::vector<std::size_t> chosen;
    std::vector<Query> some;
    for (std::size_t i = static_cast<std::size_t>(k) % groups; i < queries.size(); i += groups) {
      chosen.push_back(i);
      some.push_back(queries[i]);
    }
    std::array<std::vector<std::optional<RawRow>>, 2> moved;
    for (const std::size_t side : {0U, 1U}) {
      Model model = *problem.model;
      model.network.set_head(model.network.head() + (side == 0 ? disturbance : -disturbance) * u);
      Problem disturbed = problem;
      disturbed.model = &model;
      // A disturbed model is no minimum, and to second order the true set is the ellipsoid.
      disturbed.set = second_order(disturbed.set);
      for (const Answer& answer : make(disturbed)->generate(some, inner)) {
        if (answer.plan == 0) moved[side].push_back(answer.counterfactual);
      }
    }
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      if (!moved[0][c] || !moved[1][c]) continue;
      const auto i = static_cast<Index>(chosen[c]);
      const Vector step = encoder.encode(*moved[0][c]) - encoder.encode(*moved[1][c]);
      sum(i) += u.head(step.size()).dot(step) / (2 * disturbance);
      count(i) += 1;
    }
  }
  return sum.cwiseQuotient(count.cwiseMax(1.0));
}

void correct(const Problem& problem, const std::vector<Query>& queries,
             std::vector<Answer>& answers, const MakeGenerator& make, const Execution& execution,
             ShiftFor wanted, const ProgressState& begun) {
  if (!has_selection_effect(problem) || queries.empty()) return;
  const bool shares = wanted == ShiftFor::mean && is_discrete(problem.model->schema()) &&
                      queries.size() >= draw_groups * draw_groups;
  const Vector shifts = grouped_shift(problem, queries, shift_draws, shares ? draw_groups : 1,
                                      Random(shift_seed), make, execution, begun);
  const RetrainedHead retrained(*problem.model);
  Index query = -1;
  for (Answer& answer : answers) {
    if (answer.plan == 0) ++query;
    if (!answer.predicted_survival) continue;
    answer.predicted_survival.reset();
    if (answer.plan > 0) continue;
    // Who is robust already keeps the row that he has, whatever the model: nothing was selected.
    const double shift = answer.status == Status::already_robust ? 0 : shifts(query);
    const Vector x = with_one(problem.model->encoder.encode(*answer.counterfactual));
    const double margin = problem.model->network.head().dot(x) - problem.threshold;
    answer.selection_shift = shift;
    answer.predicted_survival = retrained.survival(x, margin, shift, problem.retraining);
  }
}

/// Of these people's answers at an ε, the selection effect included.
MeanSurvival survival_at(Problem problem, const std::vector<Query>& people, double epsilon,
                         const Execution& execution, const ProgressState& begun) {
  problem.epsilon = epsilon;
  std::vector<Answer> answers =
      sketching_generator(problem, sketch_nodes)->generate(people, {.threads = execution.threads});
  correct(problem, people, answers, disturbed_generator, execution, ShiftFor::mean, begun);
  return mean_survival(answers);
}

}  // namespace

MeanSurvival mean_survival(const std::vector<Answer>& answers) {
  MeanSurvival result;
  for (const Answer& answer : answers) {
    if (!is_certified(answer.status) || !answer.predicted_survival) continue;
    ++result.answered;
    result.mean += *answer.predicted_survival;
  }
  if (result.answered > 0) result.mean /= static_cast<double>(result.answered);
  return result;
}

bool has_selection_effect(const Problem& problem) {
  const Model& model = *problem.model;
  if (model.network.layers.size() != 1 || !problem.retraining.fresh_rows) return false;
  if (!no_survival_reason(model, problem.set).empty()) return false;
  return static_cast<double>(model.curvature.hessian.rows()) >
         large_share_of_parameters * static_cast<double>(model.training.rows);
}

std::unique_ptr<Generator> sketching_generator(const Problem& problem, int nodes,
                                               const StoredRows* rows, const Execution& execution) {
  const bool is_sketched = why_not_exact(problem).empty() &&
                           problem.set.kind == SetKind::last_layer && !problem.set.contest;
  if (!is_sketched) return automatic_generator(problem, rows, execution);
  return std::make_unique<ExactSearch>(problem, ExactOptions{.node_limit = nodes});
}

std::unique_ptr<Generator> disturbed_generator(const Problem& problem) {
  return sketching_generator(problem, disturbed_nodes);
}

Vector selection_shift(const Problem& problem, const std::vector<Query>& queries, int draws,
                       const Random& random, const MakeGenerator& make,
                       const Execution& execution) {
  return grouped_shift(problem, queries, draws, 1, random, make, execution,
                       {.stage = "disturbing", .total = static_cast<std::size_t>(draws)});
}

void correct_for_selection(const Problem& problem, const std::vector<Query>& queries,
                           std::vector<Answer>& answers, const MakeGenerator& make,
                           const Execution& execution, ShiftFor wanted) {
  correct(problem, queries, answers, make, execution, wanted,
          {.stage = "disturbing", .total = static_cast<std::size_t>(shift_draws)});
}

double selected_survival_epsilon(const Problem& given, const std::vector<Query>& people,
                                 double survival, const Execution& execution) {
  Problem problem = given;
  problem.set = second_order(problem.set);  // whose answers cost less
  require(survival > 0.5 && survival < 1,
          "a survival of {} needs no epsilon; ask for one above 0.5 and below 1", survival);
  require_input(!people.empty(), "the model declines nobody among its training rows");
  // Of one answer z = (√(2ε)·‖x̃‖ − shift)/deviation is linear in √ε, and nearly so is the quantile
  // of the mean: the secant's method, from the ε and the slope that ignore the effect.
  const double wanted = normal_quantile(survival);
  double root = std::sqrt(survival_epsilon(*problem.model, survival, problem.retraining));
  double slope = wanted / root;
  double best = 0;  // survival that was reached
  double before = 0;
  double score_before = 0;
  for (int trial = 0; trial < most_trials; ++trial) {
    const int trials = std::max(expected_trials, trial + 1);
    const MeanSurvival now = survival_at(problem, people, root * root, execution,
                                         {.stage = "choosing epsilon",
                                          .done = static_cast<std::size_t>(trial * shift_draws),
                                          .total = static_cast<std::size_t>(trials * shift_draws)});
    require_input(2 * now.answered >= people.size(),
                  "no epsilon gives answers a survival of {:.1f} % for fresh rows: at epsilon = "
                  "{:.3g} half of the people have none, and {:.1f} % was the best before; ask for "
                  "less, or train on more rows",
                  100 * survival, root * root, 100 * best);
    best = std::max(best, now.mean);
    if (std::abs(now.mean - survival) <= survival_tolerance) break;
    const double score = normal_quantile(std::clamp(now.mean, 1e-6, 1 - 1e-6));
    const double secant = (score - score_before) / (root - before);
    if (trial > 0 && secant > 0) slope = secant;
    before = root;
    score_before = score;
    root = std::clamp(root + (wanted - score) / slope, 0.5 * before, 2 * before);
  }
  report_progress(execution.progress, {"choosing epsilon", 1, 1});
  return root * root;
}

double resolve_epsilon(const EpsilonRule& rule, const Problem& problem,
                       const std::vector<Query>& people, const EpsilonContext& context) {
  const std::optional<double> survival = rule.asked_survival(*problem.model, problem.set);
  if (!survival || *survival <= 0.5 || !has_selection_effect(problem)) {
    return rule.resolve(*problem.model, problem.set, context);
  }
  require(!people.empty(),
          "`epsilon: {}` with `retrain: {}`: with {} parameters for {} rows answers follow the "
          "errors of their model, which is estimated from the training rows: give `rows`, or train "
          "with `store_rows`",
          rule.text, problem.retraining.text(), problem.model->curvature.hessian.rows(),
          problem.model->training.rows);
  return selected_survival_epsilon(problem, people, *survival, context.execution);
}

}  // namespace ellice

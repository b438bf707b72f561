#include "radius/selection_effect.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/normal.hpp"
#include "core/progress.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "methods/automatic.hpp"
#include "request/cost_prices.hpp"
#include "search/exact_search.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/selection_shift.hpp"

namespace ellice {

namespace {

constexpr int shift_draws = 16;
// Of the draws: the same for every run, so that answers do not depend on its seed.
constexpr std::uint64_t shift_seed = 322;
// Share of a draw of V by which a model is disturbed: small enough for a derivative, and large
// enough for answers on grids to move.
constexpr double disturbance = 0.25;
constexpr double grid_disturbance = 1;
// How near the mean survival comes to what is asked for, and in how many trials.
constexpr double survival_tolerance = 2e-3;
constexpr int most_trials = 10;

// Parts of a search for whole numbers and levels, for people and for disturbed models.
constexpr int sketch_nodes = 300;
constexpr int disturbed_nodes = 30;
// Trials that the secant's method usually takes.
constexpr int expected_trials = 4;
constexpr int draw_groups = 4;

/// Whether answers take a search among whole numbers, levels, grid values or lists.
bool is_discrete(const Schema& schema) {
  return std::any_of(schema.features.begin(), schema.features.end(), [](const Feature& feature) {
    return !feature.immutable &&
           (feature.kind != FeatureKind::numeric || feature.step || !feature.allowed.empty());
  });
}

/// x̃/‖x̃‖ in the metric of an estimate: acceptance does not depend on the length.
Vector unit(const RetrainedHead& retrained, const Vector& x, Sampling::Estimate estimate) {
  const double length = retrained.deviation(x, estimate);
  return length > 0 ? Vector(x / length) : Vector::Zero(x.size());
}

/// The answer as the nearest point of a box, if that may be what it is.
std::optional<StationaryPoint> nearest_point(const Problem& problem, const FeasibleSet& feasible,
                                             const Vector& point) {
  const Encoder& encoder = problem.model->encoder;
  if (is_discrete(encoder.schema()) || problem.cost.sparsity_weight != 0) return std::nullopt;
  const Vector weights = column_weights(encoder);
  const CostPrices prices = prices_of(problem.cost.kind);
  StationaryPoint result{
      .query = feasible.query(),
      .point = point,
      .squares = prices.squares ? Vector(2 * weights) : Vector::Zero(weights.size()),
      .absolutes = prices.absolutes ? weights : Vector::Zero(weights.size())};
  constexpr double rounding = 1e-9;
  for (const Box& box : feasible.boxes()) {
    const Vector below = point - box.lower;
    const Vector above = box.upper - point;
    if (below.minCoeff() < -rounding || above.minCoeff() < -rounding) continue;
    for (Index i = 0; i < point.size(); ++i) {
      const bool at_bound = std::min(below(i), above(i)) <= rounding * (1 + std::abs(point(i)));
      const bool at_kink = result.absolutes(i) > 0 && point(i) == feasible.query()(i);
      if (!at_bound && !at_kink) result.free.push_back(i);
    }
    return result;
  }
  return std::nullopt;
}

/// Predicts for one answer.
class FreshSurvival {
 public:
  FreshSurvival(const Problem& problem, ShiftFor wanted)
      : problem_(&problem),
        retrained_(*problem.model, problem.fitted),
        draws_(wanted == ShiftFor::mean ? shift_draws / draw_groups : shift_draws) {}

  [[nodiscard]] std::optional<Survival> of(const Query& query, const Answer& answer,
                                           const MakeGenerator& make) const {
    const Model& model = *problem_->model;
    const Vector head = model.network.head();
    const Vector point = model.encoder.encode(*answer.counterfactual);
    const double margin = head.dot(with_one(point)) - problem_->threshold;
    if (margin < 0) return std::nullopt;
    const std::optional<SelectionShifts> shifts = shifts_of(query, answer, head, point, make);
    if (!shifts) return std::nullopt;
    return retrained_.fresh(with_one(point), margin, *shifts, *problem_->retraining.fresh_rows);
  }

 private:
  [[nodiscard]] std::optional<SelectionShifts> shifts_of(const Query& query, const Answer& answer,
                                                         const Vector& head, const Vector& point,
                                                         const MakeGenerator& make) const {
    const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                               query.raw, problem_->display_steps);
    // Who is robust already keeps the row that he has, whatever the model.
    if (answer.status == Status::already_robust)
      return retrained_.person_shift(head.dot(with_one(feasible.query())));
    if (answer.status != Status::reduced) {
      if (const auto nearest = nearest_point(*problem_, feasible, point)) {
        if (const auto found = selection_shifts(retrained_, head, *nearest, problem_->threshold))
          return found;
      }
    }
    const int first =
        draws_ == shift_draws ? 0 : static_cast<int>(query.index % draw_groups) * draws_;
    return drawn_shifts(*problem_, retrained_, query, point, first, draws_, make);
  }

  const Problem* problem_;
  RetrainedHead retrained_;
  int draws_;
};

void state(const Problem& problem, const std::vector<Query>& queries, std::vector<Answer>& answers,
           const MakeGenerator& make, const Execution& execution, ShiftFor wanted,
           std::string_view stage) {
  if (!has_selection_effect(problem) || queries.empty()) return;
  const FreshSurvival survival(problem, wanted);
  std::vector<Answer*> first;  // plan of each query
  for (Answer& answer : answers) {
    if (answer.plan == 0) first.push_back(&answer);
  }
  parallel_for(stage, first.size(), execution, [&](std::size_t i) {
    if (first[i]->counterfactual)
      state_survival(*first[i], survival.of(queries[i], *first[i], make));
  });
}

/// Of these people's answers at an ε.
MeanSurvival survival_at(Problem problem, const std::vector<Query>& people, double epsilon,
                         const Execution& execution) {
  problem.epsilon = epsilon;
  const Execution silent{.threads = execution.threads};
  std::vector<Answer> answers =
      sketching_generator(problem, sketch_nodes)->generate(people, silent);
  state(problem, people, answers, disturbed_generator, silent, ShiftFor::mean, "disturbing");
  return mean_survival(answers);
}

}  // namespace

std::optional<SelectionShifts> drawn_shifts(const Problem& problem, const RetrainedHead& retrained,
                                            const Query& query, VectorArg answer, int first,
                                            int draws, const MakeGenerator& make) {
  const Encoder& encoder = problem.model->encoder;
  const Vector start = with_one(encoder.encode(
      encoder.values({query.raw.data(), static_cast<std::size_t>(query.raw.size())})));
  const Vector x = with_one(answer);
  const RetrainedHead::Draws& factors = retrained.draws();
  const double step = is_discrete(encoder.schema()) ? grid_disturbance : disturbance;
  SelectionShifts sum = {};
  int answered = 0;
  for (int k = first; k < first + draws; ++k) {
    check_stop();
    const Vector normal = Random(shift_seed)
                              .split(static_cast<std::uint64_t>(k))
                              .normal_vector(factors.factor.cols());
    Vector error = factors.factor * normal;
    error(error.size() - 1) -= error.dot(start);  // he keeps his own logit
    std::array<std::optional<RawRow>, 2> moved;
    for (const std::size_t side : {0U, 1U}) {
      Model model = *problem.model;
      model.network.set_head(model.network.head() + (side == 0 ? step : -step) * error);
      model.curvature.sampling.reset();  // nobody asks about its survival
      model.rows.reset();
      Problem disturbed = problem;
      disturbed.model = &model;
      disturbed.fitted = nullptr;
      // A disturbed model is no minimum, and to second order the true set is the ellipsoid.
      disturbed.set = second_order(disturbed.set);
      for (const Answer& other : make(disturbed)->generate({query}, {})) {
        if (other.plan == 0) moved[side] = other.counterfactual;
      }
    }
    if (!moved[0] || !moved[1]) continue;
    ++answered;
    const Vector up = with_one(encoder.encode(*moved[0]));
    const Vector down = with_one(encoder.encode(*moved[1]));
    for (const Sampling::Estimate e : {Sampling::bold, Sampling::middle, Sampling::cautious}) {
      const Vector turn = unit(retrained, up, e) - unit(retrained, down, e);
      sum[e] += (factors.twins[e] * normal).dot(turn) / (2 * step);
    }
  }
  if (2 * answered < draws) return std::nullopt;
  SelectionShifts shifts = retrained.person_shift(problem.model->network.head().dot(start));
  for (const Sampling::Estimate e : {Sampling::bold, Sampling::middle, Sampling::cautious})
    shifts[e] += sum[e] / answered * retrained.deviation(x, e);
  return shifts;
}

MeanSurvival mean_survival(const std::vector<Answer>& answers) {
  MeanSurvival result;
  for (const Answer& answer : answers) {
    if (!is_certified(answer.status) || !answer.predicted_survival) continue;
    ++result.answered;
    result.mean += *answer.predicted_survival;
    if (!answer.survival_interval) continue;
    if (!result.interval) result.interval.emplace();
    result.interval->low += answer.survival_interval->low;
    result.interval->high += answer.survival_interval->high;
  }
  if (result.answered == 0) return result;
  const auto count = static_cast<double>(result.answered);
  result.mean /= count;
  if (result.interval)
    result.interval =
        Interval{.low = result.interval->low / count, .high = result.interval->high / count};
  return result;
}

bool has_selection_effect(const Problem& problem) {
  return problem.retraining.fresh_rows && no_survival_reason(problem).empty();
}

std::unique_ptr<Generator> sketching_generator(const Problem& problem, int nodes,
                                               const StoredRows* rows, const Execution& execution) {
  const bool is_sketched = why_not_exact(problem).empty() &&
                           problem.set.kind == SetKind::last_layer && !problem.set.contest;
  if (!is_sketched) return automatic_generator(problem, rows, execution);
  return std::make_unique<ExactSearch>(problem, ExactOptions{.node_limit = nodes},
                                       NoAnswer::stated);
}

std::unique_ptr<Generator> disturbed_generator(const Problem& problem) {
  return sketching_generator(problem, disturbed_nodes);
}

void state_fresh_survival(const Problem& problem, const std::vector<Query>& queries,
                          std::vector<Answer>& answers, const MakeGenerator& make,
                          const Execution& execution, ShiftFor wanted) {
  state(problem, queries, answers, make, execution, wanted, "disturbing");
}

double survival_epsilon_for(const Problem& given, const std::vector<Query>& people, double survival,
                            const Execution& execution) {
  Problem problem = given;
  problem.set = second_order(problem.set);  // whose answers cost less
  require(survival > 0.5 && survival < 1,
          "a survival of {} needs no epsilon; ask for one above 0.5 and below 1", survival);
  require_input(!people.empty(), "the model declines nobody among its training rows");
  // Of one answer z = (√(2ε)·‖x̃‖ − shift)/deviation is linear in √ε, and nearly so is the quantile
  // of the mean: the secant's method, from the ε and the slope of a model that holds.
  const double wanted = normal_quantile(survival);
  double root = std::sqrt(survival_epsilon(*problem.model, survival, problem.retraining));
  double slope = wanted / root;
  double best = 0;  // survival that was reached
  double before = 0;
  double score_before = 0;
  for (int trial = 0; trial < most_trials; ++trial) {
    check_stop();
    report_progress(execution.progress,
                    {"choosing epsilon", static_cast<std::size_t>(trial),
                     static_cast<std::size_t>(std::max(expected_trials, trial + 1))});
    const MeanSurvival now = survival_at(problem, people, root * root, execution);
    require_input(
        2 * now.answered >= people.size(),
        "no epsilon gives answers a survival of {:.1f} % for {}: at epsilon = {:.3g} half "
        "of the people have none, and {:.1f} % was the best before; ask for less, or "
        "train on more rows",
        100 * survival, problem.retraining.fresh_rows ? "fresh rows" : "rows drawn again",
        root * root, 100 * best);
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
  if (!survival || *survival <= 0.5 || !no_survival_reason(*problem.model, problem.set).empty() ||
      problem.model->network.layers.size() > 1) {
    return rule.resolve(*problem.model, problem.set, context);
  }
  if (!people.empty()) {
    return beyond_deployed(*problem.model,
                           survival_epsilon_for(problem, people, *survival, context.execution));
  }
  require(!problem.retraining.fresh_rows,
          "`epsilon: {}` with `retrain: {}`: answers follow the errors of their model, by how much "
          "is seen on people among the training rows: give `rows`, or train with `store_rows`",
          rule.text, problem.retraining.text());
  return rule.resolve(*problem.model, problem.set, context);
}

}  // namespace ellice

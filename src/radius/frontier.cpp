#include "radius/frontier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "methods/automatic.hpp"
#include "search/infeasibility.hpp"
#include "search/linear_question.hpp"
#include "search/number_search.hpp"

namespace ellice {

namespace {

// A largest ε counts as proved if it is shown that so much more has no answer, relatively.
constexpr double limit_tolerance = 2e-3;

/// Whether it is proved that nothing the query may become is robust at ε. `problem` is one for
/// which that is so, with a larger ε.
bool is_unreachable(const Query& query, double epsilon, const Problem& problem) {
  const LinearQuestion asked(problem);
  const double least = asked.question().front().set->smallest_epsilon();
  const LinearQuestion question = asked.with_epsilon(std::clamp(epsilon, least, problem.epsilon));
  const FeasibleSet feasible(problem.model->encoder, problem.constraints, query.index, query.raw);
  return is_proved_unreachable(problem, question, feasible);
}

}  // namespace

Frontier::Frontier(const Problem& problem, const StoredRows* rows)
    : problem_(&problem), rows_(rows) {
  validate(problem);
  const Schema& schema = problem.model->schema();
  const bool has_rules = !schema.constraints.empty() || !schema.implications.empty();
  if (!why_not_exact(problem).empty() || has_rules || !is_ellipsoidal(problem.set.kind)) return;
  Problem any = problem;
  any.epsilon = 0;
  const LinearQuestion question(any);
  if (!question.is_single()) return;
  factor_ = question.cones().front();
  cost_ = separable_cost(problem.cost, problem.model->encoder);
}

bool Frontier::is_solved_at_once() const {
  const std::vector<Feature>& features = problem_->model->schema().features;
  return factor_ && std::all_of(features.begin(), features.end(), [](const Feature& feature) {
           return feature.kind == FeatureKind::numeric || feature.immutable;
         });
}

FrontierCurve Frontier::search(const Query& query, const std::vector<double>& epsilons) const {
  FrontierCurve curve{.query_index = query.index};
  Problem problem = *problem_;
  problem.display_steps.clear();
  std::vector<FrontierPoint> found;  // each is an answer to every smaller ε, too
  double reached = 0;
  std::optional<double> limit;  // from which on there is proved to be none
  bool all_proved = true;
  for (const double epsilon : epsilons) {
    check_stop();
    problem.epsilon = epsilon;
    // Of a single model all sets are the same, and the true one is not known that well.
    problem.set = epsilon == 0 ? second_order(problem_->set) : problem_->set;
    const std::vector<Answer> answers =
        automatic_generator(problem, rows_)->generate({query}, {.threads = 1});
    const Answer& answer = answers.front();
    if (answer.infeasible) {  // proved: larger ε have no answer either
      reached = std::max(reached, answer.infeasible->max_epsilon.lower.value_or(0));
      limit = answer.infeasible->max_epsilon.upper;
      break;
    }
    all_proved =
        all_proved && (answer.status == Status::optimal || answer.status == Status::already_robust);
    if (!is_certified(answer.status)) continue;
    found.push_back({.epsilon = answer.attained_epsilon.value_or(epsilon),
                     .distance = answer.distance.l2,
                     .cost = answer.distance.weighted});
    reached = std::max(reached, found.back().epsilon);
  }
  for (const double epsilon : epsilons) {
    check_stop();
    FrontierPoint point{.epsilon = epsilon, .feasible = false};
    for (const FrontierPoint& one : found) {
      if (one.epsilon < epsilon || (point.feasible && point.cost <= one.cost)) continue;
      point = one;
      point.epsilon = epsilon;
    }
    curve.points.push_back(point);
  }
  if (!curve.points.empty() && !curve.points.back().feasible) {
    curve.max_epsilon = reached;
    curve.is_max_proved =
        limit && (*limit <= reached * (1 + limit_tolerance) * (1 + 1e-12) ||
                  is_unreachable(query, reached * (1 + limit_tolerance), problem));
    all_proved = all_proved && curve.is_max_proved;
  }
  curve.is_proved = all_proved;
  return curve;
}

FrontierCurve Frontier::trace(const Query& query, const std::vector<double>& epsilons) const {
  require(std::is_sorted(epsilons.begin(), epsilons.end()), "the levels of a frontier must rise");
  require(epsilons.empty() || epsilons.back() <= largest_epsilon,
          "epsilon = {} is too large to compute with, at most {}",
          epsilons.empty() ? 0 : epsilons.back(), largest_epsilon);
  if (!factor_) return search(query, epsilons);
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw);
  if (!feasible.held().empty()) return search(query, epsilons);  // boxes hold what is discrete
  FrontierCurve curve{.query_index = query.index, .is_proved = true, .is_max_proved = true};
  std::vector<std::optional<BoxStart>> starts(feasible.boxes().size());
  double limit = 0;
  for (const Box& box : feasible.boxes()) {
    limit =
        std::max(limit, factor_->max_epsilon(box.lower, box.upper, problem_->threshold).epsilon);
  }
  curve.max_epsilon = limit;
  for (const double epsilon : epsilons) {
    check_stop();
    FrontierPoint point{.epsilon = epsilon, .feasible = false};
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const Box& box = feasible.boxes()[k];
      const BoxProjection solved = factor_->project({.query = feasible.query(),
                                                     .lower = box.lower,
                                                     .upper = box.upper,
                                                     .cost = cost_,
                                                     .epsilon = epsilon,
                                                     .threshold = problem_->threshold,
                                                     .start = starts[k]});
      const bool usable = solved.status != BoxStatus::infeasible && solved.margin >= 0;
      if (!usable || solved.objective >= best) continue;
      best = solved.objective;
      starts[k] = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
      point.feasible = true;
      point.distance = (solved.point - feasible.query()).norm();
      point.cost =
          cost_of(problem_->cost, problem_->model->encoder, feasible.query(), solved.point);
    }
    curve.points.push_back(point);
  }
  return curve;
}

}  // namespace ellice

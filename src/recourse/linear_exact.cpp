#include "ellice/recourse/linear_exact.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/recourse/infeasibility.hpp"
#include "ellice/recourse/rounding.hpp"
#include "recourse/plan_reasons.hpp"

namespace ellice {

namespace {

// Queries that are projected together; large enough for the matrix products, small enough to share
// out.
constexpr std::size_t block_queries = 256;
// Answers are lifted above the threshold by this much, relative to the terms of g: a little more
// than the 1e-12 that a certificate asks for. If writing and reading an answer loses it, more.
constexpr std::array<double, 3> margins = {1.1e-12, 1e-11, 1e-10};
constexpr double certificate_margin = 1e-12;
constexpr double optimal_gap = 1e-9;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A trade-off begins with the fewest changes.
ExactOptions first_search(ExactOptions options) {
  options.sparse = options.sparse || options.trade_off;
  return options;
}

/// Rounds with exact re-solves.
class ExactGuide final : public RoundingGuide {
 public:
  ExactGuide(const Problem& problem, const RashomonEllipsoid& set, const BoxFactor& factor,
             const SeparableCost& cost, const FeasibleSet& feasible)
      : problem_(&problem), set_(&set), factor_(&factor), cost_(&cost), feasible_(&feasible) {}

  [[nodiscard]] double margin(VectorArg z) override {
    const Vector x = with_one(z);
    const double penalty = robustness_penalty(*set_, x);
    const double scale =
        set_->center().cwiseProduct(x).cwiseAbs().sum() + penalty + std::abs(problem_->threshold);
    return set_->center().dot(x) - penalty - problem_->threshold - 2 * certificate_margin * scale;
  }
  [[nodiscard]] Vector slope(VectorArg z) override {
    return worst_model(*set_, with_one(z)).head(z.size());
  }
  [[nodiscard]] std::optional<Vector> solve(const Box& part, VectorArg /*start*/) override {
    BoxProjection solved = factor_->project({.query = feasible_->query(),
                                             .lower = part.lower,
                                             .upper = part.upper,
                                             .cost = *cost_,
                                             .epsilon = problem_->epsilon,
                                             .threshold = problem_->threshold,
                                             .margin = 4 * certificate_margin});
    if (solved.status != BoxStatus::optimal) return std::nullopt;
    return std::move(solved.point);
  }

 private:
  const Problem* problem_;
  const RashomonEllipsoid* set_;
  const BoxFactor* factor_;
  const SeparableCost* cost_;
  const FeasibleSet* feasible_;
};

}  // namespace

/// The best point of the searched boxes, before grids.
struct LinearExact::Solution {
  bool found = false;
  Vector point = {};
  const Box* box = nullptr;       // in which it lies
  double lower_bound = infinity;  // of the solver's cost, over the searched boxes
  double multiplier = 0;          // what a unit of threshold costs
};

SeparableCost separable_cost(const Cost& cost, const Encoder& encoder) {
  const Vector weights = column_weights(encoder);
  switch (cost.kind) {
    case CostKind::l2:
    case CostKind::mixed:
      return {.quadratic = 2 * weights};
    case CostKind::l1:
      return {.absolute = weights};
    case CostKind::l1_l2:
      break;
  }
  return {.quadratic = 2 * weights, .absolute = weights};
}

RashomonEllipsoid linear_set(const Problem& problem) {
  return linear_cones(problem).sets.front();
}

LinearExact::LinearExact(const Problem& problem, const ExactOptions& options)
    : problem_(&problem),
      options_(options),
      assembler_(problem),
      cones_(linear_cones(problem)),
      mixed_(problem, assembler_, cones_.factors, first_search(options)),
      cost_(separable_cost(problem.cost, problem.model->encoder)) {
  validate(problem);
  validate(options, "options");
  require(!options.trade_off || options.plans == 1,
          "--trade-off gives one answer per number of changes and does not go with --plans {}",
          options.plans);
  require(
      problem.cost.sparsity_weight == 0 || problem.cost.kind != CostKind::mixed,
      "--sparsity-weight adds to the root that --cost mixed takes, which the exact search cannot "
      "minimise; use another cost or --method data");
  const Encoder& encoder = problem.model->encoder;
  for (Index column = 0; column < encoder.columns(); ++column) {
    const Feature& feature = encoder.schema().features[encoder.feature_of(column)];
    const auto limits = problem.constraints.features.find(feature.name);
    const bool locked = limits != problem.constraints.features.end() && limits->second.locked;
    searched_.push_back(feature.kind == FeatureKind::numeric && !feature.immutable && !locked);
  }
  const bool quadratic = problem.cost.kind == CostKind::l2 || problem.cost.kind == CostKind::mixed;
  if (quadratic && cones_.is_single() &&
      std::find(searched_.begin(), searched_.end(), true) != searched_.end()) {
    cone_ = std::make_unique<ConeFactor>(ConeProblem{.theta = set().center(),
                                                     .hessian = set().hessian(),
                                                     .weights = column_weights(encoder),
                                                     .movable = searched_});
  }
}

std::vector<Recourse> LinearExact::generate(const std::vector<Query>& queries,
                                            const Execution& execution) const {
  std::vector<std::vector<Recourse>> plans(queries.size());
  const std::size_t blocks = (queries.size() + block_queries - 1) / block_queries;
  parallel_for("explaining", blocks, execution, [&](std::size_t block) {
    const std::size_t first = block * block_queries;
    const std::size_t count = std::min(block_queries, queries.size() - first);
    std::vector<FeasibleSet> feasible;
    feasible.reserve(count);
    RowMatrix points(static_cast<Index>(count), problem_->model->encoder.columns());
    for (std::size_t k = 0; k < count; ++k) {
      const Query& query = queries[first + k];
      feasible.emplace_back(problem_->model->encoder, problem_->constraints, query.index, query.raw,
                            problem_->display_steps);
      points.row(static_cast<Index>(k)) = feasible.back().query().transpose();
    }
    std::optional<ConeBatch> free;
    if (cone_) {
      free = cone_->project_rows(points,
                                 {.epsilon = problem_->epsilon, .threshold = problem_->threshold});
    }
    for (std::size_t k = 0; k < count; ++k) {
      std::optional<ConeProjection> projection;
      if (free)
        projection = {.point = free->points.row(static_cast<Index>(k)),
                      .summary = free->summaries[k]};
      plans[first + k] =
          answer(queries[first + k], feasible[k], projection ? &*projection : nullptr);
    }
  });
  std::vector<Recourse> answers;
  for (std::vector<Recourse>& of_query : plans) {
    std::move(of_query.begin(), of_query.end(), std::back_inserter(answers));
  }
  return answers;
}

BoxProblem LinearExact::box_problem(const FeasibleSet& feasible, const Box& box) const {
  return {.query = feasible.query(),
          .lower = box.lower,
          .upper = box.upper,
          .cost = cost_,
          .epsilon = problem_->epsilon,
          .threshold = problem_->threshold};
}

LinearExact::Solution LinearExact::solve(const FeasibleSet& feasible,
                                         const ConeProjection* free) const {
  Solution best;
  double best_objective = infinity;
  // The free projection answers at once where it stays inside the only box.
  if (free != nullptr && feasible.boxes().size() == 1 &&
      free->summary.status == ConeStatus::optimal &&
      feasible.boxes().front().contains(free->point)) {
    return {.found = true,
            .point = free->point,
            .box = &feasible.boxes().front(),
            .lower_bound = free->summary.lower_bound_squared,
            .multiplier = 2 * free->summary.multiplier};  // of Σ wΔz² instead of its half
  }
  for (const Box& box : feasible.boxes()) {
    BoxProblem problem = box_problem(feasible, box);
    if (free != nullptr && free->summary.status == ConeStatus::optimal) {
      problem.start = BoxStart{.point = free->point.cwiseMax(box.lower).cwiseMin(box.upper),
                               .multiplier = 2 * free->summary.multiplier};
    }
    const BoxProjection solved = factor().project(problem);
    if (solved.status != BoxStatus::infeasible)
      best.lower_bound = std::min(best.lower_bound, solved.lower_bound);
    const bool usable = solved.status != BoxStatus::infeasible && solved.margin >= 0;
    if (usable && solved.objective < best_objective) {
      best_objective = solved.objective;
      best.found = true;
      best.point = solved.point;
      best.box = &box;
      best.multiplier = solved.multiplier;
    }
  }
  return best;
}

double LinearExact::lower_bound(const FeasibleSet& feasible, const Solution& searched) const {
  // Certified points keep 1e-12 of the scale from the threshold; a bound on their cost may count
  // that in (theory.md, Result 9).
  const double margin = certificate_margin * scale(searched.point);
  if (feasible.boxes_cover()) {
    return searched.lower_bound + searched.multiplier * margin;
  }
  const BoxProjection relaxed = factor().project(box_problem(feasible, feasible.relaxed()));
  // Searched points lie in the relaxed box: were it called infeasible, that would be rounding.
  if (relaxed.status == BoxStatus::infeasible) return 0;
  return relaxed.lower_bound + relaxed.multiplier * margin;
}

void LinearExact::explain_no_answer(Recourse& result, const FeasibleSet& feasible) const {
  result.infeasible = explain_infeasibility(*problem_, cones_, feasible);
  if (result.infeasible) {
    result.status = Status::infeasible;
    if (result.infeasible->blocking.empty()) {
      result.message = fmt::format(
          "no constraint blocks: epsilon = {} is too large for this model, whatever changes",
          problem_->epsilon);
    }
    return;
  }
  result.status = Status::not_found;
  if (!feasible.boxes_cover()) {
    result.message =
        "the query lies outside so many ranges that not every way into them is searched";
  } else {
    result.message = "the best reachable point misses the threshold by no more than rounding";
  }
}

std::vector<Recourse> LinearExact::answer(const Query& query, const FeasibleSet& feasible,
                                          const ConeProjection* free) const {
  std::vector<Recourse> plans = {assembler_.begin(query, feasible)};
  Recourse& result = plans.front();
  if (assembler_.already_robust(result, feasible)) return plans;
  if (mixed_.is_needed(feasible)) {
    answer_mixed(result, feasible);
  } else {
    answer_numbers(result, feasible, free);
  }
  if (!is_certified(result.status)) return plans;
  if (options_.trade_off) add_trade_off(plans, query, feasible, free);
  if (options_.plans > 1) add_plans(plans, query, feasible);
  return plans;
}

void LinearExact::answer_mixed(Recourse& result, const FeasibleSet& feasible) const {
  const Recourse unanswered = result;
  const MixedExact::Outcome outcome = mixed_.answer(result, feasible, {});
  if (outcome == MixedExact::Outcome::answered) {
    if (result.gap && *result.gap > 0) prefer_rounded(result, unanswered, feasible);
    return;
  }
  const std::string message = std::exchange(result.message, {});
  explain_no_answer(result, feasible);
  if (result.status == Status::infeasible) return;
  if (outcome == MixedExact::Outcome::blocked) {
    result.message = message;
    return;
  }
  const Schema& schema = problem_->model->schema();
  const bool ruled = !schema.constraints.empty() || !schema.implications.empty();
  result.message = fmt::format(
      "no row passes: every combination of whole numbers, levels and grid values{}{} is ruled out",
      ruled ? " that keeps the rules" : "",
      options_.max_changes ? fmt::format(" with at most {} changes", *options_.max_changes) : "");
}

void LinearExact::prefer_rounded(Recourse& result, Recourse candidate,
                                 const FeasibleSet& feasible) const {
  if (options_.max_changes || options_.sparse || options_.trade_off ||
      problem_->cost.sparsity_weight != 0) {
    return;
  }
  if (!cones_.is_single() || !feasible.rules().empty()) return;
  answer_numbers(candidate, feasible, nullptr);
  const double found = result.distance.weighted;
  if (!is_certified(candidate.status) || !(candidate.distance.weighted < found)) return;
  candidate.status = Status::certified;
  candidate.gap = std::clamp(1 - (1 - *result.gap) * found / candidate.distance.weighted, 0.0, 1.0);
  candidate.message = result.message;
  result = std::move(candidate);
}

void LinearExact::add_plans(std::vector<Recourse>& plans, const Query& query,
                            const FeasibleSet& feasible) const {
  MixedExact::Plans earlier;
  const Schema& schema = problem_->model->schema();
  while (plans.size() < static_cast<std::size_t>(options_.plans)) {
    std::vector<std::size_t> changed;
    for (const Change& change : plans.back().changes)
      changed.push_back(*schema.find(change.feature));
    earlier.push_back(std::move(changed));
    Recourse next = assembler_.begin(query, feasible);
    next.plan = static_cast<int>(plans.size());
    const MixedExact::Outcome outcome = mixed_.answer(next, feasible, earlier);
    if (outcome == MixedExact::Outcome::answered) {
      next.reason = plan_reason(next, plans.front());
      plans.push_back(std::move(next));
      continue;
    }
    // Said with the first plan that is missing, so that fewer plans read the same.
    next.status = Status::not_found;
    if (outcome == MixedExact::Outcome::impossible)
      next.message = "no further plan: every other answer changes all that one of these changes";
    plans.push_back(std::move(next));
    return;
  }
}

void LinearExact::answer_numbers(Recourse& result, const FeasibleSet& feasible,
                                 const ConeProjection* free) const {
  const Solution solution = solve(feasible, free);
  if (!solution.found) {
    explain_no_answer(result, feasible);
    return;
  }
  if (!complete(result, feasible, solution)) {
    result.status = Status::not_found;
    return;
  }
  const bool square_root = problem_->cost.kind == CostKind::mixed;
  const double bound = lower_bound(feasible, solution);
  const double comparable = square_root ? std::sqrt(std::max(0.0, bound)) : bound;
  result.gap = std::clamp(1 - comparable / result.distance.weighted, 0.0, 1.0);
  if (*result.gap <= optimal_gap) {
    result.status = Status::optimal;
    result.gap = 0;
  }
}

bool LinearExact::complete(Recourse& result, const FeasibleSet& feasible,
                           const Solution& solution) const {
  ExactGuide guide(*problem_, set(), factor(), cost_, feasible);
  Vector raw;
  for (const double margin : margins) {
    const Vector point = lift(solution, feasible.query(), margin);
    raw = feasible.decode(point);
    if (feasible.has_grid()) {
      const std::optional<Vector> rounded =
          round_to_grid(*problem_, guide, feasible, *solution.box, point);
      if (!rounded) {
        result.message = "an answer exists between the grid values, but none was found on them";
        return false;
      }
      raw = *rounded;
    }
    if (assembler_.accept(result, raw, feasible)) return true;
  }
  const std::vector<std::string> broken = feasible.violations(raw);
  result.message = broken.empty()
                       ? "the answer did not survive rounding"
                       : fmt::format("the nearest answer breaks {}", fmt::join(broken, "; "));
  return false;
}

double LinearExact::scale(VectorArg point) const {
  const Vector x = with_one(point);
  return set().center().cwiseProduct(x).cwiseAbs().sum() + robustness_penalty(set(), x) +
         std::abs(problem_->threshold);
}

Vector LinearExact::lift(const Solution& solution, const Vector& query, double margin) const {
  const Box& box = *solution.box;
  const Vector weights = column_weights(problem_->model->encoder);
  Vector point = solution.point;
  // Along the gradient, among what has moved already: an answer does not change more features for
  // the sake of rounding.
  const bool nothing_moved = point == query;
  for (int step = 0; step < 4; ++step) {
    const Vector x = with_one(point);
    const double need = problem_->threshold + margin * scale(point) - robust_logit(set(), x);
    if (need <= 0) break;
    Vector direction = worst_model(set(), x).head(point.size());
    for (Index i = 0; i < point.size(); ++i) {
      const bool at_bound = direction(i) > 0 ? point(i) >= box.upper(i) : point(i) <= box.lower(i);
      if (at_bound || (!nothing_moved && point(i) == query(i))) direction(i) = 0;
    }
    const double gain = direction.cwiseAbs2().cwiseQuotient(weights).sum();
    if (!(gain > 0)) break;
    point += need / gain * direction.cwiseQuotient(weights);
    point = point.cwiseMax(box.lower).cwiseMin(box.upper);
  }
  return point;
}

}  // namespace ellice

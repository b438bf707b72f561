#include "search/number_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"
#include "request/cost_prices.hpp"
#include "search/rounding.hpp"
#include "search/stated_gap.hpp"
#include "search/tolerances.hpp"
#include "solver/corrected_search.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

/// The best point of the searched boxes, before grids.
struct NumberSearch::Solution {
  bool found = false;
  Vector point = {};
  const Box* box = nullptr;  // in which it lies
  double objective = infinity;
  double lower_bound = infinity;  // of the solver's cost, over the searched boxes
  double multiplier = 0;          // what a unit of threshold costs
  int cuts = 0;                   // cutting planes that it took
};

SeparableCost separable_cost(const Cost& cost, const Encoder& encoder) {
  const Vector weights = column_weights(encoder);
  const CostPrices prices = prices_of(cost.kind);
  SeparableCost result;
  if (prices.squares) result.quadratic = 2 * weights;
  if (prices.absolutes) result.absolute = weights;
  return result;
}

/// Rounds with exact re-solves; every worst model starts from the last one.
class NumberSearch::Guide final : public RoundingGuide {
 public:
  Guide(const NumberSearch& search, RobustOracle& oracle, const FeasibleSet& feasible,
        NumberScratch& scratch)
      : search_(&search), oracle_(&oracle), feasible_(&feasible), scratch_(&scratch) {}

  [[nodiscard]] double margin(VectorArg z) override {
    const Support at = oracle_->at(0, z);
    const double threshold = search_->problem_->threshold;
    return at.proved - threshold - 2 * certificate_margin * (at.scale + std::abs(threshold));
  }
  [[nodiscard]] Vector slope(VectorArg z) override { return oracle_->at(0, z).gradient(); }
  [[nodiscard]] std::optional<Vector> solve(const Box& part, VectorArg /*start*/) override {
    Solution solved =
        search_->solve_box(*feasible_, part, nullptr, search_->problem_->epsilon, *scratch_);
    if (!solved.found) return std::nullopt;
    return std::move(solved.point);
  }

 private:
  const NumberSearch* search_;
  RobustOracle* oracle_;
  const FeasibleSet* feasible_;
  NumberScratch* scratch_;
};

NumberSearch::NumberSearch(const Problem& problem, const Assembler& assembler,
                           const LinearQuestion& question)
    : problem_(&problem),
      assembler_(&assembler),
      question_(&question),
      weights_(column_weights(problem.model->encoder)),
      cost_(separable_cost(problem.cost, problem.model->encoder)) {
  const CostPrices prices = prices_of(problem.cost.kind);
  if (!prices.squares || prices.absolutes || !question.is_conic() || !question.is_single()) return;
  const Encoder& encoder = problem.model->encoder;
  std::vector<bool> movable;  // columns that some query may move
  for (Index column = 0; column < encoder.columns(); ++column) {
    const Feature& feature = encoder.schema().features[encoder.feature_of(column)];
    const auto limits = problem.constraints.features.find(feature.name);
    const bool locked = limits != problem.constraints.features.end() && limits->second.locked;
    movable.push_back(feature.kind == FeatureKind::numeric && !feature.immutable && !locked);
  }
  if (std::find(movable.begin(), movable.end(), true) == movable.end()) return;
  cone_ = std::make_unique<ConeFactor>(ConeProblem{.theta = question.cones().front().theta(),
                                                   .hessian = question.hessian(),
                                                   .weights = weights_,
                                                   .movable = movable});
}

std::optional<ConeBatch> NumberSearch::project_rows(const RowMatrix& points) const {
  if (!cone_) return std::nullopt;
  return cone_->project_rows(points,
                             {.epsilon = problem_->epsilon, .threshold = problem_->threshold});
}

NumberSearch::Solution NumberSearch::solve_box(const FeasibleSet& feasible, const Box& box,
                                               const ConeProjection* free, double epsilon,
                                               NumberScratch& scratch) const {
  if (!question_->is_conic()) {
    OracleResult solved = search_corrected(*scratch.oracle, {.query = feasible.query(),
                                                             .lower = box.lower,
                                                             .upper = box.upper,
                                                             .cost = cost_,
                                                             .threshold = problem_->threshold,
                                                             .margin = 2 * certificate_margin});
    return {.found = solved.found,
            .point = std::move(solved.point),
            .box = &box,
            .objective = solved.objective,
            .lower_bound = solved.lower_bound,
            .cuts = solved.cuts};
  }
  BoxProblem& problem = scratch.box;
  problem.query = feasible.query();
  problem.lower = box.lower;
  problem.upper = box.upper;
  problem.cost = cost_;
  problem.epsilon = epsilon;
  problem.threshold = problem_->threshold;
  if (free != nullptr && free->summary.status == ConeStatus::optimal) {
    if (!problem.start) problem.start.emplace();
    problem.start->point = free->point;
    problem.start->multiplier = 2 * free->summary.multiplier;
  } else {
    problem.start.reset();
  }
  BoxProjection solved = question_->cones().front().project(problem);
  return {.found = solved.status != BoxStatus::infeasible && solved.margin >= 0,
          .point = std::move(solved.point),
          .box = &box,
          .objective = solved.objective,
          .lower_bound = solved.status == BoxStatus::infeasible ? infinity : solved.lower_bound,
          .multiplier = solved.multiplier};
}

NumberSearch::Solution NumberSearch::solve(const FeasibleSet& feasible, const ConeProjection* free,
                                           NumberScratch& scratch) const {
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
  Solution best;
  for (const Box& box : feasible.boxes()) {
    Solution solved = solve_box(feasible, box, free, problem_->epsilon, scratch);
    const double bound = std::min(best.lower_bound, solved.lower_bound);
    if (solved.found && solved.objective < best.objective) best = std::move(solved);
    best.lower_bound = bound;
  }
  return best;
}

double NumberSearch::lower_bound(const FeasibleSet& feasible, const Solution& searched,
                                 double scale, NumberScratch& scratch) const {
  if (question_->lost() > 0) {
    // Rows that rounding refused count, too (theory.md, Result 51).
    const std::vector<Box> boxes =
        feasible.boxes_cover() ? feasible.boxes() : std::vector{feasible.relaxed()};
    double least = infinity;
    for (const Box& box : boxes) {
      least = std::min(
          least, solve_box(feasible, box, nullptr, question_->sure_epsilon(), scratch).lower_bound);
    }
    return std::isinf(least) ? 0 : least;
  }
  // Certified points keep 1e-12 of the scale from the threshold; a bound on their cost may count
  // that in (theory.md, Result 9).
  const double margin = certificate_margin * (scale + std::abs(problem_->threshold));
  if (feasible.boxes_cover()) return searched.lower_bound + searched.multiplier * margin;
  const Solution relaxed =
      solve_box(feasible, feasible.relaxed(), nullptr, problem_->epsilon, scratch);
  // Searched points lie in the relaxed box: were it called infeasible, that would be rounding.
  if (std::isinf(relaxed.lower_bound)) return 0;
  return relaxed.lower_bound + relaxed.multiplier * margin;
}

NumberSearch::Outcome NumberSearch::answer(Answer& result, const FeasibleSet& feasible,
                                           const ConeProjection* free,
                                           NumberScratch& scratch) const {
  // One that searches begins where it ended last: nobody's answer may depend on others'.
  if (!scratch.oracle || !question_->is_conic()) scratch.oracle = question_->oracle();
  const Solution solution = solve(feasible, free, scratch);
  if (!solution.found) return Outcome::none;
  RobustOracle& oracle = *scratch.oracle;
  const Support found = oracle.at(0, solution.point);
  if (!complete(result, feasible, solution, oracle, found, scratch)) return Outcome::refused;
  const bool square_root = prices_of(problem_->cost.kind).is_root;
  const double bound = lower_bound(feasible, solution, found.scale, scratch);
  const double comparable = square_root ? std::sqrt(std::max(0.0, bound)) : bound;
  state_gap(result, comparable, question_->lost());
  if (solution.cuts > 0 && result.gap) {
    result.message = fmt::format(
        "found by {} cutting planes, since the corrected ellipsoids did not settle", solution.cuts);
  }
  return Outcome::answered;
}

bool NumberSearch::complete(Answer& result, const FeasibleSet& feasible, const Solution& solution,
                            RobustOracle& oracle, const Support& found,
                            NumberScratch& scratch) const {
  Guide guide(*this, oracle, feasible, scratch);
  Vector raw;
  for (const double margin : exact_margins) {
    const Vector point = lift(oracle, solution, found, feasible.query(), margin);
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
    const std::shared_ptr<const WorstHead> near =
        question_->is_conic() ? nullptr : oracle.at(0, point).worst;
    if (assembler_->accept(result, raw, feasible, near.get())) return true;
  }
  const std::vector<std::string> broken = feasible.violations(raw);
  result.message = broken.empty()
                       ? "the answer did not survive rounding"
                       : fmt::format("the nearest answer breaks {}", fmt::join(broken, "; "));
  return false;
}

Vector NumberSearch::lift(RobustOracle& oracle, const Solution& solution, const Support& found,
                          const Vector& query, double margin) const {
  const Box& box = *solution.box;
  Vector point = solution.point;
  // Along the gradient, among what has moved already: an answer does not change more features for
  // the sake of rounding.
  const bool nothing_moved = point == query;
  for (int step = 0; step < 4; ++step) {
    const Support next = step == 0 ? Support() : oracle.at(0, point);
    const Support& at = step == 0 ? found : next;
    const double scale = at.scale + std::abs(problem_->threshold);
    const double need = problem_->threshold + margin * scale - at.proved;
    if (need <= 0) break;
    Vector direction = at.gradient();
    for (Index i = 0; i < point.size(); ++i) {
      const bool at_bound = direction(i) > 0 ? point(i) >= box.upper(i) : point(i) <= box.lower(i);
      if (at_bound || (!nothing_moved && point(i) == query(i))) direction(i) = 0;
    }
    const double gain = direction.cwiseAbs2().cwiseQuotient(weights_).sum();
    if (!(gain > 0)) break;
    point += need / gain * direction.cwiseQuotient(weights_);
    point = point.cwiseMax(box.lower).cwiseMin(box.upper);
  }
  return point;
}

}  // namespace ellice

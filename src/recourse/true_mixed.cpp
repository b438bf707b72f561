#include "recourse/true_mixed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/solver/cone_intersection.hpp"
#include "recourse/true_search.hpp"
#include "solver/mixed_search.hpp"

namespace ellice {

namespace {

// A start far away may cost Newton's method all its steps; then the ellipsoid's answer is a better
// one.
constexpr double loose = 1e-6;
constexpr int most_planes = 60;
constexpr double nearly = 1e-7;  // of the terms of a score
// Ellipsoids that are searched for a first answer, and into how many parts: theirs cost little. The
// first as thoroughly as it is where it is the set itself.
constexpr int most_seeds = 4;
constexpr std::size_t first_seed_nodes = 5000;
constexpr std::size_t seed_nodes = 500;
// On an ellipsoid's extent, after one whose answer the true set rejected.
constexpr double caution = 1.01;

class TrueMixedSearch final : public MixedSearch {
 public:
  TrueMixedSearch(const BoxFactor& factor, const TrueSet& set, const SeparableCost& cost,
                  const MixedProblem& problem)
      : MixedSearch({&factor}, problem),
        set_(&set),
        cost_(cost),
        search_(set, cost, problem.threshold, problem.margin) {
    is_conic_ = false;
  }

  /// Offers what ellipsoids answer: the Rashomon ellipsoid first, then ellipsoids corrected to the
  /// true set at the answer before (theory.md, Result 22). The search then begins with an answer
  /// that costs no more than any of theirs which the true set accepts, and with half-spaces where
  /// they matter.
  void seed(const BoxFactor& ellipsoid) {
    MixedProblem stand_in = *problem_;
    stand_in.node_limit = first_seed_nodes;
    std::optional<BoxFactor> corrected;
    double boost = 1;
    for (int round = 0; round < most_seeds; ++round) {
      const MixedResult solved = solve_mixed(corrected ? *corrected : ellipsoid, stand_in);
      if (!solved.found && round > 0) return;
      const Vector point = solved.found ? solved.point : problem_->query;
      const RobustLogit::State state = evaluate(point);
      add_cut(make_cut(state));
      const bool is_robust = state.value >= problem_->threshold + problem_->margin * scale(state);
      if (solved.found && is_robust) offer(point);
      if (!is_robust) boost *= caution;
      stand_in.cutoff = enough();
      stand_in.node_limit = seed_nodes;
      const Vector x_tilde = with_one(point);
      const Vector along = set_->factor().solve(x_tilde);
      const double norm = std::sqrt(x_tilde.dot(along));
      const double extent = boost * (set_->center() - last_->model).dot(x_tilde) / norm;
      corrected = ellipsoid.recentred(last_->model + extent / norm * along);
      stand_in.epsilon = extent * extent / 2;
    }
  }

 private:
  /// The half-space is that of a model of the set, whose score is the value; what is proved of the
  /// set lies a little lower, and that joins what a solution must keep from the threshold.
  [[nodiscard]] RobustLogit::State evaluate(Vector x) const override {
    const Vector x_tilde = with_one(x);
    TrueWorst worst = set_->worst(x_tilde, last_ ? &*last_ : nullptr);
    const double base = set_->center().dot(x_tilde);
    if (worst.attained - worst.lower_bound > loose * (base - worst.attained)) {
      worst = set_->worst(x_tilde);
    }
    RobustLogit::State state;
    state.value = worst.attained;
    state.gradient = worst.model.head(x.size());
    state.scale = set_->center().cwiseProduct(x_tilde).cwiseAbs().sum() +
                  (base - worst.lower_bound) +
                  (worst.attained - worst.lower_bound) / problem_->margin;
    state.x = std::move(x);
    last_ = std::move(worst);
    return state;
  }

  Leaf solve_numbers(Vector x, const std::vector<Domain>& domains,
                     const std::vector<std::size_t>& numbers, double paid) override {
    Box box{.lower = x, .upper = x};
    for (const std::size_t u : numbers) {
      const Index column = units_[u].unit().column;
      box.lower[column] = domains[u].lower;
      box.upper[column] = domains[u].upper;
    }
    if (!problem_->rules.empty()) return solve_under_rules(x, box, paid);
    const TrueSearchResult solved = search_.nearest(x, box);
    add_cut(make_cut(state_of(solved.proof ? *solved.proof : solved.worst.model, solved.point)));
    if (solved.proof) {
      return {.infeasible = true,
              .missing = std::max(0.0, -search_.excess(solved.point, solved.worst))};
    }
    if (solved.found) offer(solved.point);
    return {.lower_bound = paid + solved.lower_bound};
  }

  /// Cutting planes, each of them a model of the set. Near the end they aim a little higher, so
  /// that the last point passes; the bound is that of the planes before.
  Leaf solve_under_rules(const Vector& x, const Box& box, double paid) {
    IntersectionProblem planes{.query = x,
                               .lower = box.lower,
                               .upper = box.upper,
                               .cost = cost_,
                               .rules = problem_->rules};
    Leaf leaf{.lower_bound = paid};
    double raise = 0;
    for (int k = 0; k < most_planes; ++k) {
      const ConeIntersection solved = intersect_cones(planes);
      if (solved.status == IntersectionStatus::infeasible) {
        leaf.infeasible = raise == 0;
        return leaf;
      }
      if (!solved.feasible) return leaf;
      if (raise == 0) leaf.lower_bound = std::max(leaf.lower_bound, paid + solved.lower_bound);
      const RobustLogit::State state = evaluate(solved.point);
      const double missing = problem_->threshold + problem_->margin * scale(state) - state.value;
      leaf.missing = std::max(0.0, missing);
      if (missing <= 0) {
        offer(solved.point);
        return leaf;
      }
      if (raise == 0) add_cut(make_cut(state));
      if (missing <= nearly * scale(state)) raise += 2 * missing;
      planes.rules.push_back(
          {.coefficients = state.gradient,
           .lower = problem_->threshold + raise - state.value + state.gradient.dot(state.x)});
    }
    return leaf;
  }

  [[nodiscard]] static RobustLogit::State state_of(const Vector& model, const Vector& point) {
    RobustLogit::State state;
    state.x = point;
    state.value = model.dot(with_one(point));
    state.gradient = model.head(point.size());
    return state;
  }

  const TrueSet* set_;
  SeparableCost cost_;
  TrueSearch search_;
  mutable std::optional<TrueWorst> last_;  // one thread searches
};

}  // namespace

MixedResult solve_true_mixed(const TrueSet& set, const SeparableCost& cost,
                             const MixedProblem& problem) {
  require(problem.epsilon == set.epsilon(), "MixedProblem.epsilon = {} is not the set's, {}",
          problem.epsilon, set.epsilon());
  const BoxFactor factor(set.center(), set.hessian());
  TrueMixedSearch search(factor, set, cost, problem);
  search.seed(factor);
  return search.run();
}

}  // namespace ellice

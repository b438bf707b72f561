#include "recourse/true_mixed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "recourse/true_search.hpp"
#include "solver/mixed_search.hpp"

namespace ellice {

namespace {

// A start far away may cost Newton's method all its steps; then the ellipsoid's answer is a better
// one.
constexpr double loose = 1e-6;

class TrueMixedSearch final : public MixedSearch {
 public:
  TrueMixedSearch(const BoxFactor& factor, const TrueSet& set, const SeparableCost& cost,
                  const MixedProblem& problem)
      : MixedSearch(factor, problem),
        set_(&set),
        search_(set, cost, problem.threshold, problem.margin) {}

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
    const TrueSearchResult solved = search_.nearest(x, box);
    add_cut(make_cut(state_of(solved.proof ? *solved.proof : solved.worst.model, solved.point)));
    if (solved.proof) {
      return {.infeasible = true,
              .missing = std::max(0.0, -search_.excess(solved.point, solved.worst))};
    }
    if (solved.found) offer(solved.point);
    return {.lower_bound = paid + solved.lower_bound};
  }

  [[nodiscard]] static RobustLogit::State state_of(const Vector& model, const Vector& point) {
    RobustLogit::State state;
    state.x = point;
    state.value = model.dot(with_one(point));
    state.gradient = model.head(point.size());
    return state;
  }

  const TrueSet* set_;
  TrueSearch search_;
  mutable std::optional<TrueWorst> last_;  // one thread searches
};

}  // namespace

MixedResult solve_true_mixed(const TrueSet& set, const SeparableCost& cost,
                             const MixedProblem& problem) {
  require(problem.epsilon == set.epsilon(), "MixedProblem.epsilon = {} is not the set's, {}",
          problem.epsilon, set.epsilon());
  const BoxFactor factor(set.center(), set.hessian());
  return TrueMixedSearch(factor, set, cost, problem).run();
}

}  // namespace ellice

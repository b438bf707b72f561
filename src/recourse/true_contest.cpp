#include "recourse/true_contest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ellice/core/error.hpp"
#include "solver/mixed_search.hpp"

namespace ellice {

namespace {

// A start far away may cost Newton's method all its steps; then the ellipsoid's answer is a better
// one.
constexpr double loose = 1e-6;
constexpr int most_corrections = 12;
constexpr int most_planes = 60;
constexpr double nearly = 1e-7;  // of the terms of a margin
// A rival whose worst margin is that near to the threshold, as a share of its penalty, may bind.
constexpr double binding = 0.01;
// Corrected ellipsoids that are searched for a first answer, and into how many parts.
constexpr int most_seeds = 4;
constexpr std::size_t seed_nodes = 1000;
// On the ellipsoids' extents, after an answer that the true set rejected.
constexpr double caution = 1.01;

class TrueContestSearch final : public MixedSearch {
 public:
  TrueContestSearch(const TrueContest& contest, const SeparableCost& cost,
                    const MixedProblem& problem)
      : MixedSearch({&contest.ellipsoids.factors.front()}, problem),
        contest_(&contest),
        cost_(cost),
        worst_(contest.contest.rivals.size()) {
    is_conic_ = false;
    is_single_ = false;
  }

  /// Offers what ellipsoids answer, corrected to the true set at the answer before, so that the
  /// search begins with an answer and with half-spaces where they matter.
  void seed() {
    const bool has_choices =
        problem_->max_changes || !problem_->forbidden.empty() ||
        std::any_of(problem_->units.begin(), problem_->units.end(), [](const MixedUnit& unit) {
          return unit.is_group() || unit.has_grid() || unit.charge > 0;
        });
    if (!has_choices) return;
    MixedProblem stand_in = *problem_;
    stand_in.node_limit = seed_nodes;
    std::vector<BoxFactor> cones = contest_->ellipsoids.factors;
    double boost = 1;
    for (int round = 0; round < most_seeds; ++round) {
      const MixedResult solved = solve_mixed(cones, stand_in);
      if (!solved.found && round > 0) return;
      const Vector point = solved.found ? solved.point : problem_->query;
      const RobustLogit::State state = evaluate(point);
      add_cut(make_cut(state));
      const bool is_robust = missing(state) <= 0;
      if (solved.found && is_robust) offer(point);
      if (!is_robust) boost *= caution;
      stand_in.cutoff = enough();
      cones = corrected(point, boost);
    }
  }

 private:
  [[nodiscard]] Vector pair_of(const Matrix& heads, std::size_t k) const {
    return heads.col(contest_->contest.winner) - heads.col(contest_->contest.rivals[k]);
  }
  [[nodiscard]] double missing(const RobustLogit::State& state) const {
    return problem_->threshold + problem_->margin * scale(state) - state.value;
  }

  /// The rival with the smallest margin. The half-space is that of a head of the set; what is
  /// proved of the set lies a little lower, and that joins what a solution must keep from the
  /// threshold.
  [[nodiscard]] RobustLogit::State evaluate(Vector x) const override {
    const Vector x_tilde = with_one(x);
    const TrueSoftmax& set = contest_->set;
    double proved = std::numeric_limits<double>::infinity();
    std::size_t least = 0;
    RobustLogit::State state;
    for (std::size_t k = 0; k < worst_.size(); ++k) {
      const Index winner = contest_->contest.winner;
      const Index rival = contest_->contest.rivals[k];
      const Vector center = pair_of(set.center(), k);
      const double base = center.dot(x_tilde);
      TrueMargin& worst = worst_[k];
      const bool has_start = worst.heads.size() > 0;
      worst = set.worst(x_tilde, winner, rival, has_start ? &worst : nullptr);
      if (has_start && worst.attained - worst.lower_bound > loose * (base - worst.attained)) {
        worst = set.worst(x_tilde, winner, rival);
      }
      if (worst.attained < worst_[least].attained) least = k;
      proved = std::min(proved, worst.lower_bound);
      state.scale = std::max(
          state.scale, center.cwiseProduct(x_tilde).cwiseAbs().sum() + base - worst.lower_bound);
    }
    state.value = worst_[least].attained;
    state.gradient = pair_of(worst_[least].heads, least).head(x.size());
    state.scale += (state.value - proved) / problem_->margin;
    state.x = std::move(x);
    return state;
  }

  /// Around the point that was evaluated last: for each rival an ellipsoid with the value and the
  /// gradient of its worst margin (theory.md, Result 22), at the problem's ε.
  [[nodiscard]] std::vector<BoxFactor> corrected(const Vector& point, double boost) const {
    const Vector x_tilde = with_one(point);
    std::vector<BoxFactor> result;
    for (std::size_t k = 0; k < worst_.size(); ++k) {
      const RashomonEllipsoid& ellipsoid = contest_->ellipsoids.sets[k];
      const Vector worst = pair_of(worst_[k].heads, k);
      const Vector along = ellipsoid.factor().solve(x_tilde);
      const double norm = std::sqrt(x_tilde.dot(along));
      const double extent = boost * (ellipsoid.center() - worst).dot(x_tilde) / norm;
      result.emplace_back(worst + extent / norm * along,
                          ellipsoid.hessian() * (2 * problem_->epsilon / (extent * extent)));
    }
    return result;
  }

  /// Adds the half-spaces of the rivals that may bind at the point that was evaluated last.
  void add_planes(const RobustLogit::State& state, IntersectionProblem& planes) const {
    const Vector x_tilde = with_one(state.x);
    for (std::size_t k = 0; k < worst_.size(); ++k) {
      const double penalty = pair_of(contest_->set.center(), k).dot(x_tilde) - worst_[k].attained;
      const bool binds = worst_[k].attained <= problem_->threshold + binding * penalty;
      if (!binds && worst_[k].attained > state.value) continue;
      const Vector pair = pair_of(worst_[k].heads, k);
      const Index d = state.x.size();
      planes.rules.push_back(
          {.coefficients = pair.head(d), .lower = problem_->threshold - pair(d)});
    }
  }

  Leaf solve_numbers(Vector x, const std::vector<Domain>& domains,
                     const std::vector<std::size_t>& numbers, double paid) override {
    IntersectionProblem planes{
        .query = x, .lower = x, .upper = x, .cost = cost_, .rules = problem_->rules};
    for (const std::size_t u : numbers) {
      const Index column = units_[u].unit().column;
      planes.lower[column] = domains[u].lower;
      planes.upper[column] = domains[u].upper;
    }
    approach(planes);
    return cut(planes, paid);
  }

  /// Goes to the cheapest point with ellipsoids corrected to the true set at the point before, and
  /// leaves the half-spaces that it met.
  void approach(IntersectionProblem& planes) {
    IntersectionProblem stand_in = planes;
    stand_in.margin = 4 * problem_->margin;
    std::vector<BoxFactor> cones = contest_->ellipsoids.factors;
    double raise = 0;
    for (int round = 0; round < most_corrections; ++round) {
      stand_in.cones.clear();
      for (const BoxFactor& cone : cones) {
        stand_in.cones.push_back({.factor = &cone,
                                  .epsilon = problem_->epsilon,
                                  .threshold = problem_->threshold + raise});
      }
      const ConeIntersection solved = intersect_cones(stand_in);
      // Where the ellipsoid has no point the true set may have one: corrected once, it is seen.
      if (!solved.feasible && round > 0) return;
      const RobustLogit::State state = evaluate(solved.point);
      add_planes(state, planes);
      const double short_of = missing(state);
      if (solved.feasible && short_of <= 0) offer(solved.point);
      if (std::abs(short_of) <= 10 * problem_->margin * scale(state) && short_of <= 0) return;
      if (!std::isfinite(short_of)) return;  // no bound is proved there
      if (short_of > 0 && short_of <= nearly * scale(state)) raise += 2 * short_of;
      cones = corrected(solved.point, 1);
    }
  }

  /// Cutting planes, each of them a head of the set: their cheapest point bounds the cost. Near the
  /// end a point a little above them passes.
  Leaf cut(IntersectionProblem& planes, double paid) {
    Leaf leaf{.lower_bound = paid};
    for (int k = 0; k < most_planes; ++k) {
      const ConeIntersection solved = intersect_cones(planes);
      leaf.infeasible = solved.status == IntersectionStatus::infeasible;
      if (!solved.feasible) return leaf;
      leaf.lower_bound = std::max(leaf.lower_bound, paid + solved.lower_bound);
      if (leaf.lower_bound >= enough()) return leaf;
      const RobustLogit::State state = evaluate(solved.point);
      const double short_of = missing(state);
      leaf.missing = std::max(0.0, short_of);
      add_cut(make_cut(state));
      if (short_of <= 0) {
        offer(solved.point);
        return leaf;
      }
      add_planes(state, planes);
      if (!std::isfinite(short_of)) return leaf;
      if (short_of <= nearly * scale(state)) offer_above(planes, 2 * short_of);
    }
    return leaf;
  }

  void offer_above(IntersectionProblem planes, double raise) {
    for (std::size_t k = problem_->rules.size(); k < planes.rules.size(); ++k)
      planes.rules[k].lower += raise;
    const ConeIntersection solved = intersect_cones(planes);
    if (solved.feasible && missing(evaluate(solved.point)) <= 0) offer(solved.point);
  }

  const TrueContest* contest_;
  SeparableCost cost_;
  mutable std::vector<TrueMargin> worst_;  // by rival, at the last point; one thread searches
};

}  // namespace

TrueContest make_true_contest(const Problem& problem) {
  validate(problem);
  require(problem.set.kind == SetKind::true_set && problem.set.contest.has_value(),
          "this search is for the true set of several classes");
  require(problem.model->network.layers.size() == 1,
          "the exact search over the true set is for models without hidden layers; use --method "
          "network or data for networks");
  Problem ellipsoids = problem;
  ellipsoids.set = {.contest = problem.set.contest};
  return {.set = true_softmax(*problem.model, training_rows(problem.set, *problem.model),
                              problem.epsilon),
          .contest = *problem.set.contest,
          .ellipsoids = linear_cones(ellipsoids)};
}

MixedResult solve_true_contest(const TrueContest& contest, const SeparableCost& cost,
                               const MixedProblem& problem) {
  require(problem.epsilon == contest.set.epsilon(),
          "MixedProblem.epsilon = {} is not the set's, {}", problem.epsilon, contest.set.epsilon());
  TrueContestSearch search(contest, cost, problem);
  search.seed();
  return search.run();
}

}  // namespace ellice

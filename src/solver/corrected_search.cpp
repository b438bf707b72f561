#include "solver/corrected_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "solver/half_space.hpp"

namespace ellice {

namespace {

constexpr int most_steps = 60;
// Several cones: from here on planes get there sooner.
constexpr int few_steps = 12;
constexpr double closed_gap = 1e-10;
// What answers that are called optimal need: beyond it cutting planes are not worth their while.
constexpr double settled_gap = 5e-10;
// Steps after which the stand-in gets the curvature of the border itself whenever a step does not
// halve the error, and after which it is made more cautious, too.
constexpr int patience = 4;
constexpr int long_patience = 10;
constexpr double caution = 1.5;
// Several cones: a point is as good as on the border from so many margins on; then planes finish.
constexpr double on_border = 10;
constexpr double nearly = 1e-7;  // of the terms of a score: the next point is asked for more

// Worst models far from the answer need not be exact: bounds hold all the same. How far their own
// bounds may be apart, as a share of the penalty: at first, and then of the last point's miss.
constexpr double first_share = 1e-3;
constexpr double next_share = 1e-2;

constexpr int most_cuts = 120;
constexpr double same_plane = 1e-3;
// Rounds without any gain after which the cuts are given up.
constexpr int idle_rounds = 6;
// By how much more than it fell short the next point is asked for, so that it is robust.
constexpr double overshoot = 1.1;
// A part whose score is that near to the threshold, as a share of its penalty, may bind.
constexpr double binding = 0.01;
constexpr int most_ascents = 20;

/// A half-space that holds every robust point: that of one model of a part's set.
struct Plane {
  Index part = 0;
  Vector model = {};
  std::shared_ptr<const WorstHead> worst = {};
};

class Search {
 public:
  Search(RobustOracle& oracle, const OracleProblem& problem)
      : oracle_(&oracle),
        problem_(&problem),
        is_plain_(oracle.parts() == 1 && problem.rules.empty()) {
    best_.objective = infinity;
  }

  OracleResult run(OracleGoal goal) {
    const bool is_settled = correct(goal);
    if (!is_settled && goal == OracleGoal::nearest && !best_.proof) cut();
    return std::move(best_);
  }

  OracleResult run_by_cuts() {
    (void)judge(clipped(problem_->query));
    cut();
    return std::move(best_);
  }

 private:
  [[nodiscard]] Vector clipped(const Vector& x) const {
    return x.cwiseMax(problem_->lower).cwiseMin(problem_->upper);
  }
  [[nodiscard]] double scale(const Support& at) const {
    return at.scale + std::abs(problem_->threshold);
  }
  [[nodiscard]] bool keeps_rules(const Vector& x) const {
    return std::all_of(problem_->rules.begin(), problem_->rules.end(),
                       [&](const LinearRule& rule) { return rule.holds(x); });
  }
  [[nodiscard]] bool is_closed(double share) const {
    return best_.found && best_.objective - best_.lower_bound <= share * best_.objective;
  }

  [[nodiscard]] bool is_too_dear() const { return best_.lower_bound >= problem_->cutoff; }

  struct Judgement {
    double surplus = infinity;  // of the part that has least
    double scale = 0;           // of its terms
  };
  /// Evaluates a point, remembers it if it is the best so far, and keeps the half-spaces of the
  /// parts that may bind there.
  Judgement judge(const Vector& point, double share = 0) {
    supports_.clear();
    Judgement result;
    double least = infinity;
    for (Index k = 0; k < oracle_->parts(); ++k) {
      supports_.push_back(oracle_->at(k, point, share));
      const Support& at = supports_.back();
      const double own = at.proved - problem_->threshold - problem_->margin * scale(at);
      // What is not a number stays, whatever other parts have.
      if (!std::isnan(result.surplus) && !(own >= result.surplus))
        result = {.surplus = own, .scale = scale(at)};
      least = std::min(least, at.value);
    }
    for (Index k = 0; k < oracle_->parts(); ++k) {
      const Support& at = supports_[static_cast<std::size_t>(k)];
      if (!at.model.allFinite()) continue;  // so far away that its worst model was not found
      Vector lifted(point.size() + 1);
      lifted << point, 1;
      const double penalty = oracle_->cone(k).theta().dot(lifted) - at.value;
      if (at.value > problem_->threshold + binding * penalty && at.value > least) continue;
      planes_.push_back({.part = k, .model = at.model, .worst = at.worst});
    }
    const double objective = cost_at(problem_->cost, problem_->query, point);
    const bool is_robust = result.surplus >= 0 && keeps_rules(point);
    const bool is_better =
        is_robust ? objective < best_.objective : !best_.found && result.surplus > most_robust_;
    if (is_better || best_.point.size() == 0) {
      best_.found = is_robust;
      if (is_robust) best_.objective = objective;
      best_.point = point;
      best_.supports = supports_;
      most_robust_ = result.surplus;
    }
    return result;
  }

  /// What a set of cones answers.
  struct Step {
    Vector point = {};
    double multiplier = 0;
    bool feasible = false;
  };
  [[nodiscard]] Step step(const std::vector<const BoxFactor*>& cones, double margin, double raise,
                          const Step* start, double epsilon) const {
    if (is_plain_) {
      BoxProblem box{.query = problem_->query,
                     .lower = problem_->lower,
                     .upper = problem_->upper,
                     .cost = problem_->cost,
                     .epsilon = epsilon,
                     .threshold = problem_->threshold + raise,
                     .margin = margin};
      if (start != nullptr)
        box.start = BoxStart{.point = start->point, .multiplier = start->multiplier};
      BoxProjection solved = cones.front()->project(box);
      const bool feasible = solved.status != BoxStatus::infeasible;
      return {.point = std::move(solved.point),
              .multiplier = feasible ? solved.multiplier : 0,
              .feasible = feasible};
    }
    IntersectionProblem whole = without_planes();
    whole.margin = margin;
    for (const BoxFactor* cone : cones)
      whole.cones.push_back(
          {.factor = cone, .epsilon = epsilon, .threshold = problem_->threshold + raise});
    ConeIntersection solved = intersect_cones(whole);
    if (!solved.feasible) return {.point = best_common_point(whole)};
    return {.point = std::move(solved.point), .feasible = true};
  }

  [[nodiscard]] Step first_step() const {
    std::vector<const BoxFactor*> cones;
    for (Index k = 0; k < oracle_->parts(); ++k) cones.push_back(&oracle_->cone(k));
    Step first = step(cones, 1e-14, 0, nullptr, oracle_->epsilon());
    if (first.feasible || !is_plain_) return first;
    const double reached =
        cones.front()->max_epsilon(problem_->lower, problem_->upper, problem_->threshold).epsilon;
    return step(cones, 1e-14, 0, nullptr, 0.9 * reached);
  }

  /// True where nothing is left to prove.
  bool correct(OracleGoal goal) {
    Step at = first_step();
    bool is_curved = false;
    double boost = 1;
    double raise = 0;
    double error = infinity;
    const int steps = is_plain_ ? most_steps : few_steps;
    double share = is_plain_ && goal == OracleGoal::nearest ? first_share : 0;
    for (int iteration = 0; iteration < steps; ++iteration) {
      check_stop();
      const Judgement judged = judge(at.point, share);
      if (is_plain_ && bound_by_model()) return true;
      if (best_.found && goal == OracleGoal::any) return true;
      if (is_closed(closed_gap) || is_too_dear()) return true;
      const double miss = std::abs(judged.surplus);
      if (!std::isfinite(miss)) break;  // no bound is proved there
      if (!is_plain_) {
        if (judged.surplus >= 0 && miss <= on_border * problem_->margin * judged.scale) break;
        if (judged.surplus < 0 && miss <= nearly * judged.scale) raise += 2 * miss;
        if (!at.feasible && iteration > 0) break;
      }
      if (miss > 0.5 * error) {
        if (iteration >= patience) is_curved = true;
        if (iteration >= long_patience) boost *= caution;
      }
      error = miss;
      const double judged_share = share;
      share = std::min(share, next_share * miss / judged.scale);
      std::vector<BoxFactor> cones;
      for (Index k = 0; k < oracle_->parts(); ++k) {
        Support support = supports_[static_cast<std::size_t>(k)];
        // What is proved errs to second order where a search stopped early, what is attained to
        // first.
        if (judged_share > 0) {
          support.model.tail(1).array() += support.proved - support.value;
          support.value = support.proved;
        }
        cones.push_back(is_curved ? oracle_->curved_cone(support, k, boost)
                                  : corrected_cone(*oracle_, support, k, boost));
      }
      std::vector<const BoxFactor*> pointers;
      for (const BoxFactor& cone : cones) pointers.push_back(&cone);
      Step next = step(pointers, 4 * problem_->margin, raise, &at, oracle_->epsilon());
      const bool stands_still = (next.point - at.point).norm() <= 1e-15 * at.point.norm();
      at = std::move(next);
      if (stands_still && judged_share == 0) break;
      if (stands_still) share = 0;
    }
    return is_closed(settled_gap);
  }

  /// The bound of the last point's model alone; true where it shows that nothing is robust.
  bool bound_by_model() {
    const Support& at = supports_.front();
    const double bound = half_space_bound(at.model, problem_->threshold, problem_->query,
                                          problem_->lower, problem_->upper, problem_->cost);
    best_.lower_bound = std::max(best_.lower_bound, bound);
    if (!std::isinf(bound) || best_.found) return false;
    best_.proof = OracleProof{.weights = {.cones = Vector::Ones(1), .models = {at.model}},
                              .heads = {at.worst ? at.worst->model : Vector()}};
    best_.point = at.x;
    best_.supports = supports_;
    return true;
  }

  [[nodiscard]] IntersectionProblem without_planes() const {
    return {.query = problem_->query,
            .lower = problem_->lower,
            .upper = problem_->upper,
            .cost = problem_->cost,
            .rules = problem_->rules};
  }

  [[nodiscard]] IntersectionProblem planes_problem(double raise) const {
    IntersectionProblem result = without_planes();
    const Index d = problem_->query.size();
    for (const Plane& plane : planes_) {
      result.rules.push_back({.coefficients = plane.model.head(d),
                              .lower = problem_->threshold + raise - plane.model(d)});
    }
    return result;
  }

  /// Of half-spaces that are nearly the same, as those of points that converge are, only the last:
  /// more would make the programs below singular without helping their bounds.
  void thin_out() {
    std::vector<Plane> kept;
    for (std::size_t j = planes_.size(); j-- > 0;) {
      const Plane& plane = planes_[j];
      const bool is_known = std::any_of(kept.begin(), kept.end(), [&](const Plane& other) {
        return other.part == plane.part &&
               (other.model - plane.model).norm() <= same_plane * plane.model.norm();
      });
      if (!is_known) kept.push_back(plane);
    }
    std::reverse(kept.begin(), kept.end());
    planes_ = std::move(kept);
  }

  /// Their cheapest point bounds the cost; near the end a point a little above them is robust.
  void cut() {
    thin_out();
    const std::size_t most_kept = static_cast<std::size_t>(3 * (problem_->query.size() + 1) + 20);
    int idle = 0;
    double least_miss = infinity;
    for (int round = 0; round < most_cuts && idle < idle_rounds; ++round) {
      check_stop();
      best_.cuts = round + 1;
      const double gap_before = best_.objective - best_.lower_bound;
      const double bound_before = best_.lower_bound;
      const ConeIntersection outer = intersect_cones(planes_problem(0));
      if (outer.status == IntersectionStatus::infeasible && !best_.found) {
        prove(outer.weights);
        return;
      }
      if (outer.point.size() != problem_->query.size()) return;
      if (outer.status != IntersectionStatus::infeasible)
        best_.lower_bound = std::max(best_.lower_bound, outer.lower_bound);
      if (is_closed(settled_gap) || is_too_dear()) return;
      const std::vector<double> weights = plane_weights(outer.weights);
      const Judgement judged = judge(outer.point);
      const double surplus = judged.surplus;
      const bool is_near = !best_.found || -surplus <= nearly * judged.scale;
      if (surplus < 0 && std::isfinite(surplus) && is_near) {
        const ConeIntersection above = intersect_cones(planes_problem(-overshoot * surplus));
        if (above.feasible) (void)judge(above.point);
      }
      if (is_closed(settled_gap)) return;
      const double gap = best_.objective - best_.lower_bound;
      // Points that come nearer to the border are on their way to a better answer.
      const bool approaches = -surplus < 0.5 * least_miss;
      if (approaches) least_miss = -surplus;
      const bool gains = best_.found ? gap < gap_before * (1 - 1e-6)
                                     : best_.lower_bound > bound_before * (1 + 1e-9);
      idle = gains || approaches ? 0 : idle + 1;
      if (planes_.size() > most_kept) drop_idle(weights);
    }
  }

  /// Of the planes as they stood; a weight below zero is that of a lower side.
  [[nodiscard]] std::vector<double> plane_weights(const ConeWeights& weights) const {
    std::vector<double> result;
    for (Index k = static_cast<Index>(problem_->rules.size()); k < weights.rules.size(); ++k)
      result.push_back(std::max(0.0, -weights.rules(k)));
    return result;
  }

  /// Leaves the half-spaces that hold something, and those that have not been tried yet.
  void drop_idle(const std::vector<double>& weights) {
    std::size_t place = 0;
    std::erase_if(planes_, [&](const Plane&) {
      const bool is_idle = place < weights.size() && weights[place] == 0;
      ++place;
      return is_idle;
    });
  }

  /// A mixture of models of a set is one, too: one for each part.
  void prove(const ConeWeights& weights) {
    const std::vector<double> of_planes = plane_weights(weights);
    const Index parts = oracle_->parts();
    const Index size = problem_->query.size() + 1;
    OracleProof proof{
        .weights = {.cones = Vector::Zero(parts),
                    .rules = weights.rules.head(static_cast<Index>(problem_->rules.size()))},
        .heads = std::vector<Vector>(static_cast<std::size_t>(parts))};
    proof.weights.models.assign(static_cast<std::size_t>(parts), Vector::Zero(size));
    for (std::size_t j = 0; j < of_planes.size(); ++j) {
      if (of_planes[j] == 0) continue;
      const Plane& plane = planes_[j];
      const auto k = static_cast<std::size_t>(plane.part);
      proof.weights.cones(plane.part) += of_planes[j];
      proof.weights.models[k] += of_planes[j] * plane.model;
      if (!plane.worst) continue;
      if (proof.heads[k].size() == 0) proof.heads[k] = Vector::Zero(plane.worst->model.size());
      proof.heads[k] += of_planes[j] * plane.worst->model;
    }
    for (Index k = 0; k < parts; ++k) {
      if (proof.weights.cones(k) == 0) continue;
      proof.weights.models[static_cast<std::size_t>(k)] /= proof.weights.cones(k);
      proof.heads[static_cast<std::size_t>(k)] /= proof.weights.cones(k);
    }
    best_.lower_bound = infinity;
    best_.proof = std::move(proof);
  }

  RobustOracle* oracle_;
  const OracleProblem* problem_;
  bool is_plain_;                  // one function and no rule: closed forms
  std::vector<Support> supports_;  // at the last point
  std::vector<Plane> planes_;
  OracleResult best_;
  double most_robust_ = -infinity;
};

}  // namespace

OracleResult search_corrected(RobustOracle& oracle, const OracleProblem& problem, OracleGoal goal) {
  return Search(oracle, problem).run(goal);
}

OracleResult search_by_cuts(RobustOracle& oracle, const OracleProblem& problem) {
  return Search(oracle, problem).run_by_cuts();
}

Vector most_robust_point(RobustOracle& oracle, const OracleProblem& problem, Vector start) {
  const auto smallest = [&](const std::vector<Support>& supports) {
    double least = infinity;
    for (const Support& at : supports) least = std::min(least, at.proved);
    return least;
  };
  const auto evaluate = [&](const Vector& x) {
    std::vector<Support> supports;
    for (Index k = 0; k < oracle.parts(); ++k) supports.push_back(oracle.at(k, x));
    return supports;
  };
  Vector point = std::move(start);
  std::vector<Support> supports = evaluate(point);
  for (int ascent = 0; ascent < most_ascents; ++ascent) {
    std::vector<BoxFactor> cones;
    for (Index k = 0; k < oracle.parts(); ++k)
      cones.push_back(corrected_cone(oracle, supports[static_cast<std::size_t>(k)], k, 1));
    Vector next;
    if (cones.size() == 1 && problem.rules.empty()) {
      next = cones.front().maximize(problem.lower, problem.upper, oracle.epsilon(), point).point;
    } else {
      IntersectionProblem whole{.query = problem.query,
                                .lower = problem.lower,
                                .upper = problem.upper,
                                .rules = problem.rules};
      for (const BoxFactor& cone : cones)
        whole.cones.push_back(
            {.factor = &cone, .epsilon = oracle.epsilon(), .threshold = problem.threshold});
      next = best_common_point(whole);
    }
    std::vector<Support> there = evaluate(next);
    const double before = smallest(supports);
    if (!(smallest(there) > before + 1e-10 * std::abs(before))) break;
    supports = std::move(there);
    point = std::move(next);
  }
  return point;
}

}  // namespace ellice

#include "solver/intersection_newton.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr int newton_steps = 25;
constexpr double newton_gap = 1e-14;
// Rounding of slopes, relative to their terms.
constexpr double slope_tolerance = 1e-9;
constexpr int most_restorations = 12;

}  // namespace

IntersectionNewton::IntersectionNewton(const ReducedIntersection& problem)
    : problem_(&problem),
      states_(problem.factors().size()),
      best_cost_(infinity),
      bound_(-infinity) {}

void IntersectionNewton::offer(const Vector& x) {
  const double cost = problem_->cost().value(x);
  if (!(cost < best_cost_) || !problem_->is_feasible(x)) return;
  found_ = true;
  best_ = x;
  best_cost_ = cost;
}

void IntersectionNewton::offer(const ConeWeights& weights) {
  double bound = problem_->lower_bound(weights);
  double share = 1;
  if (bound == -infinity) {
    // Where only an absolute cost holds a coordinate back, no larger slope than that may pull it.
    const BoxCost& cost = problem_->cost();
    const Vector plane = problem_->combined(weights);
    for (Index i = 0; i < cost.d.size(); ++i) {
      const double side = plane[i] > 0 ? cost.upper[i] : cost.lower[i];
      if (cost.d[i] == 0 && std::isinf(side) && std::abs(plane[i]) > cost.c[i])
        share = std::min(share, (1 - 1e-15) * cost.c[i] / std::abs(plane[i]));
    }
    ConeWeights smaller = weights;
    smaller.cones *= share;
    smaller.rules *= share;
    bound = problem_->lower_bound(smaller);
  }
  if (!(bound > bound_)) return;
  bound_ = bound;
  bound_weights_ = weights;
  bound_weights_.cones *= share;
  bound_weights_.rules *= share;
}

void IntersectionNewton::evaluate() {
  for (std::size_t k = 0; k < states_.size(); ++k) states_[k] = problem_->evaluate(k, x_);
}

void IntersectionNewton::run(const Start& start) {
  x_ = start.point;
  multipliers_ = start.weights.cones;
  rule_multipliers_ = start.weights.rules;
  places_ = start.places;
  cones_ = start.cones;
  rules_ = start.rules;
  for (Index i = 0; i < x_.size(); ++i) {
    const auto& place = places_[static_cast<std::size_t>(i)];
    if (!place.free) x_[i] = place.value;
  }
  evaluate();
  int idle = 0;
  for (int i = 0; i < newton_steps && idle < 4; ++i) {
    check_stop();
    const double gap = best_cost_ - bound_;
    if (!step()) break;
    ++iterations_;
    pin_leavers();
    evaluate();
    const bool changed = revise();
    offer(x_);
    offer(problem_->weights_at(states_, multipliers_, rule_multipliers_));
    const double now = best_cost_ - bound_;
    if (now <= newton_gap * std::abs(best_cost_)) break;
    idle = now < 0.5 * gap || changed ? 0 : idle + 1;
  }
}

double IntersectionNewton::side(Index i) const {
  const double move = x_[i] - problem_->cost().query[i];
  return move > 0 ? 1 : move < 0 ? -1 : 0;
}

Vector IntersectionNewton::slope() const {
  Vector result = Vector::Zero(x_.size());
  for (std::size_t k = 0; k < states_.size(); ++k) {
    if (cones_[k]) result += multipliers_[static_cast<Index>(k)] * states_[k].gradient;
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (rules_[r] != 0)
      result -= rule_multipliers_[static_cast<Index>(r)] * problem_->rules()[r].coefficients;
  }
  return result;
}

// The conditions of the free coordinates and of what binds, linearised.
bool IntersectionNewton::step() {
  const BoxCost& cost = problem_->cost();
  std::vector<Index> free;
  for (Index i = 0; i < x_.size(); ++i) {
    if (places_[static_cast<std::size_t>(i)].free) free.push_back(i);
  }
  std::vector<std::size_t> cones;
  std::vector<std::size_t> rules;
  for (std::size_t k = 0; k < cones_.size(); ++k) {
    if (cones_[k]) cones.push_back(k);
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (rules_[r] != 0) rules.push_back(r);
  }
  const auto n = static_cast<Index>(free.size());
  const auto m = static_cast<Index>(cones.size() + rules.size());
  if (n == 0 || m == 0) return false;
  Matrix matrix = Matrix::Zero(n + m, n + m);
  Vector right(n + m);
  const Vector pull = slope();
  for (Index j = 0; j < n; ++j) {
    const Index i = free[static_cast<std::size_t>(j)];
    matrix(j, j) = cost.d[i];
    right[j] = pull[i] - cost.d[i] * (x_[i] - cost.center[i]) - cost.c[i] * side(i);
  }
  Index column = n;
  for (const std::size_t k : cones) {
    const RobustLogit::State& state = states_[k];
    const RobustLogit& logit = problem_->logits()[k];
    const double nu = multipliers_[static_cast<Index>(k)] * state.inverse_s;
    const Vector z = state.z(free);
    const Matrix block = logit.inverse()(free, free);
    matrix.topLeftCorner(n, n) += nu * (logit.two_epsilon() * block - z * z.transpose());
    const Vector gradient = state.gradient(free);
    matrix.col(column).head(n) = -gradient;
    matrix.row(column).head(n) = gradient.transpose();
    // A little above, because rounding of the step may take some of it.
    const double above = problem_->target(k, state) - problem_->threshold(k);
    right[column] = problem_->threshold(k) + 1.5 * above - state.value;
    ++column;
  }
  for (const std::size_t r : rules) {
    const LinearRule& rule = problem_->rules()[r];
    const Vector normal = rule.coefficients(free);
    matrix.col(column).head(n) = normal;
    matrix.row(column).head(n) = normal.transpose();
    right[column] = (rules_[r] > 0 ? rule.upper : rule.lower) - rule.coefficients.dot(x_);
    ++column;
  }
  const Vector change = matrix.fullPivLu().solve(right);
  if (!change.allFinite()) return false;
  for (Index j = 0; j < n; ++j) x_[free[static_cast<std::size_t>(j)]] += change[j];
  column = n;
  for (const std::size_t k : cones) multipliers_[static_cast<Index>(k)] += change[column++];
  for (const std::size_t r : rules) rule_multipliers_[static_cast<Index>(r)] += change[column++];
  return true;
}

void IntersectionNewton::pin_leavers() {
  const BoxCost& cost = problem_->cost();
  for (Index i = 0; i < x_.size(); ++i) {
    auto& place = places_[static_cast<std::size_t>(i)];
    if (!place.free || (x_[i] >= cost.lower[i] && x_[i] <= cost.upper[i])) continue;
    place = {.free = false, .value = x_[i] < cost.lower[i] ? cost.lower[i] : cost.upper[i]};
    x_[i] = place.value;
  }
}

bool IntersectionNewton::revise() {
  const BoxCost& cost = problem_->cost();
  bool changed = false;
  for (std::size_t k = 0; k < cones_.size(); ++k) {
    double& multiplier = multipliers_[static_cast<Index>(k)];
    const bool below = states_[k].value < problem_->threshold(k);
    if (cones_[k] && multiplier < 0) {
      multiplier = 0;
      cones_[k] = false;
      changed = true;
    } else if (!cones_[k]) {
      multiplier = 0;
      changed = changed || below;
      cones_[k] = below;
    }
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const LinearRule& rule = problem_->rules()[r];
    double& multiplier = rule_multipliers_[static_cast<Index>(r)];
    if (rule.lower == rule.upper) continue;
    const double value = rule.coefficients.dot(x_);
    if (rules_[r] != 0 && multiplier * rules_[r] < 0) {
      multiplier = 0;
      rules_[r] = 0;
      changed = true;
    } else if (rules_[r] == 0) {
      multiplier = 0;
      rules_[r] = value > rule.upper + rule.tolerance   ? 1
                  : value < rule.lower - rule.tolerance ? -1
                                                        : 0;
      changed = changed || rules_[r] != 0;
    }
  }
  // A coordinate that is held must be pushed against what holds it.
  const Vector pull = slope();
  for (Index i = 0; i < x_.size(); ++i) {
    auto& place = places_[static_cast<std::size_t>(i)];
    if (place.free) continue;
    const double base = cost.d[i] * (x_[i] - cost.center[i]);
    const double slack = slope_tolerance * (std::abs(pull[i]) + std::abs(base) + cost.c[i]);
    const double move = x_[i] - cost.query[i];
    const bool may_rise = x_[i] < cost.upper[i];
    const bool may_fall = x_[i] > cost.lower[i];
    const double up = base + (move >= 0 ? cost.c[i] : -cost.c[i]) - pull[i];
    const double down = base + (move > 0 ? cost.c[i] : -cost.c[i]) - pull[i];
    if ((may_rise && up < -slack) || (may_fall && down > slack)) {
      place = {};
      // Off the kink, so that the side is known.
      if (move == 0 && cost.c[i] > 0) {
        const double sign = may_rise && up < -slack ? 1 : -1;
        x_[i] += sign * 1e-9 * (1 + std::abs(x_[i]));
      }
      changed = true;
    }
  }
  if (changed) evaluate();
  return changed;
}

void IntersectionNewton::restore(Vector x) {
  const BoxCost& cost = problem_->cost();
  const Index d = x.size();
  for (int round = 0; round < most_restorations; ++round) {
    check_stop();
    offer(x);
    std::vector<Vector> normals;
    std::vector<double> missing;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const RobustLogit::State state = problem_->evaluate(k, x);
      const double above = problem_->target(k, state) - problem_->threshold(k);
      const double need = problem_->threshold(k) + 2 * above - state.value;
      // What is nearly violated must not become so.
      if (need < -1e-6 * state.scale) continue;
      normals.push_back(state.gradient);
      missing.push_back(std::max(need, 0.0));
    }
    for (const LinearRule& rule : problem_->rules()) {
      const double value = rule.coefficients.dot(x);
      const double size = 1e-6 * rule.coefficients.cwiseProduct(x).cwiseAbs().sum();
      if (value > rule.upper - size) {
        normals.emplace_back(-rule.coefficients);
        missing.push_back(rule.lower == rule.upper ? value - rule.upper
                                                   : std::max(value - rule.upper, 0.0));
      } else if (value < rule.lower + size) {
        normals.push_back(rule.coefficients);
        missing.push_back(rule.lower == rule.upper ? rule.lower - value
                                                   : std::max(rule.lower - value, 0.0));
      }
    }
    if (normals.empty()) return;
    const auto count = static_cast<Index>(normals.size());
    Matrix matrix(count, d);
    Vector right(count);
    for (Index j = 0; j < count; ++j) {
      matrix.row(j) = normals[static_cast<std::size_t>(j)].transpose();
      right[j] = missing[static_cast<std::size_t>(j)];
    }
    // Coordinates at rest stay there as long as the others suffice.
    const bool all = round > most_restorations / 2;
    for (Index i = 0; i < d; ++i) {
      const bool rests = x[i] <= cost.lower[i] || x[i] >= cost.upper[i] ||
                         (cost.c[i] > 0 && x[i] == cost.query[i]);
      if (rests && !all) matrix.col(i).setZero();
    }
    const Vector change = matrix.completeOrthogonalDecomposition().solve(right);
    if (!change.allFinite()) return;
    x = (x + change).cwiseMax(cost.lower).cwiseMin(cost.upper);
  }
  offer(x);
}

}  // namespace ellice

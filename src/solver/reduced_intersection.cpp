#include "solver/reduced_intersection.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice {

namespace {

// A coefficient this small against what it was summed from is rounding.
constexpr double rounding = 1e-13;

/// Σ μ_k·(θ_k − [0; t_k]) + Σ λ_r·([0; bound_r] − [a_r; 0]), and the sizes of the terms of each
/// entry.
struct HalfSpace {
  Vector value;
  Vector size;

  explicit HalfSpace(Index d) : value(Vector::Zero(d + 1)), size(Vector::Zero(d + 1)) {}
  void add(double multiplier, const Vector& model, double threshold) {
    if (multiplier == 0) return;
    value += multiplier * model;
    size += multiplier * model.cwiseAbs();
    value[value.size() - 1] -= multiplier * threshold;
    size[value.size() - 1] += std::abs(multiplier * threshold);
  }
  void add(double multiplier, const LinearRule& rule) {
    if (multiplier == 0) return;
    const Index d = value.size() - 1;
    const double bound = multiplier > 0 ? rule.upper : rule.lower;
    value.head(d) -= multiplier * rule.coefficients;
    size.head(d) += std::abs(multiplier) * rule.coefficients.cwiseAbs();
    value[d] += multiplier * bound;
    size[d] += std::abs(multiplier * bound);
  }
  [[nodiscard]] double maximum(VectorArg lower, VectorArg upper) const {
    const Index d = value.size() - 1;
    double sum = value[d];
    for (Index i = 0; i < d; ++i) {
      const double side = value[i] > 0 ? upper[i] : lower[i];
      if (std::isinf(side) && std::abs(value[i]) <= rounding * size[i]) continue;
      if (value[i] != 0) sum += value[i] * side;
    }
    return sum;
  }
};

HalfSpace half_space(const IntersectionProblem& problem, const ConeWeights& weights) {
  HalfSpace result(problem.query.size());
  for (std::size_t k = 0; k < problem.cones.size(); ++k) {
    result.add(weights.cones[static_cast<Index>(k)], weights.models[k], problem.cones[k].threshold);
  }
  for (std::size_t r = 0; r < problem.rules.size(); ++r) {
    result.add(weights.rules[static_cast<Index>(r)], problem.rules[r]);
  }
  return result;
}

HalfSpace half_space(const ReducedIntersection& problem, const ConeWeights& weights) {
  HalfSpace result(problem.size());
  for (std::size_t k = 0; k < problem.factors().size(); ++k) {
    result.add(weights.cones[static_cast<Index>(k)], weights.models[k], problem.threshold(k));
  }
  for (std::size_t r = 0; r < problem.rules().size(); ++r) {
    result.add(weights.rules[static_cast<Index>(r)], problem.rules()[r]);
  }
  return result;
}

}  // namespace

bool LinearRule::holds(VectorArg x) const {
  const double value = coefficients.dot(x);
  return value >= lower - tolerance && value <= upper + tolerance;
}

Vector combined_half_space(const IntersectionProblem& problem, const ConeWeights& weights) {
  return half_space(problem, weights).value;
}

double half_space_maximum(const IntersectionProblem& problem, const ConeWeights& weights) {
  return half_space(problem, weights).maximum(problem.lower, problem.upper);
}

ReducedIntersection::ReducedIntersection(const IntersectionProblem& problem)
    : problem_(&problem), base_(problem.query) {
  const Index d = problem.query.size();
  Vector quadratic = problem.cost.quadratic;
  Vector absolute = problem.cost.absolute;
  if (quadratic.size() == 0)
    quadratic = absolute.size() == 0 ? Vector::Ones(d) : Vector(Vector::Zero(d));
  if (absolute.size() == 0) absolute = Vector::Zero(d);
  for (Index i = 0; i < d; ++i) {
    if (problem.lower[i] < problem.upper[i]) {
      columns_.push_back(i);
      continue;
    }
    base_[i] = problem.lower[i];
    const double move = base_[i] - problem.query[i];
    paid_ += 0.5 * quadratic[i] * move * move + absolute[i] * std::abs(move);
  }
  cost_ = {.d = quadratic(columns_),
           .c = absolute(columns_),
           .center = problem.query(columns_),
           .query = problem.query(columns_),
           .lower = problem.lower(columns_),
           .upper = problem.upper(columns_)};
  factors_.reserve(problem.cones.size());
  for (const RobustCone& cone : problem.cones) {
    factors_.push_back(size() == d ? *cone.factor : cone.factor->restricted(columns_, base_));
    logits_.emplace_back(factors_.back().theta(), factors_.back().inverse(), cone.epsilon);
  }
  Vector held = base_;
  for (const Index column : columns_) held[column] = 0;
  for (const LinearRule& rule : problem.rules) {
    const double constant = rule.coefficients.dot(held);
    rules_.push_back({.coefficients = rule.coefficients(columns_),
                      .lower = rule.lower - constant,
                      .upper = rule.upper - constant,
                      .tolerance = rule.tolerance});
  }
}

Vector ReducedIntersection::full(const Vector& reduced) const {
  Vector result = base_;
  result(columns_) = reduced;
  return result;
}

// With x̃ = J·[y; 1], a reduced model is Jᵀθ. Of the models with the same Jᵀθ the nearest to the
// centre is θ − H⁻¹J(JᵀH⁻¹J)⁻¹δ, δ being how far the reduced one lies from its own centre: as far.
ConeWeights ReducedIntersection::full(const ConeWeights& reduced) const {
  if (size() == base_.size()) return reduced;
  ConeWeights result = reduced;
  Vector rest(base_.size() + 1);
  rest << base_, 1;
  for (const Index column : columns_) rest[column] = 0;
  for (std::size_t k = 0; k < factors_.size(); ++k) {
    const Vector away = factors_[k].theta() - reduced.models[k];
    const Vector inner = factors_[k].inverse().ldlt().solve(away);
    Vector image = inner[size()] * rest;
    image(columns_) += inner.head(size());
    const BoxFactor& whole = *problem_->cones[k].factor;
    result.models[k] = whole.theta() - whole.inverse() * image;
  }
  return result;
}

RobustLogit::State ReducedIntersection::evaluate(std::size_t k, const Vector& x) const {
  RobustLogit::State state;
  state.x = x;
  logits_[k].evaluate(state);
  return state;
}

double ReducedIntersection::target(std::size_t k, const RobustLogit::State& state) const {
  return threshold(k) + margin() * (state.scale + std::abs(threshold(k)));
}

ConeWeights ReducedIntersection::weights_at(const std::vector<RobustLogit::State>& states,
                                            const Vector& multipliers, const Vector& rules) const {
  ConeWeights result{.cones = multipliers.cwiseMax(0), .rules = rules};
  for (std::size_t k = 0; k < states.size(); ++k)
    result.models.push_back(worst_model(k, states[k]));
  // A side that is not there has no weight.
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    double& weight = result.rules[static_cast<Index>(r)];
    if (std::isinf(weight > 0 ? rules_[r].upper : rules_[r].lower)) weight = 0;
  }
  return result;
}

Vector ReducedIntersection::combined(const ConeWeights& weights) const {
  return half_space(*this, weights).value;
}

double ReducedIntersection::maximum(const ConeWeights& weights) const {
  return half_space(*this, weights).maximum(cost_.lower, cost_.upper);
}

double ReducedIntersection::lower_bound(const ConeWeights& weights) const {
  const Vector plane = combined(weights);
  double sum = -plane[size()];
  for (Index i = 0; i < size(); ++i) {
    const double x = cost_.minimiser(i, plane[i]).x;
    if (!std::isfinite(x)) return -infinity;
    const double move = x - cost_.query[i];
    sum += 0.5 * cost_.d[i] * move * move + cost_.c[i] * std::abs(move) - plane[i] * x;
  }
  return sum;
}

bool ReducedIntersection::is_feasible(const Vector& x) const {
  for (const LinearRule& rule : rules_) {
    if (!rule.holds(x)) return false;
  }
  for (std::size_t k = 0; k < logits_.size(); ++k) {
    const RobustLogit::State state = evaluate(k, x);
    if (!(state.value >= target(k, state))) return false;
  }
  return (x.array() >= cost_.lower.array()).all() && (x.array() <= cost_.upper.array()).all();
}

}  // namespace ellice

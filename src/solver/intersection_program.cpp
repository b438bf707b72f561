#include "solver/intersection_program.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// A coefficient this small against what it was summed from is rounding.
constexpr double rounding = 1e-13;
// Keeps the search for a common point finite where the box is not.
constexpr double pull_bounded = 1e-9;
constexpr double pull_unbounded = 1e-6;
constexpr double far = 1e7;

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

}  // namespace

bool LinearRule::holds(VectorArg x) const {
  const double value = coefficients.dot(x);
  return value >= lower - tolerance && value <= upper + tolerance;
}

Vector combined_half_space(const IntersectionProblem& problem, const ConeWeights& weights) {
  HalfSpace result(problem.query.size());
  for (std::size_t k = 0; k < problem.cones.size(); ++k) {
    result.add(weights.cones[static_cast<Index>(k)], weights.models[k], problem.cones[k].threshold);
  }
  for (std::size_t r = 0; r < problem.rules.size(); ++r) {
    result.add(weights.rules[static_cast<Index>(r)], problem.rules[r]);
  }
  return result.value;
}

double half_space_maximum(const IntersectionProblem& problem, const ConeWeights& weights) {
  HalfSpace result(problem.query.size());
  for (std::size_t k = 0; k < problem.cones.size(); ++k) {
    result.add(weights.cones[static_cast<Index>(k)], weights.models[k], problem.cones[k].threshold);
  }
  for (std::size_t r = 0; r < problem.rules.size(); ++r) {
    result.add(weights.rules[static_cast<Index>(r)], problem.rules[r]);
  }
  return result.maximum(problem.lower, problem.upper);
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
  for (const RobustLogit::State& state : states) {
    Vector model(size() + 1);
    model << state.gradient, state.value - state.gradient.dot(state.x);
    result.models.push_back(std::move(model));
  }
  // A side that is not there has no weight.
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    double& weight = result.rules[static_cast<Index>(r)];
    if (std::isinf(weight > 0 ? rules_[r].upper : rules_[r].lower)) weight = 0;
  }
  return result;
}

namespace {

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

IntersectionProgram::IntersectionProgram(const ReducedIntersection& problem, Aim aim)
    : problem_(&problem) {
  const Index d = problem.size();
  const bool seeks_slack = aim != Aim::cost;
  program_.quadratic = Vector::Zero(d);
  program_.linear = Vector::Zero(d);
  bounds_.resize(static_cast<std::size_t>(d));
  std::optional<Index> slack;
  if (seeks_slack) {
    slack = d;
    program_.quadratic.conservativeResizeLike(Vector::Zero(d + 1));
    program_.linear.conservativeResizeLike(Vector::Zero(d + 1));
    program_.linear[d] = -1;
    for (Index i = 0; i < d; ++i) {
      const bool bounded =
          std::isfinite(problem.cost().lower[i]) && std::isfinite(problem.cost().upper[i]);
      program_.quadratic[i] = bounded ? pull_bounded : pull_unbounded;
    }
    // More than enough is enough, unless the most is wanted.
    if (aim == Aim::common_point) program_.rows.push_back({.terms = {{d, 1}}, .bound = 1});
  } else {
    add_cost();
  }
  add_bounds();
  add_cones(slack);
  add_rules(aim == Aim::common_point ? slack : std::nullopt);
}

void IntersectionProgram::add_cost() {
  const BoxCost& cost = problem_->cost();
  const Index d = problem_->size();
  program_.quadratic.head(d) = cost.d;
  std::vector<Index> kinks;
  for (Index i = 0; i < d; ++i) {
    if (cost.c[i] == 0) continue;
    if (cost.query[i] >= cost.upper[i]) {
      program_.linear[i] = -cost.c[i];
    } else if (cost.query[i] <= cost.lower[i]) {
      program_.linear[i] = cost.c[i];
    } else {
      kinks.push_back(i);
    }
  }
  // e ≥ |y|, at c per unit.
  const auto count = static_cast<Index>(kinks.size());
  program_.quadratic.conservativeResizeLike(Vector::Zero(d + count));
  program_.linear.conservativeResizeLike(Vector::Zero(d + count));
  for (Index k = 0; k < count; ++k) {
    const Index i = kinks[static_cast<std::size_t>(k)];
    BoundPlace& place = bounds_[static_cast<std::size_t>(i)];
    program_.linear[d + k] = cost.c[i];
    place.rise = program_.rows.size();
    program_.rows.push_back({.terms = {{i, 1}, {d + k, -1}}});
    place.fall = program_.rows.size();
    program_.rows.push_back({.terms = {{i, -1}, {d + k, -1}}});
  }
}

void IntersectionProgram::add_bounds() {
  const BoxCost& cost = problem_->cost();
  for (Index i = 0; i < problem_->size(); ++i) {
    BoundPlace& place = bounds_[static_cast<std::size_t>(i)];
    if (std::isfinite(cost.lower[i])) {
      place.lower = program_.rows.size();
      program_.rows.push_back({.terms = {{i, -1}}, .bound = cost.query[i] - cost.lower[i]});
    }
    if (std::isfinite(cost.upper[i])) {
      place.upper = program_.rows.size();
      program_.rows.push_back({.terms = {{i, 1}}, .bound = cost.upper[i] - cost.query[i]});
    }
  }
}

void IntersectionProgram::add_cones(std::optional<Index> slack) {
  const Index d = problem_->size();
  const Index size = program_.linear.size();
  for (std::size_t k = 0; k < problem_->factors().size(); ++k) {
    const BoxFactor& factor = problem_->factors()[k];
    const RobustLogit::State state = problem_->evaluate(k, problem_->cost().query);
    const double epsilon = problem_->epsilon(k);
    Vector slope = Vector::Zero(size);
    slope.head(d) = factor.theta().head(d);
    double offset = state.value + state.s - problem_->target(k, state);
    ConePlace place;
    if (epsilon == 0) {
      const double norm = slope.norm();
      place.scale = norm > 0 ? 1 / norm : 1;
      ConicRow row{.bound = place.scale * offset};
      for (Index i = 0; i < d; ++i) row.terms.emplace_back(i, -place.scale * slope[i]);
      if (slack) row.terms.emplace_back(*slack, 1);
      place.row = program_.rows.size();
      program_.rows.push_back(std::move(row));
    } else {
      const Eigen::LLT<Matrix> root(factor.inverse());
      const Matrix upper = std::sqrt(2 * epsilon) * Matrix(root.matrixU());
      Vector lifted(d + 1);
      lifted << problem_->cost().query, 1;
      const double norm = std::max(slope.norm(), upper.leftCols(d).norm());
      place.scale = norm > 0 ? 1 / norm : 1;
      slope *= place.scale;
      if (slack) slope[*slack] = -1;
      place.block = program_.blocks.size();
      program_.blocks.push_back({.slope = std::move(slope),
                                 .offset = place.scale * offset,
                                 .factor = place.scale * upper.leftCols(d),
                                 .shift = place.scale * (upper * lifted)});
    }
    cones_.push_back(place);
  }
}

void IntersectionProgram::add_rules(std::optional<Index> slack) {
  for (const LinearRule& rule : problem_->rules()) {
    RulePlace place;
    const double norm = rule.coefficients.norm();
    if (norm == 0) {
      rules_.push_back(place);
      continue;
    }
    place.scale = 1 / norm;
    const double at_query = rule.coefficients.dot(problem_->cost().query);
    const auto row = [&](double sign, double bound) {
      ConicRow result{.bound = sign * place.scale * (bound - at_query)};
      for (Index i = 0; i < rule.coefficients.size(); ++i) {
        if (rule.coefficients[i] != 0)
          result.terms.emplace_back(i, sign * place.scale * rule.coefficients[i]);
      }
      if (slack) result.terms.emplace_back(*slack, 1);
      return result;
    };
    if (rule.lower == rule.upper && !slack) {
      place.equality = program_.equalities.size();
      program_.equalities.push_back(row(1, rule.upper));
    } else {
      if (std::isfinite(rule.upper)) {
        place.upper = program_.rows.size();
        program_.rows.push_back(row(1, rule.upper));
      }
      if (std::isfinite(rule.lower)) {
        place.lower = program_.rows.size();
        program_.rows.push_back(row(-1, rule.lower));
      }
    }
    rules_.push_back(place);
  }
}

Vector IntersectionProgram::point(const ConicIterate& iterate) const {
  const BoxCost& cost = problem_->cost();
  return (cost.query + iterate.point.head(problem_->size()))
      .cwiseMax(cost.lower.cwiseMax(-far))
      .cwiseMin(cost.upper.cwiseMin(far));
}

ConeWeights IntersectionProgram::weights(const ConicIterate& iterate) const {
  const Index d = problem_->size();
  ConeWeights result{.cones = Vector::Zero(static_cast<Index>(cones_.size())),
                     .rules = Vector::Zero(static_cast<Index>(rules_.size()))};
  for (std::size_t k = 0; k < cones_.size(); ++k) {
    const ConePlace& place = cones_[k];
    const Vector& theta = problem_->factors()[k].theta();
    double& weight = result.cones[static_cast<Index>(k)];
    if (place.row) {
      weight = place.scale * iterate.row_multipliers[static_cast<Index>(*place.row)];
      result.models.push_back(theta);
      continue;
    }
    const Vector& z = iterate.block_multipliers[place.block];
    weight = place.scale * z[0];
    const ConicBlock& block = program_.blocks[place.block];
    const Vector direction = z.tail(d + 1) / (place.scale * z[0]);
    Vector model = theta;
    model.head(d) += block.factor.transpose() * direction;
    // The last column of the factor is what its shift is, less the others at the query.
    const Vector last = block.shift - block.factor * problem_->cost().query;
    model[d] += last.dot(direction);
    result.models.push_back(std::move(model));
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const RulePlace& place = rules_[r];
    double& weight = result.rules[static_cast<Index>(r)];
    if (place.upper) weight += iterate.row_multipliers[static_cast<Index>(*place.upper)];
    if (place.lower) weight -= iterate.row_multipliers[static_cast<Index>(*place.lower)];
    if (place.equality) weight += iterate.equality_multipliers[static_cast<Index>(*place.equality)];
    weight *= place.scale;
    const LinearRule& rule = problem_->rules()[r];
    if (std::isinf(weight > 0 ? rule.upper : rule.lower)) weight = 0;
  }
  return result;
}

namespace {

/// Of a pair whose product goes to zero, the multiplier is what stays.
bool binds(const ConicIterate& iterate, const std::optional<std::size_t>& row) {
  if (!row) return false;
  const auto j = static_cast<Index>(*row);
  return iterate.row_multipliers[j] > iterate.row_slacks[j];
}

}  // namespace

std::vector<IntersectionProgram::Place> IntersectionProgram::places(
    const ConicIterate& iterate) const {
  const BoxCost& cost = problem_->cost();
  std::vector<Place> result;
  for (Index i = 0; i < problem_->size(); ++i) {
    const BoundPlace& place = bounds_[static_cast<std::size_t>(i)];
    if (binds(iterate, place.lower)) {
      result.push_back({.free = false, .value = cost.lower[i]});
    } else if (binds(iterate, place.upper)) {
      result.push_back({.free = false, .value = cost.upper[i]});
    } else if (binds(iterate, place.rise) && binds(iterate, place.fall)) {
      result.push_back({.free = false, .value = cost.query[i]});
    } else {
      result.push_back({});
    }
  }
  return result;
}

std::vector<bool> IntersectionProgram::active_cones(const ConicIterate& iterate) const {
  std::vector<bool> result;
  for (const ConePlace& place : cones_) {
    if (place.row) {
      result.push_back(binds(iterate, place.row));
      continue;
    }
    const Vector& s = iterate.block_slacks[place.block];
    const Vector& z = iterate.block_multipliers[place.block];
    // On the cone's boundary the slack is its own length; well inside it is not.
    const double inside = s[0] - s.tail(s.size() - 1).norm();
    result.push_back(z[0] > inside);
  }
  return result;
}

std::vector<int> IntersectionProgram::active_rules(const ConicIterate& iterate) const {
  std::vector<int> result;
  for (const RulePlace& place : rules_) {
    if (place.equality) {
      result.push_back(1);
    } else {
      result.push_back(binds(iterate, place.upper) ? 1 : binds(iterate, place.lower) ? -1 : 0);
    }
  }
  return result;
}

}  // namespace ellice

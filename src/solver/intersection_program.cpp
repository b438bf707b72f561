#include "solver/intersection_program.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "solver/tolerances.hpp"

namespace ellice {

namespace {

// Keeps the search for a common point finite where the box is not.
constexpr double pull_bounded = 1e-9;
constexpr double pull_unbounded = 1e-6;

/// Of a pair whose product goes to zero, the multiplier is what stays.
bool binds(const ConicIterate& iterate, const std::optional<std::size_t>& row) {
  if (!row) return false;
  const auto j = static_cast<Index>(*row);
  return iterate.row_multipliers[j] > iterate.row_slacks[j];
}

}  // namespace

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
      .cwiseMax(cost.lower.cwiseMax(-far_away))
      .cwiseMin(cost.upper.cwiseMin(far_away));
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

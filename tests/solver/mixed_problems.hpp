#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/infinity.hpp"
#include "solver/branch_and_bound.hpp"
#include "solver/robust_problems.hpp"

/// Random problems with units of every kind, and their optimum by trying everything.
namespace ellice::mixed_problems {

using robust_problems::Oracle;

enum class Shape { squares, absolutes, both };

/// Some units of every kind, in the columns of an instance.
inline MixedProblem random_problem(Index d, Shape shape, double epsilon, std::uint64_t seed) {
  Random random(seed);
  MixedProblem problem{
      .query = random.normal_vector(d), .epsilon = epsilon, .threshold = random.normal()};
  for (Index column = 0; column < d;) {
    MixedUnit unit{.column = column};
    const std::uint64_t kind = random.below(5);
    if (kind == 0 && column + 3 <= d) {  // a category of three levels
      unit.width = 3;
      problem.query.segment(column, 3) = Vector::Unit(3, 0);
      const double weight = std::exp(random.normal());
      for (Index k = 1; k < 3; ++k)
        unit.options.push_back({.values = Vector::Unit(3, k), .cost = 2 * weight});
    } else {
      const double weight = std::exp(random.normal());
      if (shape != Shape::absolutes) unit.quadratic = 2 * weight;
      if (shape != Shape::squares) unit.absolute = weight;
      const double query = problem.query[column];
      unit.lower = query - 2 * random.uniform();
      unit.upper = query + 2 * random.uniform();
      if (random.below(4) == 0) unit.lower = query + 0.3;  // the query lies outside
      if (unit.upper < unit.lower) unit.upper = unit.lower + 1;
      if (kind == 1 || kind == 0) {
        unit.step = 0.2 + 0.5 * random.uniform();
        unit.offset = random.below(2) == 0 ? query : random.normal();
      } else if (kind == 2) {
        for (int k = 0; k < 4; ++k) unit.values.push_back(query + 1.5 * random.normal());
        std::sort(unit.values.begin(), unit.values.end());
        unit.lower = -infinity;
        unit.upper = infinity;
      }
    }
    column += unit.width;
    problem.units.push_back(unit);
  }
  return problem;
}

/// Everything that a unit may do by itself: own value, grid values, options; a number without grid
/// moves freely (one entry for that).
struct Deed {
  bool moves = false;
  bool free = false;
  Vector values = {};
  double cost = 0;
};

inline std::vector<Deed> deeds(const MixedUnit& unit, double query) {
  std::vector<Deed> result = {{}};
  const auto number = [&](double value) {
    if (value < unit.lower || value > unit.upper || std::abs(value - query) < 1e-9) return;
    const double move = value - query;
    result.push_back(
        {.moves = true,
         .values = Vector::Constant(1, value),
         .cost = unit.quadratic / 2 * move * move + unit.absolute * std::abs(move) + unit.charge});
  };
  if (unit.is_group()) {
    for (const MixedOption& option : unit.options)
      result.push_back({.moves = true, .values = option.values, .cost = option.cost});
  } else if (unit.step) {
    for (int k = -200; k <= 200; ++k) number(unit.offset + k * *unit.step);
  } else if (!unit.values.empty()) {
    for (const double value : unit.values) number(value);
  } else {
    result.push_back({.moves = true, .free = true, .cost = unit.charge});
  }
  return result;
}

/// Tries every combination; the numbers without grid are solved for each.
inline double brute_force(const std::vector<BoxFactor>& factors, const std::vector<Oracle>& oracles,
                          const MixedProblem& problem) {
  std::vector<std::vector<Deed>> all;
  for (const MixedUnit& unit : problem.units)
    all.push_back(deeds(unit, problem.query[unit.column]));
  double best = infinity;
  std::vector<std::size_t> pick(all.size(), 0);
  const std::size_t most = problem.max_changes.value_or(all.size());
  const std::function<void(std::size_t, std::size_t, double)> visit =
      [&](std::size_t u, std::size_t changes, double paid) {
        if (changes > most || paid >= best) return;
        if (u < all.size()) {
          for (pick[u] = 0; pick[u] < all[u].size(); ++pick[u]) {
            const Deed& deed = all[u][pick[u]];
            visit(u + 1, changes + (deed.moves ? 1 : 0), paid + deed.cost);
          }
          return;
        }
        for (const auto& set : problem.forbidden) {
          if (std::all_of(set.begin(), set.end(), [&](std::size_t v) { return pick[v] > 0; }))
            return;
        }
        const Index d = problem.query.size();
        BoxProblem box{.query = problem.query,
                       .lower = problem.query,
                       .upper = problem.query,
                       .cost = {.quadratic = Vector::Zero(d), .absolute = Vector::Zero(d)},
                       .epsilon = problem.epsilon,
                       .threshold = problem.threshold};
        bool free = false;
        for (std::size_t v = 0; v < all.size(); ++v) {
          const MixedUnit& unit = problem.units[v];
          const Deed& deed = all[v][pick[v]];
          if (deed.free) {
            free = true;
            box.lower[unit.column] = unit.lower;
            box.upper[unit.column] = unit.upper;
          } else if (deed.moves) {
            box.query.segment(unit.column, unit.width) = deed.values;
            box.lower.segment(unit.column, unit.width) = deed.values;
            box.upper.segment(unit.column, unit.width) = deed.values;
          }
          // Held columns cost nothing, but the solver wants weights for all.
          box.cost.quadratic.segment(unit.column, unit.width).setConstant(unit.quadratic);
          box.cost.absolute.segment(unit.column, unit.width).setConstant(unit.absolute);
        }
        const double quadratic = box.cost.quadratic.maxCoeff();
        const double absolute = box.cost.absolute.maxCoeff();
        for (Index i = 0; i < d; ++i) {
          if (quadratic > 0 && box.cost.quadratic[i] == 0) box.cost.quadratic[i] = 1;
          if (quadratic == 0 && absolute > 0 && box.cost.absolute[i] == 0) box.cost.absolute[i] = 1;
        }
        if (!free) {
          for (const Oracle& oracle : oracles) {
            if (oracle(box.lower, problem.epsilon).g < problem.threshold) return;
          }
          for (const LinearRule& rule : problem.rules) {
            const double value = rule.coefficients.dot(box.lower);
            if (value > rule.upper + 1e-12 || value < rule.lower - 1e-12) return;
          }
          best = std::min(best, paid);
          return;
        }
        if (factors.size() == 1 && problem.rules.empty()) {
          const BoxProjection solved = factors[0].project(box);
          if (solved.status == BoxStatus::infeasible || solved.margin < 0) return;
          best = std::min(best, paid + solved.objective);
          return;
        }
        IntersectionProblem rest{.query = box.query,
                                 .lower = box.lower,
                                 .upper = box.upper,
                                 .cost = box.cost,
                                 .rules = problem.rules};
        for (const BoxFactor& factor : factors) {
          rest.cones.push_back(
              {.factor = &factor, .epsilon = problem.epsilon, .threshold = problem.threshold});
        }
        const ConeIntersection solved = intersect_cones(rest);
        if (solved.feasible) best = std::min(best, paid + solved.objective);
      };
  visit(0, 0, 0);
  return best;
}

}  // namespace ellice::mixed_problems

#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/infinity.hpp"
#include "solver/branch_and_bound.hpp"
#include "solver/robust_problems.hpp"

/// Small problems in which everything is discrete, with every oddity that the contract allows, and
/// their optimum by enumeration. Shares nothing with the searches.
namespace ellice::value_problems {

using robust_problems::Instance;

/// One thing that a unit may do.
struct Deed {
  Vector values = {};
  double cost = 0;
  bool changes = false;
};

inline std::vector<Deed> deeds(const MixedUnit& unit, const Vector& query) {
  const Vector own = query.segment(unit.column, unit.width);
  std::vector<Deed> result;
  if (unit.stays) result.push_back({.values = own});
  for (const MixedOption& option : unit.options) {
    if (option.values != own)
      result.push_back({.values = option.values, .cost = option.cost, .changes = true});
  }
  if (unit.is_group()) return result;
  const auto add = [&](double value) {
    const double slack = 1e-9;
    if (value < unit.lower - slack || value > unit.upper + slack) return;
    if (std::abs(value - own[0]) < 1e-9) return;
    const double move = value - own[0];
    result.push_back(
        {.values = Vector::Constant(1, value),
         .cost = unit.charge + unit.quadratic / 2 * move * move + unit.absolute * std::abs(move),
         .changes = true});
  };
  for (const double value : unit.values) add(value);
  if (unit.step) {
    for (int k = -400; k <= 400; ++k) add(unit.offset + k * *unit.step);
  }
  return result;
}

/// The least cost of points that are robust by `slack` at least.
class Enumeration {
 public:
  Enumeration(const Instance& instance, const MixedProblem& problem)
      : problem_(problem), theta_(instance.theta), inverse_(instance.hessian.inverse()) {
    for (const MixedUnit& unit : problem.units) deeds_.push_back(deeds(unit, problem.query));
  }

  [[nodiscard]] double combinations() const {
    double product = 1;
    for (const std::vector<Deed>& unit : deeds_) product *= static_cast<double>(unit.size());
    return product;
  }

  [[nodiscard]] double best(double slack) {
    slack_ = slack;
    best_ = problem_.cutoff;
    x_ = problem_.query;
    changed_.assign(deeds_.size(), false);
    visit(0, 0, 0);
    return best_ < problem_.cutoff ? best_ : infinity;
  }

  [[nodiscard]] double robust_logit(const Vector& x) const {
    Vector lifted(x.size() + 1);
    lifted << x, 1;
    return theta_.dot(lifted) - std::sqrt(2 * problem_.epsilon * lifted.dot(inverse_ * lifted));
  }

  /// The cost of a point and how many units it changes; ∞ if a unit cannot do that.
  [[nodiscard]] double cost_of(const Vector& x, std::vector<bool>& changed) const {
    double sum = 0;
    changed.assign(deeds_.size(), false);
    for (std::size_t u = 0; u < deeds_.size(); ++u) {
      const MixedUnit& unit = problem_.units[u];
      double least = infinity;
      for (const Deed& deed : deeds_[u]) {
        const Vector away = x.segment(unit.column, unit.width) - deed.values;
        if (away.cwiseAbs().maxCoeff() > 1e-9 || deed.cost >= least) continue;
        least = deed.cost;
        changed[u] = deed.changes;
      }
      sum += least;
    }
    return sum;
  }

  [[nodiscard]] bool is_allowed(const std::vector<bool>& changed, const Vector& x) const {
    const auto count = static_cast<std::size_t>(std::count(changed.begin(), changed.end(), true));
    if (problem_.max_changes && count > *problem_.max_changes) return false;
    for (const std::vector<std::size_t>& set : problem_.forbidden) {
      if (std::all_of(set.begin(), set.end(), [&](std::size_t u) { return changed[u]; }))
        return false;
    }
    for (const LinearRule& rule : problem_.rules) {
      const double value = rule.coefficients.dot(x);
      if (value > rule.upper + 1e-9 || value < rule.lower - 1e-9) return false;
    }
    return true;
  }

 private:
  void visit(std::size_t u, double paid, std::size_t changes) {
    if (paid >= best_) return;
    if (problem_.max_changes && changes > *problem_.max_changes) return;
    if (u < deeds_.size()) {
      const MixedUnit& unit = problem_.units[u];
      for (const Deed& deed : deeds_[u]) {
        x_.segment(unit.column, unit.width) = deed.values;
        changed_[u] = deed.changes;
        visit(u + 1, paid + deed.cost, changes + (deed.changes ? 1 : 0));
      }
      return;
    }
    if (!is_allowed(changed_, x_)) return;
    if (robust_logit(x_) >= problem_.threshold + slack_) best_ = paid;
  }

  MixedProblem problem_;
  Vector theta_;
  Matrix inverse_;
  std::vector<std::vector<Deed>> deeds_;
  std::vector<bool> changed_;
  Vector x_;
  double slack_ = 0;
  double best_ = 0;
};

/// A number on a grid, a list or a group, with what may be odd about it.
inline MixedUnit random_unit(Random& random, Vector& query, Index column, Index columns,
                             int cost_kind, bool charges) {
  MixedUnit unit{.column = column};
  const double weight = std::exp(random.normal());
  const double charge = charges && random.below(2) == 0 ? 0.3 * random.uniform() : 0;
  if (random.below(3) == 0) {
    unit.width = 1 + static_cast<Index>(random.below(
                         static_cast<std::uint64_t>(std::min<Index>(4, columns - column))));
    const std::uint64_t count = 1 + random.below(4);
    const bool one_hot = unit.width > 1 && random.below(2) == 0;
    if (one_hot) query.segment(column, unit.width) = Vector::Unit(unit.width, 0);
    for (std::uint64_t k = 0; k < count; ++k) {
      MixedOption option{.values = random.normal_vector(unit.width),
                         .cost = charge + weight * (0.2 + random.uniform())};
      if (one_hot) option.values = Vector::Unit(unit.width, static_cast<Index>(k) % unit.width);
      unit.options.push_back(option);
    }
    if (random.below(6) == 0) unit.options.push_back(unit.options.front());  // a duplicate
    // The query's own values, offered once more.
    if (random.below(6) == 0 && !one_hot)
      unit.options.push_back({.values = query.segment(column, unit.width), .cost = 1});
    unit.stays = random.below(8) != 0 || one_hot;
    return unit;
  }
  const double own = query[column];
  if (cost_kind != 1) unit.quadratic = 2 * weight;
  if (cost_kind != 0) unit.absolute = weight;
  unit.charge = charge;
  unit.stays = random.below(6) != 0;
  unit.lower = own - 1.5 * random.uniform();
  unit.upper = own + 1.5 * random.uniform();
  if (random.below(5) == 0) unit.lower = own;  // may only rise
  if (random.below(5) == 0) unit.upper = own;  // may only fall
  if (random.below(6) == 0) unit.lower = own + 0.4;
  if (random.below(6) == 0) unit.upper = own - 0.4;
  if (unit.upper < unit.lower) unit.upper = unit.lower + 0.7;
  if (random.below(4) == 0) {
    for (int k = 0; k < 4; ++k) unit.values.push_back(own + random.normal());
    if (random.below(3) == 0) unit.values.push_back(own);
    std::sort(unit.values.begin(), unit.values.end());
    if (random.below(2) == 0) unit.lower = -infinity;
    if (random.below(2) == 0) unit.upper = infinity;
    return unit;
  }
  unit.step = random.below(2) == 0 ? 0.1 + 0.14 * random.uniform() : 0.26 + random.uniform();
  unit.offset = random.below(2) == 0 ? own + 3 * *unit.step : random.normal();
  return unit;
}

inline MixedProblem random_problem(Index columns, std::uint64_t seed) {
  Random random(seed);
  MixedProblem problem{.query = random.normal_vector(columns)};
  const std::array<double, 5> levels = {0, 0.005, 0.02, 0.1, 0.4};
  problem.epsilon = levels[random.below(levels.size())];
  const int cost_kind = static_cast<int>(random.below(3));
  const bool charges = random.below(2) == 0;
  for (Index column = 0; column < columns;) {
    if (random.below(8) == 0) {  // a column that stays as it is
      ++column;
      continue;
    }
    problem.units.push_back(
        random_unit(random, problem.query, column, columns, cost_kind, charges));
    column += problem.units.back().width;
  }
  problem.threshold = random.normal();
  if (random.below(3) == 0) {
    const std::uint64_t rules = 1 + random.below(3);
    for (std::uint64_t r = 0; r < rules; ++r) {
      LinearRule rule{.coefficients = random.normal_vector(columns), .tolerance = 1e-10};
      const double at_query = rule.coefficients.dot(problem.query);
      if (random.below(3) != 0) rule.upper = at_query + 0.6 * random.normal();
      if (random.below(3) == 0) rule.lower = std::min(rule.upper, at_query + 1) - 0.7;
      problem.rules.push_back(rule);
    }
  }
  if (random.below(3) == 0) problem.max_changes = 1 + random.below(3);
  if (random.below(4) == 0 && !problem.units.empty()) {
    for (std::uint64_t k = 0; k <= random.below(3); ++k) {
      std::vector<std::size_t> set;
      for (std::size_t u = 0; u < problem.units.size(); ++u) {
        if (random.below(3) == 0) set.push_back(u);
      }
      if (!set.empty()) problem.forbidden.push_back(set);
    }
  }
  return problem;
}

}  // namespace ellice::value_problems

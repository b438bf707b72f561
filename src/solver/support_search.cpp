#include "solver/support_search.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr std::size_t most_support_cuts = 40;
constexpr double cut_tolerance = 1e-13;
// A set of units is looked at in a fraction of the time that a part of the general search takes.
constexpr std::size_t sets_per_part = 50;
constexpr std::size_t sets_per_look_at_the_clock = 256;
// Where H is badly conditioned, the bounds of solved sets end a little short of their costs.
constexpr double support_gap = 5e-10;

}  // namespace

SupportSearch::SupportSearch(const BoxFactor& factor, const MixedProblem& problem)
    : factor_(&factor),
      problem_(&problem),
      logit_(factor.theta(), factor.inverse(), problem.epsilon),
      point_(problem.query) {
  for (const MixedUnit& unit : problem.units) {
    units_.emplace_back(unit, problem.query[unit.column]);
    domains_.push_back(units_.back().whole());
    if (domains_.back().moves) order_.push_back(units_.size() - 1);
  }
  relax();
}

void SupportSearch::relax() {
  const Index d = problem_->query.size();
  const bool squares =
      std::any_of(problem_->units.begin(), problem_->units.end(),
                  [](const MixedUnit& unit) { return unit.is_group() || unit.quadratic > 0; });
  BoxProblem box{.query = problem_->query,
                 .lower = problem_->query,
                 .upper = problem_->query,
                 .cost = {.quadratic = Vector::Constant(d, squares ? 1 : 0),
                          .absolute = Vector::Constant(d, squares ? 0 : 1)},
                 .epsilon = problem_->epsilon,
                 .threshold = problem_->threshold};
  for (const std::size_t u : order_) {
    const MixedUnit& unit = units_[u].unit();
    auto lower = box.lower.segment(unit.column, unit.width);
    auto upper = box.upper.segment(unit.column, unit.width);
    for (const MixedOption& option : unit.options) {
      lower = lower.cwiseMin(option.values).eval();
      upper = upper.cwiseMax(option.values).eval();
    }
    if (unit.is_group()) continue;
    lower[0] = std::min(lower[0], domains_[u].lower);
    upper[0] = std::max(upper[0], domains_[u].upper);
    if (unit.quadratic > 0) box.cost.quadratic[unit.column] = unit.quadratic;
    box.cost.absolute[unit.column] = unit.absolute;
  }
  const BoxProjection relaxed = factor_->project(box);
  is_impossible_ = relaxed.status == BoxStatus::infeasible;
  if (is_impossible_) return;
  const RobustLogit::State state = evaluate(relaxed.point);
  const SupportCut cut = make_cut(state);
  std::vector<std::size_t> places(order_.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return cut.gain[a] > cut.gain[b]; });
  std::vector<std::size_t> sorted;
  for (const std::size_t place : places) sorted.push_back(order_[place]);
  order_ = std::move(sorted);
  add_cut(state);
  add_cut(evaluate(problem_->query));
}

SupportCut SupportSearch::make_cut(const RobustLogit::State& state) const {
  SupportCut cut{.need = problem_->threshold - state.value -
                         state.gradient.dot(problem_->query - state.x)};
  double size = std::abs(cut.need) + scale(state);
  for (const std::size_t u : order_) {
    const MixedUnit& unit = units_[u].unit();
    double gain = 0;
    double efficiency = 0;
    std::vector<double> gains;
    if (unit.is_group()) {
      const auto slope = state.gradient.segment(unit.column, unit.width);
      const double own = slope.dot(problem_->query.segment(unit.column, unit.width));
      for (const MixedOption& option : unit.options) {
        gains.push_back(slope.dot(option.values) - own);
        gain = std::max(gain, gains.back());
        if (gains.back() > 0) {
          efficiency = std::max(efficiency, gains.back() * gains.back() / option.cost);
        }
      }
    } else {
      // gain²/cost grows with the length of the move.
      const double slope = state.gradient[unit.column];
      const double end = slope > 0 ? domains_[u].upper : domains_[u].lower;
      gain = std::max(0.0, slope * (end - problem_->query[unit.column]));
      if (gain > 0) efficiency = gain * gain / (unit.charge + units_[u].cost(end));
    }
    size += gain;
    cut.gain.push_back(gain);
    cut.efficiency.push_back(efficiency);
    cut.option_gains.push_back(std::move(gains));
  }
  cut.need -= cut_tolerance * size;
  return cut;
}

void SupportSearch::prepare(SupportCut& cut) const {
  const std::size_t n = order_.size();
  const auto fill = [&](const std::vector<double>& values, std::vector<double>& sums) {
    sums.assign((n + 1) * (changes_ + 1), 0);
    std::vector<double> largest;
    for (std::size_t i = n; i-- > 0;) {
      largest.insert(std::upper_bound(largest.begin(), largest.end(), values[i], std::greater<>()),
                     values[i]);
      if (largest.size() > changes_) largest.pop_back();
      double* row = &sums[i * (changes_ + 1)];
      for (std::size_t r = 1; r <= changes_; ++r) {
        row[r] = row[r - 1] + (r <= largest.size() ? largest[r - 1] : 0);
      }
    }
  };
  fill(cut.gain, cut.best_gain);
  fill(cut.efficiency, cut.best_efficiency);
  cut.levels.assign(changes_ + 1, {});
  cut.levels[0] = {.need = cut.need};
  for (std::size_t k = 0; k < chosen_.size(); ++k) {
    cut.levels[k + 1] = after(cut, chosen_[k], cut.levels[k]);
  }
}

void SupportSearch::add_cut(const RobustLogit::State& state) {
  if (cuts_.size() == most_support_cuts) cuts_.pop_back();
  auto cut = std::make_unique<SupportCut>(make_cut(state));
  prepare(*cut);
  cuts_.insert(cuts_.begin(), std::move(cut));
}

SupportCut::Level SupportSearch::after(const SupportCut& cut, const Chosen& chosen,
                                       const SupportCut::Level& before) const {
  SupportCut::Level level = before;
  if (chosen.is_option) {
    level.need -= cut.option_gains[chosen.place][chosen.option];
  } else {
    level.gain += cut.gain[chosen.place];
    level.efficiency += cut.efficiency[chosen.place];
  }
  return level;
}

MixedResult SupportSearch::run(std::size_t changes) {
  changes_ = changes;
  sets_ = 0;
  is_over_ = false;
  best_cost_ = unresolved_ = infinity;
  for (const auto& cut : cuts_) prepare(*cut);
  double root = 0;  // no solution costs less
  for (const auto& cut : cuts_) {
    if (cut->need > 0) {
      root = std::max(root, cut->need * cut->need / cut->best_efficiency[changes]);
    }
  }
  visit(0);
  MixedResult result{.found = best_cost_ < infinity,
                     .lower_bound = std::min(is_over_ ? root : infinity, unresolved_),
                     .nodes = sets_ / sets_per_part + 1};
  if (result.found) {
    result.point = best_;
    result.objective = best_cost_;
  }
  if (result.lower_bound >= best_cost_ * (1 - support_gap)) {
    result.lower_bound = std::min(result.lower_bound, enough());
    result.status = result.found ? MixedStatus::optimal : MixedStatus::infeasible;
  }
  return result;
}

bool SupportSearch::is_over() {
  check_stop();
  ++sets_;
  if (sets_ >= problem_->node_limit * sets_per_part) is_over_ = true;
  if (problem_->time_limit && sets_ % sets_per_look_at_the_clock == 0 &&
      watch_.seconds() >= *problem_->time_limit) {
    is_over_ = true;
  }
  return is_over_;
}

bool SupportSearch::is_ruled_out(std::size_t first) {
  const std::size_t depth = chosen_.size();
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    if (!cuts_[k]->rules_out(cuts_[k]->levels[depth], first, changes_ - depth, changes_, paid_,
                             enough())) {
      continue;
    }
    if (k > 0) std::swap(cuts_[k], cuts_[k - 1]);
    return true;
  }
  return false;
}

bool SupportSearch::completes_forbidden() const {
  const auto is_chosen = [&](std::size_t u) {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](const Chosen& chosen) { return order_[chosen.place] == u; });
  };
  return std::any_of(problem_->forbidden.begin(), problem_->forbidden.end(), [&](const auto& set) {
    return std::all_of(set.begin(), set.end(), is_chosen);
  });
}

void SupportSearch::visit(std::size_t first) {
  if (chosen_.size() == changes_) {
    solve_leaf();
    return;
  }
  for (std::size_t place = first; place < order_.size(); ++place) {
    // Later units add no more: what rules these out rules out the rest.
    if (is_over_ || is_ruled_out(place)) return;
    const MixedUnit& unit = units_[order_[place]].unit();
    if (!unit.is_group()) {
      choose({.place = place}, 0);
      continue;
    }
    for (std::size_t k = 0; k < unit.options.size() && !is_over_; ++k) {
      auto own = point_.segment(unit.column, unit.width);
      own = unit.options[k].values;
      choose({.place = place, .option = k, .is_option = true}, unit.options[k].cost);
      own = problem_->query.segment(unit.column, unit.width);
    }
  }
}

void SupportSearch::choose(const Chosen& chosen, double cost) {
  if (is_over()) return;
  const double paid = paid_;
  const std::size_t depth = chosen_.size();
  chosen_.push_back(chosen);
  paid_ += cost;
  for (const auto& cut : cuts_) cut->levels[depth + 1] = after(*cut, chosen, cut->levels[depth]);
  if (paid_ < enough() && !completes_forbidden() && !is_ruled_out(chosen.place + 1)) {
    visit(chosen.place + 1);
  }
  chosen_.pop_back();
  paid_ = paid;
}

}  // namespace ellice

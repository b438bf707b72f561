#include "solver/mixed_bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"

namespace ellice {

namespace {

// Accuracy of a bound that decides a node, and of one that does not.
constexpr double fine = 1e-12;
constexpr double coarse = 1e-5;
constexpr int bisection_steps = 60;

double worth(const Choice& choice, double m) {
  return choice.cost - m * choice.gain;
}

}  // namespace

bool DualSolver::is_missed(const Cut& cut, const std::vector<Domain>& domains, std::size_t slots,
                           double need) {
  double reach = 0;
  double size = std::abs(need);
  gains_.clear();
  for (std::size_t u = 0; u < domains.size(); ++u) {
    if (!domains[u].moves) continue;
    const double gain = (*units_)[u].largest_gain(domains[u], cut, u);
    size += std::abs(gain);
    if (domains[u].stays) {
      if (gain > 0) gains_.push_back(gain);
    } else {
      reach += gain;
    }
  }
  if (gains_.size() > slots) {
    std::nth_element(gains_.begin(), gains_.begin() + static_cast<std::ptrdiff_t>(slots),
                     gains_.end(), std::greater<>());
    gains_.resize(slots);
  }
  for (const double gain : gains_) reach += gain;
  return reach < need - 1e-13 * size;
}

void DualSolver::evaluate(const Cut& cut, const std::vector<Domain>& domains, std::size_t slots,
                          double m, double need, DualPoint& point) {
  point.multiplier = m;
  point.choices.assign(domains.size(), {});
  point.value = m * need;
  point.excess = -need;
  free_.clear();
  const auto take = [&](const Choice& choice) {
    point.value += worth(choice, m);
    point.excess += choice.gain;
  };
  for (std::size_t u = 0; u < domains.size(); ++u) {
    if (!domains[u].moves) continue;
    Choice& choice = point.choices[u];
    choice = (*units_)[u].cheapest_move(domains[u], cut, u, m);
    if (!domains[u].stays) {
      take(choice);
    } else if (worth(choice, m) < 0) {
      free_.emplace_back(worth(choice, m), u);
    } else {
      choice = {};
    }
  }
  if (free_.size() > slots) {
    const auto end = free_.begin() + static_cast<std::ptrdiff_t>(slots);
    std::nth_element(free_.begin(), end, free_.end());
    for (auto at = end; at != free_.end(); ++at) point.choices[at->second] = {};
    free_.erase(end, free_.end());
  }
  for (const auto& [value, u] : free_) take(point.choices[u]);
}

double DualSolver::value_at(const Cut& cut, const std::vector<Domain>& domains, std::size_t slots,
                            double m) {
  DualPoint point;
  evaluate(cut, domains, slots, m, cut.need, point);
  return point.value;
}

// The value is concave in m with derivative −excess: tangents bound it from above, and a bracket of
// the root of the excess closes in by their intersection and by secants in turn.
DualBound DualSolver::maximise(const Cut& cut, const std::vector<Domain>& domains,
                               std::size_t slots, double guess, double enough, double raise) {
  const double need = cut.need + raise;
  DualBound result{.cut = &cut};
  if (is_missed(cut, domains, slots, need)) {
    result.infeasible = true;
    result.value = infinity;
    return result;
  }
  evaluate(cut, domains, slots, 0, need, result.below);
  if (result.below.excess >= 0) {
    result.above = result.below;
    result.value = result.below.value;
    return result;
  }
  double m = guess > 0 ? guess : 1;
  DualPoint& low = result.below;
  DualPoint& high = result.above;
  for (int step = 0; step < 400; ++step) {
    evaluate(cut, domains, slots, m, need, high);
    if (high.excess >= 0 || m > 1e100) break;
    std::swap(low, high);
    m *= 4;
  }
  DualPoint middle;
  for (int step = 0; step < bisection_steps && high.excess > 0; ++step) {
    const double best = std::max(low.value, high.value);
    if (best >= enough) break;
    // The tangents meet where the value would be: never above the maximum's bound.
    const double meet =
        (high.value - low.value + high.multiplier * high.excess - low.multiplier * low.excess) /
        (high.excess - low.excess);
    const double ceiling = low.value - low.excess * (meet - low.multiplier);
    const double accuracy = ceiling < enough ? coarse : fine;
    if (ceiling - best <= accuracy * std::abs(ceiling)) break;
    double next = meet;
    if (step % 2 == 1) {
      next = low.multiplier -
             low.excess * (high.multiplier - low.multiplier) / (high.excess - low.excess);
    }
    if (!(next > low.multiplier && next < high.multiplier)) {
      next = 0.5 * (low.multiplier + high.multiplier);
      if (!(next > low.multiplier && next < high.multiplier)) break;
    }
    evaluate(cut, domains, slots, next, need, middle);
    std::swap(middle, middle.excess < 0 ? low : high);
  }
  result.value = std::max(low.value, high.value);
  result.share = high.excess > low.excess ? -low.excess / (high.excess - low.excess) : 1;
  return result;
}

void DualSolver::fix(const DualBound& bound, std::size_t slots, double enough,
                     std::vector<Domain>& domains) const {
  const DualPoint& at = bound.best();
  const double m = at.multiplier;
  // The units that may stay and change all the same, and the dearest of them.
  std::size_t chosen = 0;
  double dearest = -infinity;
  for (std::size_t u = 0; u < domains.size(); ++u) {
    if (!domains[u].stays || !at.choices[u].moves) continue;
    ++chosen;
    dearest = std::max(dearest, worth(at.choices[u], m));
  }
  const bool full = chosen >= slots;
  for (std::size_t u = 0; u < domains.size(); ++u) {
    Domain& domain = domains[u];
    if (!domain.moves || !(*units_)[u].unit().has_grid()) {
      if (!(*units_)[u].unit().is_group() || !domain.moves) continue;
    }
    const bool moved = at.choices[u].moves;
    const double without = moved                ? at.value - worth(at.choices[u], m)
                           : full && chosen > 0 ? at.value - dearest
                                                : at.value;
    // With a full hand, what takes the place of a unit that stays is at best worth as much.
    if (domain.stays && moved && !full && without >= enough) domain.stays = false;
    (*units_)[u].restrict_to(domain, *bound.cut, u, m, enough - without);
  }
}

}  // namespace ellice

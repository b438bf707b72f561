#include "audit/audit_unit_bound.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice::audit {

namespace {

// Of the size of the terms: moves are differences of doubles, and what sums of some hundreds of
// them lose in extended precision is less.
constexpr long double lost_share = 0x1p-52L;
constexpr int most_prices = 40;
// A bound that cannot reach what is claimed is as good as any, this share of the distance below it.
constexpr long double settled_bound = 0.02L;

}  // namespace

UnitBound::UnitBound(const Units& units, LongVector plane)
    : units_(&units),
      plane_(std::move(plane)),
      counts_cost_(units.question().claimed.has_value()),
      least_(units.all().size()) {
  const Vector& query = units.question().constraints->query();
  const Index d = query.size();
  own_ = plane_(d);
  long double size = std::abs(own_);
  for (Index i = 0; i < d; ++i) {
    const long double term = plane_(i) * query(i);
    own_ += term;
    size += std::abs(term);
  }
  for (std::size_t u = 0; u < units.all().size(); ++u) {
    const Unit& unit = units.all()[u];
    if (unit.values.empty()) continue;
    // The ends of an order, all of what has none.
    const int step = unit.is_ordered ? std::max(1, unit.last()) : 1;
    long double most = 0;
    for (int k = 0; k <= unit.last(); k += step) {
      const Term term = at(u, k);
      most = std::max(most, std::abs(term.gain) + std::abs(term.value));
    }
    size += most;
  }
  lost_ = lost_share * size;
}

UnitBound::Term UnitBound::at(std::size_t unit, int value) const {
  const Unit& own = units_->all()[unit];
  const Unit::Value& to = own.values[static_cast<std::size_t>(value)];
  long double gain = 0;
  for (Index i = 0; i < own.count; ++i) gain += plane_(own.first + i) * to.move(i);
  return {.value = (counts_cost_ ? to.cost : 0) - gain, .gain = gain};
}

UnitBound::Term UnitBound::of_range(const Unit& unit) const {
  const long double pull = plane_(unit.first);
  const long double square = counts_cost_ ? unit.square : 0;
  const long double absolute = counts_cost_ ? unit.absolute : 0;
  const long double net = std::max(std::abs(pull) - absolute, 0.0L);
  long double move = 0;
  if (net > 0) {
    const long double free = square > 0 ? net / (2 * square) : static_cast<long double>(infinity);
    move = pull > 0 ? free : -free;
  }
  move =
      std::clamp(move, static_cast<long double>(unit.lower), static_cast<long double>(unit.upper));
  if (std::isinf(move)) return {.value = -infinity, .gain = infinity};
  const long double gain = pull * move;
  const long double cost =
      square * move * move + absolute * std::abs(move) + (counts_cost_ ? unit.charge : 0);
  return {.value = cost - gain - lost_share * (cost + std::abs(gain)), .gain = gain};
}

int UnitBound::least_index(std::size_t unit, bool is_above) const {
  int& known = is_above ? least_[unit].above : least_[unit].below;
  if (known >= 0) return known;
  const Unit& own = units_->all()[unit];
  int low = is_above ? own.above() : 0;
  int high = is_above ? own.last() : own.below - 1;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (at(unit, middle).value <= at(unit, middle + 1).value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return known = low;
}

UnitBound::Term UnitBound::least_change(std::size_t unit, const Choice& choice) const {
  const Unit& own = units_->all()[unit];
  Term least{.value = infinity};
  const auto take = [&](Term term) {
    if (term.value < least.value) least = term;
  };
  if (choice.range) take(of_range(own));
  if (own.is_ordered) {
    // Along a side the term is convex, and least next to where it is least of all.
    const int below = std::min(choice.last, own.below - 1);
    if (choice.first <= below)
      take(at(unit, std::clamp(least_index(unit, false), choice.first, below)));
    const int above = std::max(choice.first, own.above());
    if (above <= choice.last)
      take(at(unit, std::clamp(least_index(unit, true), above, choice.last)));
    return least;
  }
  for (int k = choice.first; k <= choice.last; ++k) {
    if (k != own.own) take(at(unit, k));
  }
  return least;
}

UnitBound::Least UnitBound::over(const Part& part) const {
  Least result{.value = -own_ - lost_, .side = own_};
  struct Fall {
    long double value = 0;
    long double gain = 0;
  };
  thread_local std::vector<Fall> falls;  // what a change of those that may stay brings, below 0
  falls.clear();
  const std::optional<std::size_t> slots = units_->slots(part);
  for (std::size_t u = 0; u < part.size(); ++u) {
    const Choice& choice = part[u];
    const bool stays = units_->may_stay(part, u);
    if (stays) {
      const Term own = at(u, units_->all()[u].own);
      result.value += own.value;
      if (choice.first == choice.last && !choice.range) continue;
      const Term other = least_change(u, choice);
      if (other.value < own.value)
        falls.push_back({.value = other.value - own.value, .gain = other.gain});
      continue;
    }
    const Term term = least_change(u, choice);
    result.value += term.value;
    result.side += term.gain;
  }
  std::size_t count = falls.size();
  if (slots && count > *slots) {
    count = *slots;
    const auto middle = falls.begin() + static_cast<std::ptrdiff_t>(count);
    const auto is_less = [](const Fall& a, const Fall& b) { return a.value < b.value; };
    std::nth_element(falls.begin(), middle, falls.end(), is_less);
    result.left_out = static_cast<double>(-middle->value);
    if (count > 0) {
      result.taken = static_cast<double>(-std::max_element(falls.begin(), middle, is_less)->value);
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    result.value += falls[k].value;
    result.side += falls[k].gain;
  }
  return result;
}

bool UnitBound::closes(const Part& part) const {
  const long double value = over(part).value;
  return counts_cost_ ? value >= *units_->question().claimed : value > 0;
}

long double UnitBound::width(std::size_t unit, const Choice& choice) const {
  const Unit& own = units_->all()[unit];
  long double low = infinity;
  long double high = -infinity;
  const int step = own.is_ordered ? std::max(1, choice.last - choice.first) : 1;
  for (int k = choice.first; k <= choice.last; k += step) {
    const long double gain = at(unit, k).gain;
    low = std::min(low, gain);
    high = std::max(high, gain);
  }
  if (choice.range) {
    for (const double move : {own.lower, own.upper}) {
      low = std::min(low, plane_(own.first) * move);
      high = std::max(high, plane_(own.first) * move);
    }
  }
  return high - low;
}

LongVector plane_of(const LongVector& theta, double threshold, long double price) {
  LongVector plane = price * theta;
  plane(plane.size() - 1) -= price * threshold;
  return plane;
}

UnitBound best_bound(const Units& units, const Part& part, const LongVector& theta,
                     long double& price) {
  const double threshold = units.question().threshold;
  if (!units.question().claimed) return {units, plane_of(theta, threshold, price = 1)};
  // Concave in m, with −side/m as its slope; between two prices it is below both tangents.
  struct At {
    long double price = 0;
    long double value = -infinity;
    long double slope = 0;
  };
  const long double enough = *units.question().claimed;
  At low;
  At high{.price = infinity};
  long double m = price > 0 ? price : 1;
  UnitBound best(units, plane_of(theta, threshold, m));
  long double most = -infinity;
  for (int step = 0; step < most_prices; ++step) {
    UnitBound own(units, plane_of(theta, threshold, m));
    const UnitBound::Least least = own.over(part);
    const At here{.price = m, .value = least.value, .slope = -least.side / m};
    if (here.value > most) {
      most = here.value;
      best = std::move(own);
      price = m;
    }
    if (most >= enough || here.slope == 0) break;
    (here.slope > 0 ? low : high) = here;
    if (std::isinf(high.price)) {
      m *= 4;
      continue;
    }
    if (low.price == 0) {
      m /= 4;
      continue;
    }
    const long double gap = high.price - low.price;
    if (!(gap > 1e-9L * low.price)) break;
    // Where the tangents meet.
    const long double turn = std::clamp(
        (high.value - low.value - high.slope * gap) / (low.slope - high.slope), 0.0L, gap);
    const long double above = low.value + low.slope * turn;
    if (above < enough && above - most < settled_bound * (enough - most)) break;
    m = step % 2 == 0 ? low.price + std::clamp(turn, 0.01L * gap, 0.99L * gap)
                      : std::sqrt(low.price * high.price);
  }
  return best;
}

}  // namespace ellice::audit

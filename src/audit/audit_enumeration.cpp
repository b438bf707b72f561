#include "audit/audit_enumeration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_cost.hpp"

namespace ellice::audit {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_nodes = 1500;
constexpr int most_leaves = 60;
constexpr std::size_t most_values = 2000;  // of one feature

/// What one feature may become: listed values, and a range of numbers.
struct Unit {
  std::size_t feature = 0;
  Index first = 0;  // column
  Index count = 0;
  struct Value {
    double raw = 0;
    Vector move = {};  // of its columns
    double cost = 0;
  };
  std::vector<Value> values = {};  // affordable: the own one, those above it, those below it
  bool is_ordered = false;         // a number or a level of an order
  std::size_t above = 0;           // where those above the own begin, and those below
  std::size_t below = 0;
  bool has_range = false;  // besides
  double lower = 0;        // of the move of its one column
  double upper = 0;
  double square = 0;  // cost of a move of a number
  double absolute = 0;
  double charge = 0;  // of any change
};

/// A value of the unit's list, or −1 for its range.
using Decision = std::optional<int>;

class Enumeration {
 public:
  Enumeration(const EnumerationQuestion& question, const NumbersBound& bound)
      : asked_(&question), bound_(&bound) {}

  [[nodiscard]] Enumerated run() {
    for (const Case& one : asked_->constraints->cases()) {
      if (!make_units(one.values)) return Enumerated::open;
      const bool is_empty = std::any_of(units_.begin(), units_.end(), [](const Unit& unit) {
        return unit.values.empty() && !unit.has_range;
      });
      if (is_empty) continue;  // what the case asks for costs too much
      std::vector<Decision> decisions(units_.size());
      for (std::size_t u = 0; u < units_.size(); ++u) {
        if (units_[u].values.size() == 1 && !units_[u].has_range) decisions[u] = 0;
        if (units_[u].values.empty()) decisions[u] = -1;
      }
      visit(decisions);
      if (result_ != Enumerated::proved) break;
    }
    return result_;
  }

 private:
  [[nodiscard]] bool make_units(const std::vector<FeatureValues>& all) {
    units_.clear();
    for (std::size_t j = 0; j < all.size(); ++j) {
      Unit unit{.feature = j,
                .first = asked_->encoder->first_column(j),
                .count = asked_->encoder->column_count(j),
                .charge = asked_->cost.sparsity_weight};
      const Feature& feature = asked_->encoder->schema().features[j];
      const CostKind kind = asked_->cost.kind;
      unit.square = kind == CostKind::l1 ? 0 : feature.weight;
      unit.absolute = kind == CostKind::l1 || kind == CostKind::l1_l2 ? feature.weight : 0;
      if (all[j].keeps_own) add_value(unit, all[j].own);
      unit.is_ordered = feature.kind != FeatureKind::categorical;
      unit.above = unit.below = unit.values.size();
      if (all[j].may_change && all[j].lower <= all[j].upper) {
        if (!all[j].is_discrete()) {
          add_range(unit, all[j]);
        } else if (!add_values(unit, all[j])) {
          return false;
        }
      }
      units_.push_back(std::move(unit));
    }
    return true;
  }

  void add_value(Unit& unit, double raw) const {
    Vector numbers = asked_->constraints->query_raw();
    numbers(static_cast<Index>(unit.feature)) = raw;
    const RawRow row =
        asked_->encoder->values({numbers.data(), static_cast<std::size_t>(numbers.size())});
    const Vector z = asked_->encoder->encode(row);
    const Vector& query = asked_->constraints->query();
    double cost = cost_of_move(asked_->cost, *asked_->encoder, query, z);
    if (asked_->cost.kind == CostKind::mixed) cost *= cost;
    if (cost < asked_->claimed)
      unit.values.push_back(
          {.raw = raw, .move = (z - query).segment(unit.first, unit.count), .cost = cost});
  }

  /// False where there are too many.
  [[nodiscard]] bool add_values(Unit& unit, const FeatureValues& values) const {
    for (const int side : {1, -1}) {
      unit.below = unit.values.size();
      std::optional<double> raw = values.next(values.own, side);
      while (raw) {
        const std::size_t before = unit.values.size();
        add_value(unit, *raw);
        // Farther ones of an order cost more.
        if (unit.is_ordered && unit.values.size() == before) break;
        if (unit.values.size() > most_values) return false;
        raw = values.next(*raw, side);
      }
    }
    return true;
  }

  void add_range(Unit& unit, const FeatureValues& values) const {
    const Box box = asked_->constraints->around(only_range(values, unit.feature));
    const double own = asked_->constraints->query()(unit.first);
    unit.lower = box.lower(unit.first) - own;
    unit.upper = box.upper(unit.first) - own;
    const double budget = asked_->claimed;
    const double reach = std::min(unit.square > 0 ? std::sqrt(budget / unit.square) : infinity,
                                  unit.absolute > 0 ? budget / unit.absolute : infinity);
    unit.lower = std::max(unit.lower, -reach);
    unit.upper = std::min(unit.upper, reach);
    unit.has_range = unit.lower <= unit.upper;
    // A number that may stay and whose range holds its own value needs no decision, unless a change
    // is counted.
    const bool is_counted = asked_->most_changes || unit.charge > 0;
    if (unit.has_range && unit.lower <= 0 && unit.upper >= 0 && !is_counted) unit.values.clear();
  }

  [[nodiscard]] std::vector<FeatureValues> only_range(FeatureValues values,
                                                      std::size_t feature) const {
    std::vector<FeatureValues> all = asked_->constraints->values();
    values.keeps_own = false;
    all[feature] = values;
    return all;
  }

  /// min over what is left of a unit of cost − m·wᵀmove.
  [[nodiscard]] long double term(const Unit& unit, const Decision& decision,
                                 const LongVector& theta, long double m) const {
    if (decision) return option_term(unit, *decision, theta, m);
    long double least = unit.has_range ? option_term(unit, -1, theta, m) : infinity;
    const std::size_t singles = unit.is_ordered ? unit.above : unit.values.size();
    for (std::size_t k = 0; k < singles; ++k)
      least = std::min(least, option_term(unit, static_cast<int>(k), theta, m));
    if (!unit.is_ordered) return least;
    least = std::min(least, least_between(unit, unit.above, unit.below, theta, m));
    return std::min(least, least_between(unit, unit.below, unit.values.size(), theta, m));
  }
  /// Of values in order, along which the term is convex.
  [[nodiscard]] long double least_between(const Unit& unit, std::size_t begin, std::size_t end,
                                          const LongVector& theta, long double m) const {
    if (begin == end) return infinity;
    const auto at = [&](std::size_t k) { return option_term(unit, static_cast<int>(k), theta, m); };
    std::size_t low = begin;
    std::size_t high = end - 1;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (at(middle) <= at(middle + 1)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return at(low);
  }
  [[nodiscard]] long double option_term(const Unit& unit, int option, const LongVector& theta,
                                        long double m) const {
    if (option >= 0) {
      const Unit::Value& value = unit.values[static_cast<std::size_t>(option)];
      long double gain = 0;
      for (Index i = 0; i < unit.count; ++i) gain += theta(unit.first + i) * value.move(i);
      return value.cost - m * gain;
    }
    const long double pull = m * theta(unit.first);
    const long double net = std::max(std::abs(pull) - unit.absolute, 0.0L);
    long double move = 0;
    if (net > 0) {
      const long double free =
          unit.square > 0 ? net / (2 * unit.square) : static_cast<long double>(infinity);
      move = pull > 0 ? free : -free;
    }
    move = std::clamp(move, static_cast<long double>(unit.lower),
                      static_cast<long double>(unit.upper));
    if (std::isinf(move)) return -infinity;
    return unit.square * move * move + unit.absolute * std::abs(move) - pull * move + unit.charge;
  }

  /// A lower bound of the node, from one model and m.
  [[nodiscard]] long double node_bound(const std::vector<Decision>& decisions,
                                       const LongVector& theta, long double m) const {
    const Vector& query = asked_->constraints->query();
    long double sum = asked_->threshold - theta(query.size());
    for (Index i = 0; i < query.size(); ++i) sum -= theta(i) * query(i);
    sum *= m;
    for (std::size_t u = 0; u < units_.size(); ++u) sum += term(units_[u], decisions[u], theta, m);
    return sum;
  }

  /// The best m of a model: the bound is concave in it.
  [[nodiscard]] long double best_multiplier(const std::vector<Decision>& decisions,
                                            const LongVector& theta) const {
    const auto value = [&](long double m) { return node_bound(decisions, theta, m); };
    long double high = 1e-6L;
    while (high < 1e30L && value(2 * high) > value(high)) high *= 2;
    long double low = 0;
    high *= 2;
    for (int step = 0; step < 40; ++step) {
      const long double third = (high - low) / 3;
      if (value(low + third) < value(high - third)) {
        low += third;
      } else {
        high -= third;
      }
    }
    return (low + high) / 2;
  }

  [[nodiscard]] std::int64_t changes(const std::vector<Decision>& decisions) const {
    std::int64_t count = 0;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const bool is_own = decisions[u] && *decisions[u] >= 0 &&
                          units_[u].values[static_cast<std::size_t>(*decisions[u])].move.isZero(0);
      count += decisions[u] && !is_own ? 1 : 0;
    }
    return count;
  }

  void visit(std::vector<Decision>& decisions) {
    if (result_ != Enumerated::proved) return;
    if (++nodes_ > most_nodes) {
      result_ = Enumerated::open;
      return;
    }
    if (asked_->most_changes && changes(decisions) > *asked_->most_changes) return;
    const LongVector* best_model = nullptr;
    long double best_m = 0;
    long double best = -infinity;
    for (const LongVector& theta : asked_->models) {
      const long double m = best_multiplier(decisions, theta);
      const long double bound = node_bound(decisions, theta, m);
      if (bound >= asked_->claimed) return;
      if (bound > best) {
        best = bound;
        best_m = m;
        best_model = &theta;
      }
    }
    const std::optional<std::size_t> unit = next_unit(decisions, *best_model, best_m);
    if (!unit) return visit_leaf(decisions);
    const Unit& own = units_[*unit];
    const long double least = term(own, std::nullopt, *best_model, best_m);
    for (int k = own.has_range ? -1 : 0; k < static_cast<int>(own.values.size()); ++k) {
      const long double bound = best - least + option_term(own, k, *best_model, best_m);
      if (bound >= asked_->claimed) continue;
      decisions[*unit] = k;
      visit(decisions);
    }
    decisions[*unit].reset();
  }

  /// The undecided feature of which the model would gain most, at the price m.
  [[nodiscard]] std::optional<std::size_t> next_unit(const std::vector<Decision>& decisions,
                                                     const LongVector& theta, long double m) const {
    std::optional<std::size_t> result;
    long double most = -1;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (decisions[u] || units_[u].values.empty()) continue;
      long double high = 0;
      for (const Unit::Value& value : units_[u].values) {
        long double gain = 0;
        for (Index i = 0; i < units_[u].count; ++i)
          gain += theta(units_[u].first + i) * value.move(i);
        high = std::max(high, m * gain);
      }
      if (high <= most) continue;
      most = high;
      result = u;
    }
    return result;
  }

  /// Everything discrete is decided.
  void visit_leaf(const std::vector<Decision>& decisions) {
    if (++leaves_ > most_leaves) {
      result_ = Enumerated::open;
      return;
    }
    const Vector& query = asked_->constraints->query();
    Region region{.box = {.lower = query, .upper = query}, .rules = asked_->constraints->rules()};
    ColumnCost cost{.query = query,
                    .squares = Vector::Zero(query.size()),
                    .absolutes = Vector::Zero(query.size())};
    double spent = 0;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const Unit& unit = units_[u];
      if (decisions[u] && *decisions[u] >= 0) {
        const Unit::Value& value = unit.values[static_cast<std::size_t>(*decisions[u])];
        spent += value.cost;
        region.box.lower.segment(unit.first, unit.count) += value.move;
        region.box.upper.segment(unit.first, unit.count) += value.move;
        continue;
      }
      spent += unit.charge;
      region.box.lower(unit.first) += unit.lower;
      region.box.upper(unit.first) += unit.upper;
      cost.squares(unit.first) = unit.square;
      cost.absolutes(unit.first) = unit.absolute;
    }
    const double enough = asked_->claimed - spent;
    if (!(enough > 0)) return;
    const bool is_decided =
        std::none_of(decisions.begin(), decisions.end(),
                     [](const Decision& decision) { return !decision || *decision < 0; });
    if (is_decided && !asked_->constraints->broken_by(row_of(decisions)).empty()) return;
    const CostBounds bounds = (*bound_)(region, cost, enough);
    if (bounds.proved >= enough) return;
    result_ = bounds.found < enough ? Enumerated::refuted : Enumerated::open;
  }

  [[nodiscard]] Vector row_of(const std::vector<Decision>& decisions) const {
    Vector raw(static_cast<Index>(units_.size()));
    for (std::size_t u = 0; u < units_.size(); ++u)
      raw(static_cast<Index>(u)) = units_[u].values[static_cast<std::size_t>(*decisions[u])].raw;
    return raw;
  }

  const EnumerationQuestion* asked_;
  const NumbersBound* bound_;
  std::vector<Unit> units_;
  int nodes_ = 0;
  int leaves_ = 0;
  Enumerated result_ = Enumerated::proved;
};

}  // namespace

Enumerated enumerate(const EnumerationQuestion& question, const NumbersBound& bound) {
  return Enumeration(question, bound).run();
}

}  // namespace ellice::audit

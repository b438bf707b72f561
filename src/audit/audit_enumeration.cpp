#include "audit/audit_enumeration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_hint.hpp"
#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

constexpr long double infinity = std::numeric_limits<long double>::infinity();
constexpr int most_leaves = 300;
// Without points of one's own, and with them or a log.
constexpr int few_parts = 1500;
constexpr int many_parts = 500000;
constexpr int written_digits = 6;  // of a point: what it is worth does not depend on the rest

double rounded(double value) {
  double result = 0;
  (void)parse_number(fmt::format("{:.{}g}", value, written_digits), result);
  return result;
}

/// A number of a log, or nothing.
std::optional<double> number_at(const Json& node, const char* key) {
  const auto found = node.find(key);
  if (found == node.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// The part of a log that is about one option of its feature; null where there is none.
const Json* part_of(const Json* node, const Json& option) {
  if (node == nullptr || !node->is_object()) return nullptr;
  const auto parts = node->find("parts");
  if (parts == node->end() || !parts->is_array()) return nullptr;
  for (const Json& part : *parts) {
    if (part.is_array() && part.size() == 2 && part[0] == option) return &part[1];
  }
  return nullptr;
}

class Enumeration {
 public:
  Enumeration(const EnumerationQuestion& question, const NumbersBound& bound, bool records)
      : asked_(&question), bound_(&bound), units_(question.rows), records_(records) {}

  [[nodiscard]] Enumerated run(Json& record) {
    record = Json::array();
    std::size_t number = 0;
    for (const Case& one : asked_->rows.constraints->cases()) {
      const Json* log = nullptr;
      if (asked_->log != nullptr && asked_->log->is_array() && number < asked_->log->size())
        log = &(*asked_->log)[number];
      ++number;
      Json node;
      if (!units_.make(one.values)) return Enumerated::open;
      if (!units_.is_empty()) {  // otherwise what the case asks for costs too much
        relaxations_.clear();
        for (std::size_t k = 0; asked_->cones != nullptr && k < asked_->cones->size(); ++k)
          relaxations_.emplace_back(units_, (*asked_->cones)[k], k, asked_->epsilon);
        Decisions decisions = units_.at_first();
        node = visit(decisions, log, nullptr);
      }
      if (result_ != Enumerated::proved) break;
      if (records_) record.push_back(std::move(node));
    }
    return result_;
  }

 private:
  struct Bound {
    LongVector model = {};
    long double price = 0;
    long double value = -infinity;
  };

  [[nodiscard]] Bound by_model(const Decisions& decisions, const LongVector& theta) const {
    Bound result{.model = theta, .price = units_.best_price(decisions, theta)};
    result.value = units_.bound(decisions, theta, result.price);
    return result;
  }

  [[nodiscard]] Bound by_hint(const Decisions& decisions, const Hint& hint) const {
    const LongVector x = extended(hint.point);
    LongVector theta = (*asked_->cones)[hint.cone].worst(x, asked_->epsilon);
    if (!theta.allFinite()) return {};
    Bound result{.model = std::move(theta), .price = hint.price};
    result.value = units_.bound(decisions, result.model, result.price);
    return result;
  }

  /// From the log, or nothing.
  [[nodiscard]] std::optional<Hint> read(const Json* node) const {
    if (node == nullptr || !node->is_object() || asked_->cones == nullptr) return std::nullopt;
    const Index d = asked_->rows.constraints->query().size();
    const auto point = node->find("point");
    const std::optional<double> price = number_at(*node, "price");
    const double cone = number_at(*node, "cone").value_or(0);
    const bool fits = point != node->end() && point->is_array() &&
                      static_cast<Index>(point->size()) == d && price && *price >= 0 && cone >= 0 &&
                      cone < static_cast<double>(asked_->cones->size());
    if (!fits) return std::nullopt;
    Hint hint{.cone = static_cast<std::size_t>(cone), .point = Vector(d), .price = *price};
    for (Index i = 0; i < d; ++i) {
      const Json& entry = (*point)[static_cast<std::size_t>(i)];
      if (!entry.is_number()) return std::nullopt;
      hint.point(i) = entry.get<double>();
    }
    const auto split = node->find("split");
    if (split != node->end() && split->is_string())
      hint.unit = asked_->rows.encoder->schema().find(split->get<std::string>());
    return hint;
  }

  /// The best of what the cones give, each by itself.
  [[nodiscard]] std::optional<Hint> find(const Decisions& decisions, const Hint* from) {
    if (relaxations_.empty() || ++points_ > asked_->most_points) return std::nullopt;
    std::optional<Hint> best;
    long double most = -infinity;
    for (std::size_t k = 0; k < relaxations_.size(); ++k) {
      const bool is_same = from != nullptr && from->cone == k;
      Hint hint = relaxations_[k].solve(decisions, is_same ? from : nullptr);
      for (double& entry : hint.point) entry = rounded(entry);
      hint.price = rounded(hint.price);
      const long double bound = by_hint(decisions, hint).value;
      if (best && !(bound > most)) continue;
      most = bound;
      best = std::move(hint);
    }
    return best;
  }

  [[nodiscard]] Json visit(Decisions& decisions, const Json* log, const Hint* from) {
    if (result_ != Enumerated::proved) return {};
    const bool has_points = asked_->cones != nullptr && (asked_->log || asked_->most_points > 0);
    if (++parts_ > (has_points ? many_parts : few_parts)) {
      result_ = Enumerated::open;
      return {};
    }
    if (units_.is_excluded(decisions)) return {};
    Bound best;
    for (const LongVector& theta : asked_->models) {
      Bound own = by_model(decisions, theta);
      if (own.value >= asked_->rows.claimed) return {};
      if (own.value > best.value) best = std::move(own);
    }
    const bool is_open = std::any_of(decisions.begin(), decisions.end(),
                                     [](const Decision& decision) { return !decision; });
    if (!is_open) {
      visit_leaf(decisions);
      return {};
    }
    std::optional<Hint> hint = read(log);
    if (!hint) hint = find(decisions, from);
    if (!hint && has_points) {  // no more of them
      result_ = Enumerated::open;
      return {};
    }
    Json node = hint ? written(*hint) : Json();
    if (hint) {
      Bound own = by_hint(decisions, *hint);
      if (own.value >= asked_->rows.claimed) return node;
      if (own.value > best.value) best = std::move(own);
    }
    if (best.model.size() == 0) {  // numbers too large for any bound
      result_ = Enumerated::open;
      return {};
    }
    const std::size_t unit = next_unit(decisions, hint, best);
    if (hint) node["split"] = name_of(unit);
    split(decisions, unit, best, log, hint ? &*hint : nullptr, node);
    return node;
  }

  void split(Decisions& decisions, std::size_t unit, const Bound& best, const Json* log,
             const Hint* hint, Json& node) {
    const Unit& own = units_.all()[unit];
    /// False where the bound that is known closes the option.
    const auto take = [&](int k) {
      decisions[unit] = k;
      if (units_.bound(decisions, best.model, best.price) >= asked_->rows.claimed) return false;
      const Json option = k < 0 ? Json() : Json(own.values[static_cast<std::size_t>(k)].raw);
      Json part = visit(decisions, part_of(log, option), hint);
      if (records_ && !part.is_null()) node["parts"].push_back({option, std::move(part)});
      return result_ == Enumerated::proved;
    };
    if (own.has_range) (void)take(-1);
    const std::size_t singles = own.is_ordered ? own.above : own.values.size();
    for (std::size_t k = 0; k < singles; ++k) (void)take(static_cast<int>(k));
    // Of those in order it closes all beyond the first that it closes.
    const auto take_between = [&](std::size_t begin, std::size_t end) {
      if (begin == end) return;
      const std::size_t least = units_.least_index(own, begin, end, best.model, best.price);
      for (std::size_t k = least; k < end && take(static_cast<int>(k)); ++k) {
      }
      for (std::size_t k = least; k > begin && take(static_cast<int>(k - 1)); --k) {
      }
    };
    if (own.is_ordered) {
      take_between(own.above, own.below);
      take_between(own.below, own.values.size());
    }
    decisions[unit].reset();
  }

  [[nodiscard]] Json written(const Hint& hint) const {
    if (!records_) return {};
    Json node = {{"price", hint.price}, {"point", to_json_array(hint.point)}};
    if (hint.cone > 0) node["cone"] = hint.cone;
    return node;
  }

  [[nodiscard]] std::string name_of(std::size_t unit) const {
    return asked_->rows.encoder->schema().features[units_.all()[unit].feature].name;
  }

  /// The one of the hint, or the open feature of which the model would gain most, at the price m.
  [[nodiscard]] std::size_t next_unit(const Decisions& decisions, const std::optional<Hint>& hint,
                                      const Bound& best) const {
    if (hint && hint->unit && *hint->unit < decisions.size() && !decisions[*hint->unit])
      return *hint->unit;
    std::size_t result = 0;
    long double most = -infinity;
    for (std::size_t u = 0; u < decisions.size(); ++u) {
      if (decisions[u]) continue;
      const Unit& unit = units_.all()[u];
      long double high = 0;
      for (const Unit::Value& value : unit.values) {
        long double gain = 0;
        for (Index i = 0; i < unit.count && best.model.size() > 0; ++i)
          gain += best.model(unit.first + i) * value.move(i);
        high = std::max(high, best.price * gain);
      }
      if (high <= most) continue;
      most = high;
      result = u;
    }
    return result;
  }

  /// Everything discrete is decided.
  void visit_leaf(const Decisions& decisions) {
    const bool is_decided = std::all_of(decisions.begin(), decisions.end(),
                                        [](const Decision& decision) { return *decision >= 0; });
    if (is_decided && !asked_->rows.constraints->broken_by(row_of(decisions)).empty()) return;
    if (!is_decided && ++leaves_ > most_leaves) {
      result_ = Enumerated::open;
      return;
    }
    const Vector& query = asked_->rows.constraints->query();
    Region region{.box = {.lower = query, .upper = query},
                  .rules = asked_->rows.constraints->rules()};
    ColumnCost cost{.query = query,
                    .squares = Vector::Zero(query.size()),
                    .absolutes = Vector::Zero(query.size())};
    double spent = 0;
    for (std::size_t u = 0; u < units_.all().size(); ++u) {
      const Unit& unit = units_.all()[u];
      if (*decisions[u] >= 0) {
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
    const double enough = asked_->rows.claimed - spent;
    if (!(enough > 0)) return;
    const CostBounds bounds = (*bound_)(region, cost, enough);
    if (bounds.proved >= enough) return;
    result_ = bounds.found < enough ? Enumerated::refuted : Enumerated::open;
  }

  [[nodiscard]] Vector row_of(const Decisions& decisions) const {
    Vector raw(static_cast<Index>(units_.all().size()));
    for (std::size_t u = 0; u < units_.all().size(); ++u) {
      const Unit& unit = units_.all()[u];
      raw(static_cast<Index>(u)) = unit.values[static_cast<std::size_t>(*decisions[u])].raw;
    }
    return raw;
  }

  const EnumerationQuestion* asked_;
  const NumbersBound* bound_;
  Units units_;
  std::vector<Relaxation> relaxations_;
  bool records_;
  int parts_ = 0;
  int points_ = 0;
  int leaves_ = 0;
  Enumerated result_ = Enumerated::proved;
};

}  // namespace

Enumerated enumerate(const EnumerationQuestion& question, const NumbersBound& bound, Json* record) {
  Json own;
  const Enumerated result = Enumeration(question, bound, record != nullptr).run(own);
  if (record != nullptr) *record = std::move(own);
  return result;
}

}  // namespace ellice::audit

#include "audit/audit_enumeration.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "audit/audit_hint.hpp"
#include "audit/audit_points.hpp"
#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

constexpr int most_leaves = 300;
constexpr int parts_per_point = 20;
constexpr int fewest_parts = 1500;
constexpr std::size_t most_bounds = 60;  // that are tried on every part

class Enumeration {
 public:
  Enumeration(const EnumerationQuestion& question, const NumbersBound& bound, bool records)
      : asked_(&question), bound_(&bound), units_(question.rows), records_(records) {}

  [[nodiscard]] Enumerated run(Json& record) {
    record_ = Json::array();
    if (asked_->log != nullptr) {
      known_ = points_of(*asked_->log, asked_->rows.encoder->schema(),
                         asked_->rows.constraints->query().size());
    }
    const auto points = static_cast<int>(known_.size());
    most_parts_ = fewest_parts + parts_per_point * std::max(points, asked_->most_points);
    for (const Case& one : asked_->rows.constraints->cases()) {
      if (!units_.make(one.values)) return Enumerated::open;
      bounds_.clear();
      Part part = units_.whole();
      if (!units_.settle(part)) continue;  // what the case asks for costs too much
      relaxations_.clear();
      for (std::size_t k = 0; asked_->cones != nullptr && k < asked_->cones->size(); ++k)
        relaxations_.emplace_back(units_, (*asked_->cones)[k], k, asked_->epsilon);
      const Index size = asked_->rows.constraints->query().size() + 1;
      if (asked_->rows.claimed) add(UnitBound(units_, LongVector::Zero(size)));
      for (const LongVector& theta : asked_->models) {
        long double price = 1;
        add(best_bound(units_, part, theta, price));
      }
      search(std::move(part));
      if (result_ != Enumerated::proved) break;
    }
    record = std::move(record_);
    return result_;
  }

 private:
  /// A part that is still to be looked at, and the point of the one that it is a part of, if any.
  struct Open {
    Part part = {};
    std::shared_ptr<const Hint> from = {};
  };

  /// Depth first; what a log divides may lie deeper than calls do.
  void search(Part whole) {
    open_.clear();
    open_.push_back({.part = std::move(whole)});
    while (!open_.empty() && result_ == Enumerated::proved) {
      check_stop();
      Open next = std::move(open_.back());
      open_.pop_back();
      const auto children = static_cast<std::ptrdiff_t>(open_.size());
      visit(std::move(next.part), next.from);
      std::reverse(open_.begin() + children, open_.end());  // the first on top
    }
  }

  /// The most useful come first.
  void add(UnitBound bound) {
    if (bounds_.size() > 2 * most_bounds)
      bounds_.erase(bounds_.begin() + most_bounds, bounds_.end());
    bounds_.insert(bounds_.begin(), std::move(bound));
  }

  [[nodiscard]] bool is_closed(const Part& part) {
    const std::size_t count = std::min(bounds_.size(), most_bounds);
    for (std::size_t k = 0; k < count; ++k) {
      if (!bounds_[k].closes(part)) continue;
      if (k > 0) std::swap(bounds_[k], bounds_[k - 1]);
      return true;
    }
    return false;
  }

  void visit(Part part, const std::shared_ptr<const Hint>& from) {
    if (++parts_ > most_parts_) {
      result_ = Enumerated::open;
      return;
    }
    if (!units_.settle(part) || is_closed(part)) return;
    if (const std::vector<std::size_t>* set = units_.open_set(part)) {
      for (const std::size_t u : *set) {  // one of them stays
        if (!units_.may_stay(part, u)) continue;
        Part own = part;
        units_.keep(own, u);
        open_.push_back({.part = std::move(own), .from = from});
      }
      return;
    }
    std::optional<Hint> hint;
    if (find(part, from.get(), hint)) return;
    if (is_decided(part)) {
      visit_leaf(part);
      return;
    }
    if (!hint && !relaxations_.empty()) {  // no more of them
      result_ = Enumerated::open;
      return;
    }
    split(part, hint ? std::make_shared<const Hint>(std::move(*hint)) : nullptr);
  }

  /// Of the log, while it lasts, then one of one's own; nothing where there are no more.
  [[nodiscard]] std::optional<Hint> point_for(const Part& part, const Hint* from,
                                              std::size_t cone) {
    if (next_ < known_.size()) {
      Hint hint = known_[next_++];
      if (hint.cone == cone) return hint;
      next_ = known_.size();  // the log is of other parts
    }
    if (points_ >= asked_->most_points) return std::nullopt;
    ++points_;
    Hint hint = relaxations_[cone].solve(part, from);
    if (records_) {
      round_digits(hint);
      record_.push_back(written(hint, asked_->rows.encoder->schema()));
    }
    return hint;
  }

  /// Whether a model that is worst at some point closes the part. `best` becomes the point that
  /// gives the largest bound.
  [[nodiscard]] bool find(const Part& part, const Hint* from, std::optional<Hint>& best) {
    long double most = -infinity;
    for (std::size_t k = 0; k < relaxations_.size(); ++k) {
      std::optional<Hint> hint = point_for(part, from, k);
      if (!hint) break;
      const LongVector theta = (*asked_->cones)[k].worst(extended(hint->point), asked_->epsilon);
      if (!theta.allFinite()) continue;
      long double price = hint->price;
      UnitBound bound = best_bound(units_, part, theta, price);
      const long double value = bound.over(part).value;
      const bool seems_enough = bound.closes(part);
      if (!asked_->instead) {
        add(std::move(bound));
        if (seems_enough) return true;
      } else if (is_closed_instead(part, *hint, k, seems_enough || is_decided(part))) {
        return true;
      }
      if (best && !(value > most)) continue;
      most = value;
      best = std::move(hint);
    }
    return false;
  }

  /// By models of a set that is no cone, where a cone promises that.
  [[nodiscard]] bool is_closed_instead(const Part& part, const Hint& hint, std::size_t cone,
                                       bool is_promised) {
    const auto closes = [&](const std::optional<LongVector>& theta) {
      if (!theta || !theta->allFinite()) return false;
      long double price = hint.price;
      UnitBound bound = best_bound(units_, part, *theta, price);
      const bool is_enough = bound.closes(part);
      add(std::move(bound));
      return is_enough;
    };
    const EnumerationQuestion::Models& models = *asked_->instead;
    if (models.near && closes(models.near(cone, hint.point))) return true;
    return is_promised && models.nearer && closes(models.nearer(cone, hint.point));
  }

  [[nodiscard]] static bool is_decided(const Part& part) {
    return std::all_of(part.begin(), part.end(),
                       [](const Choice& one) { return one.is_decided(); });
  }

  void split(const Part& part, const std::shared_ptr<const Hint>& hint) {
    std::size_t u = 0;
    int place = 0;
    if (hint != nullptr && hint->unit && !part[*hint->unit].is_decided()) {
      u = *hint->unit;
      place = hint->place;
    } else {
      u = widest(part);
      place = part[u].first + (part[u].last - part[u].first) / 2;
    }
    const Unit& unit = units_.all()[u];
    const Choice& choice = part[u];
    const auto take = [&](Choice own) {
      if (own.first > own.last && !own.range) return;
      Part next = part;
      next[u] = own;
      open_.push_back({.part = std::move(next), .from = hint});
    };
    if (choice.range) take({.range = true});
    if (!unit.is_ordered || choice.range) {
      for (int k = choice.first; k <= choice.last; ++k) take({k, k});
      return;
    }
    if (units_.may_stay(part, u) && units_.is_counted(unit.feature)) {
      take({choice.first, unit.below - 1});
      take({unit.above(), choice.last});
      take({unit.own, unit.own});
      return;
    }
    if (hint != nullptr && hint->is_single && place >= choice.first && place <= choice.last) {
      take({choice.first, place - 1});
      take({place + 1, choice.last});
      take({place, place});
      return;
    }
    place = std::clamp(place, choice.first, choice.last - 1);
    take({choice.first, place});
    take({place + 1, choice.last});
  }

  [[nodiscard]] std::size_t widest(const Part& part) const {
    std::size_t result = part.size();
    long double most = -infinity;
    for (std::size_t u = 0; u < part.size(); ++u) {
      if (part[u].is_decided()) continue;
      const long double width = bounds_.empty() ? 0 : bounds_.front().width(u, part[u]);
      if (result < part.size() && width <= most) continue;
      most = width;
      result = u;
    }
    return result;
  }

  /// Everything discrete is decided.
  void visit_leaf(const Part& part) {
    const bool is_row =
        std::none_of(part.begin(), part.end(), [](const Choice& one) { return one.range; });
    if (is_row && !asked_->rows.constraints->broken_by(row_of(part)).empty()) return;
    for (const LongVector& theta : asked_->models) {
      long double price = 1;
      if (best_bound(units_, part, theta, price).closes(part)) return;
    }
    if (!is_row && ++leaves_ > most_leaves) {
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
      if (!part[u].range) {
        const Unit::Value& value = unit.values[static_cast<std::size_t>(part[u].first)];
        spent += value.cost;
        region.box.lower.segment(unit.first, unit.count) += value.move;
        region.box.upper.segment(unit.first, unit.count) += value.move;
        continue;
      }
      spent += unit.charge;
      region.box.lower(unit.first) += unit.lower;
      region.box.upper(unit.first) += unit.upper;
      cost.squares(unit.first) = asked_->rows.claimed ? unit.square : 0;
      cost.absolutes(unit.first) = asked_->rows.claimed ? unit.absolute : 0;
    }
    // Where no cost is asked for, any row is one too many.
    const double enough = asked_->rows.claimed ? *asked_->rows.claimed - spent : 1;
    if (!(enough > 0)) return;
    const CostBounds bounds = (*bound_)(region, cost, enough);
    if (bounds.proved >= enough) return;
    result_ = bounds.found < enough ? Enumerated::refuted : Enumerated::open;
  }

  [[nodiscard]] Vector row_of(const Part& part) const {
    Vector raw(static_cast<Index>(units_.all().size()));
    for (std::size_t u = 0; u < units_.all().size(); ++u) {
      const Unit& unit = units_.all()[u];
      raw(static_cast<Index>(u)) = unit.values[static_cast<std::size_t>(part[u].first)].raw;
    }
    return raw;
  }

  const EnumerationQuestion* asked_;
  const NumbersBound* bound_;
  Units units_;
  std::vector<Relaxation> relaxations_;
  std::vector<UnitBound> bounds_;
  std::vector<Open> open_;   // the next one last
  std::vector<Hint> known_;  // of the log
  std::size_t next_ = 0;     // of these
  bool records_;
  Json record_;
  int most_parts_ = 0;
  int parts_ = 0;
  int points_ = 0;
  int leaves_ = 0;
  Enumerated result_ = Enumerated::proved;
};

}  // namespace

Enumerated enumerate(const EnumerationQuestion& question, const NumbersBound& bound, Json* record) {
  Json own;
  Enumeration enumeration(question, bound, record != nullptr);
  const Enumerated result = enumeration.run(own);
  if (record != nullptr) *record = std::move(own);
  return result;
}

}  // namespace ellice::audit

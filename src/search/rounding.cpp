#include "search/rounding.hpp"

#include <algorithm>

namespace ellice {

namespace {

// Far more moves than a search needs, whose strides fit the way that is left; ends one that gets
// nowhere.
constexpr int most_moves = 10000;
// A stride covers this share of the way that one feature alone would have to go: others become
// cheaper meanwhile.
constexpr double stride_share = 0.25;
constexpr int most_secants = 12;

class Search {
 public:
  Search(const Problem& problem, RoundingGuide& guide, const FeasibleSet& feasible, VectorArg raw)
      : problem_(&problem), guide_(&guide), feasible_(&feasible), raw_(raw) {
    for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
      const FeatureRange& range = feasible.ranges()[j];
      if (range.has_grid() && !range.fixed && !range.held) grid_.push_back(j);
    }
  }

  [[nodiscard]] const Vector& raw() const { return raw_; }
  [[nodiscard]] const std::vector<std::size_t>& grid() const { return grid_; }

  /// Every grid feature that moved goes to the next grid value on the side on which g grows.
  void round_up() {
    const Vector slope = guide_->slope(encode(raw_));
    for (const std::size_t j : grid_) {
      const auto i = static_cast<Index>(j);
      const FeatureRange& range = feasible_->ranges()[j];
      if (range.contains(raw_(i))) continue;
      const int side = slope(column(j)) >= 0 ? 1 : -1;
      const auto next = range.beyond(raw_(i), side);
      raw_(i) = next ? *next : range.beyond(raw_(i), -side).value_or(range.query);
    }
  }

  /// Goes outwards on the grid until the point is robust: each time where a unit of cost gains
  /// most.
  [[nodiscard]] bool reach() {
    double margin = this->margin(raw_);
    for (int move = 0; move < most_moves && margin < 0; ++move) {
      std::optional<Vector> best;
      double best_rate = 0;
      std::size_t best_feature = 0;
      for (const std::size_t j : grid_) {
        for (const int side : {1, -1}) {
          const std::optional<Vector> moved = strode(raw_, j, side);
          if (!moved) continue;
          const double gain = this->margin(*moved) - margin;
          if (gain <= 0) continue;
          const double price = std::max(cost(*moved) - cost(raw_), 1e-12);
          if (gain / price > best_rate) {
            best_rate = gain / price;
            best = moved;
            best_feature = j;
          }
        }
      }
      if (!best) return false;
      const double before = margin;
      margin = this->margin(*best);
      // g is concave: each further step gains no more than this one did, so that this many are
      // needed at least, and fewer gain in proportion at most.
      double strides = std::floor(stride_share * -margin / (margin - before));
      const auto i = static_cast<Index>(best_feature);
      const int side = (*best)(i) > raw_(i) ? 1 : -1;
      for (; strides >= 1; strides = std::floor(strides / 2)) {
        const std::optional<Vector> further = strode(*best, best_feature, side, strides);
        if (!further || this->margin(*further) <= margin) continue;
        best = further;
        margin = this->margin(*best);
        break;
      }
      raw_ = *best;
    }
    return margin >= 0;
  }

  /// Takes back what is not needed: single steps, whole features, and exchanges of a step for as
  /// many of another feature as make up for it.
  void tighten() {
    double longest = 1;
    for (const std::size_t j : grid_) {
      const auto i = static_cast<Index>(j);
      const std::optional<double>& step = feasible_->ranges()[j].step;
      if (step) longest = std::max(longest, std::abs(raw_(i) - feasible_->query_raw()(i)) / *step);
    }
    // Coarse strides first, so that a fine grid takes no more moves than a coarse one.
    double stride = 1;
    while (stride * 16 <= longest) stride *= 8;
    for (; stride >= 1; stride /= 8) tighten(stride);
  }

  /// Goes to a robust point, if the present one is not robust or costs more.
  bool take_if_better(const Vector& raw) {
    if (margin(raw) < 0 || (margin(raw_) >= 0 && cost(raw) >= cost(raw_))) return false;
    raw_ = raw;
    return true;
  }
  [[nodiscard]] Index column(std::size_t feature) const {
    return feasible_->encoder().first_column(feature);
  }
  [[nodiscard]] Vector encode(const Vector& raw) const {
    Vector z(feasible_->encoder().columns());
    feasible_->encoder().encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
    return z;
  }
  [[nodiscard]] double margin(const Vector& raw) const { return guide_->margin(encode(raw)); }

 private:
  void tighten(double stride) {
    for (int move = 0; move < most_moves; ++move) {
      std::optional<Vector> best;
      double best_cost = cost(raw_) * (1 - 1e-12);
      const auto offer = [&](const Vector& candidate) {
        const double candidate_cost = cost(candidate);
        if (candidate_cost >= best_cost || margin(candidate) < 0) return;
        best_cost = candidate_cost;
        best = candidate;
      };
      for (const std::size_t j : grid_) {
        const auto i = static_cast<Index>(j);
        const double own = feasible_->query_raw()(i);
        if (raw_(i) == own) continue;
        Vector home = raw_;
        home(i) = own;
        offer(home);
        const bool above = raw_(i) > own;
        const std::optional<Vector> back = strode(raw_, j, above ? -1 : 1, stride);
        if (!back || (above ? (*back)(i) < own : (*back)(i) > own)) continue;
        offer(*back);
        if (!guide_->tries_exchanges()) continue;
        const double missing = -margin(*back);
        for (const std::size_t k : grid_) {
          if (k == j) continue;
          for (const int side : {1, -1}) {
            if (const std::optional<Vector> exchanged = exchange(*back, missing, k, side))
              offer(*exchanged);
          }
        }
      }
      if (!best) return;
      raw_ = *best;
    }
  }

  /// The point with as many steps of a feature as make up for the missing margin. g is concave: a
  /// secant through fewer steps asks for too few, and the next one for more.
  [[nodiscard]] std::optional<Vector> exchange(const Vector& point, double missing, std::size_t k,
                                               int side) const {
    double steps = 1;
    for (int secant = 0; secant < most_secants; ++secant) {
      std::optional<Vector> moved = strode(point, k, side, steps);
      if (!moved) return std::nullopt;
      const double gain = margin(*moved) + missing;
      if (gain >= missing) return moved;
      if (gain <= 0) return std::nullopt;
      steps = std::max(steps + 1, std::ceil(steps * missing / gain));
    }
    return std::nullopt;
  }
  /// So many steps of a feature's grid in one direction, or nothing where it ends earlier. Listed
  /// values are taken one at a time.
  [[nodiscard]] std::optional<Vector> strode(const Vector& from, std::size_t j, int side,
                                             double steps = 1) const {
    const auto i = static_cast<Index>(j);
    const FeatureRange& range = feasible_->ranges()[j];
    const bool strides = range.step && range.allowed.empty();
    // Half a step short of the aim, so that rounding does not decide which value lies beyond.
    const double near =
        strides && steps > 1 ? from(i) + side * (steps - 0.5) * *range.step : from(i);
    const std::optional<double> next = range.beyond(near, side);
    if (!next) return std::nullopt;
    Vector moved = from;
    moved(i) = *next;
    return moved;
  }
  [[nodiscard]] double cost(const Vector& raw) const {
    return cost_of(problem_->cost, feasible_->encoder(), feasible_->query(), encode(raw));
  }

  const Problem* problem_;
  RoundingGuide* guide_;
  const FeasibleSet* feasible_;
  Vector raw_;
  std::vector<std::size_t> grid_;
};

}  // namespace

std::optional<Vector> round_to_grid(const Problem& problem, RoundingGuide& guide,
                                    const FeasibleSet& feasible, const Box& box, VectorArg point) {
  Search search(problem, guide, feasible, feasible.decode(point));
  // What has no grid is solved again with the grid features where they are now.
  const auto solve_rest = [&] {
    Box rest = box;
    const Vector at_grid = search.encode(search.raw());
    for (const std::size_t j : search.grid()) {
      const Index column = search.column(j);
      rest.lower(column) = rest.upper(column) = at_grid(column);
    }
    if (!(rest.lower.array() < rest.upper.array()).any()) return false;
    const std::optional<Vector> solved = guide.solve(rest, at_grid);
    if (!solved) return false;
    Vector raw = feasible.decode(*solved);
    for (const std::size_t j : search.grid()) {
      raw(static_cast<Index>(j)) = search.raw()(static_cast<Index>(j));
    }
    return search.take_if_better(raw);
  };
  search.round_up();
  // Where the grids end too early, the features without one may make up for it.
  if (!search.reach() && !solve_rest()) return std::nullopt;
  search.tighten();
  solve_rest();
  return search.raw();
}

}  // namespace ellice

#include "ellice/recourse/rounding.hpp"

#include <algorithm>

namespace ellice {

namespace {

// Far more steps than a fine grid needs from its continuous optimum; ends a search that gets
// nowhere.
constexpr int most_moves = 10000;

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

  /// Steps outwards on the grid until the point is robust: each time where a unit of cost gains
  /// most.
  [[nodiscard]] bool reach() {
    double margin = this->margin(raw_);
    for (int move = 0; move < most_moves && margin < 0; ++move) {
      std::optional<Vector> best;
      double best_rate = 0;
      for (const std::size_t j : grid_) {
        for (const int side : {1, -1}) {
          const std::optional<Vector> moved = stepped(j, side);
          if (!moved) continue;
          const double gain = this->margin(*moved) - margin;
          if (gain <= 0) continue;
          const double price = std::max(cost(*moved) - cost(raw_), 1e-12);
          if (gain / price > best_rate) {
            best_rate = gain / price;
            best = moved;
          }
        }
      }
      if (!best) return false;
      raw_ = *best;
      margin = this->margin(raw_);
    }
    return margin >= 0;
  }

  /// Takes back what is not needed: single steps, whole features, and exchanges of a step for
  /// another.
  void tighten() {
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
        if (raw_(i) == feasible_->query_raw()(i)) continue;
        Vector home = raw_;
        home(i) = feasible_->query_raw()(i);
        offer(home);
        const std::optional<Vector> back = stepped(j, raw_(i) > feasible_->query_raw()(i) ? -1 : 1);
        if (!back) continue;
        offer(*back);
        if (!guide_->tries_exchanges()) continue;
        for (const std::size_t k : grid_) {
          if (k == j) continue;
          for (const int side : {1, -1}) {
            const auto next = feasible_->ranges()[k].beyond((*back)(static_cast<Index>(k)), side);
            if (!next) continue;
            Vector exchanged = *back;
            exchanged(static_cast<Index>(k)) = *next;
            offer(exchanged);
          }
        }
      }
      if (!best) return;
      raw_ = *best;
    }
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
  [[nodiscard]] std::optional<Vector> stepped(std::size_t j, int side) const {
    const auto i = static_cast<Index>(j);
    const auto next = feasible_->ranges()[j].beyond(raw_(i), side);
    if (!next) return std::nullopt;
    Vector moved = raw_;
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

#include "search/discrete_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "request/cost_prices.hpp"
#include "search/allowed_row.hpp"
#include "search/tolerances.hpp"
#include "solver/augmented_descent.hpp"

namespace ellice {

namespace {

constexpr std::size_t near_rows = 4;
// An assignment whose estimate exceeds the best cost by this factor is not solved.
constexpr double hopeless = 2;
// Grids whose step is shorter than this in units of the cost are rounded, not branched on.
constexpr double coarse_step = 0.02;
// Assignments whose whole numbers are branched on, and where nothing is robust, those kept.
constexpr std::size_t branched = 4;
constexpr std::size_t kept_widest = 3;
constexpr double branch_gain = 1e-4;

}  // namespace

DiscreteSearch::DiscreteSearch(const QueryContext& context)
    : context_(context),
      function_(context.set->function()),
      constraints_(*function_, context.problem->threshold, *context.feasible) {
  const FeasibleSet& feasible = *context_.feasible;
  const Encoder& encoder = feasible.encoder();
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    const FeatureRange& range = feasible.ranges()[j];
    if (!range.held) continue;
    if (is_category(encoder.schema().features[j])) {
      categories_.push_back({.feature = j, .levels = allowed_levels(feasible, j)});
      continue;
    }
    const Index column = encoder.first_column(j);
    const double step = range.allowed.empty() ? *range.step : infinity;
    wholes_.push_back({.feature = j,
                       .column = column,
                       .coarse = std::sqrt((*context_.weights)(column)) * step >
                                 coarse_step * encoder.scale()(column)});
  }
}

DiscreteSearch::Outcome DiscreteSearch::search(double kappa, const std::vector<Vector>& starts,
                                               double limit) {
  kappa_ = kappa;
  constraints_.set_radius(kappa, search_margin);
  const bool is_root = prices_of(context_.problem->cost.kind).is_root;
  best_square_ = is_root ? limit * limit : limit;
  solved_.clear();
  choices_.clear();
  nodes_ = 0;
  const std::vector<Vector> rows = row_points(kappa);
  for (const Vector& row : rows) offer(row);
  std::vector<Vector> all = starts;
  all.insert(all.end(), rows.begin(), rows.end());
  search_levels(all);

  std::vector<const Solved*> order;
  for (const Solved& solved : solved_) {
    if (solved.found) order.push_back(&solved);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Solved* a, const Solved* b) { return a->square < b->square; });
  for (std::size_t k = 0; k < order.size() && !wholes_.empty(); ++k) {
    if (k >= branched && !choices_.empty()) break;
    branch(*order[k]);
  }

  Outcome outcome{.robust = std::move(choices_)};
  const auto cheaper = [](const Choice& a, const Choice& b) { return a.cost < b.cost; };
  std::stable_sort(outcome.robust.begin(), outcome.robust.end(), cheaper);
  if (!outcome.robust.empty()) return outcome;
  for (const Solved& solved : solved_) {
    const Vector row = allowed_row(*context_.feasible, slope(solved.point), solved.point);
    Choice choice{.row = row, .point = context_.feasible->query()};
    const Encoder& encoder = context_.feasible->encoder();
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, choice.point);
    choice.kappa = largest_radius(*function_, context_.problem->threshold, choice.point);
    outcome.widest.push_back(std::move(choice));
  }
  std::stable_sort(outcome.widest.begin(), outcome.widest.end(),
                   [](const Choice& a, const Choice& b) { return a.kappa > b.kappa; });
  outcome.widest.resize(std::min(outcome.widest.size(), kept_widest));
  return outcome;
}

std::vector<Vector> DiscreteSearch::row_points(double kappa) const {
  if (context_.rows == nullptr) return {};
  const FeasibleSet& feasible = *context_.feasible;
  const Encoder& encoder = feasible.encoder();
  StartFilter filter{.must_lie_inside =
                         std::vector<bool>(static_cast<std::size_t>(encoder.columns()), false)};
  Box box = feasible.relaxed();
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    if (!is_category(encoder.schema().features[j])) continue;
    const Index first = encoder.first_column(j);
    for (Index i = first; i < first + encoder.column_count(j); ++i) {
      filter.must_lie_inside[static_cast<std::size_t>(i)] = true;
      if (encoder.column_count(j) > 1 &&
          !feasible.ranges()[j].contains(static_cast<double>(i - first))) {
        box.upper(i) = 0;
      }
    }
  }
  filter.allows = [&](VectorArg row) {
    return feasible.violations(encoder.raw(encoder.decode(row))).empty();
  };
  const auto near = [&](std::size_t count, Index most_rows) {
    return context_.rows->nearest(feasible.query(), *context_.weights, box, kappa, count, most_rows,
                                  &filter);
  };
  std::vector<Vector> result = near(near_rows, some_rows);
  return result.empty() ? near(near_rows, std::numeric_limits<Index>::max() / 2) : result;
}

DiscreteSearch::Levels DiscreteSearch::levels_of(const Vector& z) const {
  // A point's own levels, whole or not, through the row that is nearest to it.
  const Vector row = allowed_row(*context_.feasible, Vector::Zero(z.size()), z);
  Levels levels;
  for (const Category& category : categories_) {
    levels.push_back(row(static_cast<Index>(category.feature)));
  }
  return levels;
}

void DiscreteSearch::apply(const Levels& levels, Vector& z) const {
  for (std::size_t k = 0; k < categories_.size(); ++k) {
    set_level(context_.feasible->encoder(), categories_[k].feature, levels[k], z);
  }
}

double DiscreteSearch::square_of(const Vector& z) const {
  const Problem& problem = *context_.problem;
  const double cost =
      cost_of(problem.cost, context_.feasible->encoder(), context_.feasible->query(), z);
  return prices_of(problem.cost.kind).is_root ? cost * cost : cost;
}

double DiscreteSearch::charge_of(const Levels& levels) const {
  Vector z = context_.feasible->query();
  apply(levels, z);
  return square_of(z);
}

Box DiscreteSearch::box_of(const Levels& levels) const {
  Box box = context_.feasible->relaxed();
  apply(levels, box.lower);
  apply(levels, box.upper);
  return box;
}

std::optional<Vector> DiscreteSearch::nearest(const Box& box, const Vector& start) {
  const NearestPoint problem{.query = context_.feasible->query(),
                             .lower = box.lower,
                             .upper = box.upper,
                             .weights = *context_.weights};
  ++nodes_;
  SequentialQuadratic solver(problem, constraints_.count(),
                             {.max_iterations = context_.options->max_iterations});
  if (!solver.solve(constraints_, start).found) return std::nullopt;
  return solver.point();
}

DiscreteSearch::Solved DiscreteSearch::solve(const Levels& levels, const Vector& start) {
  const Box box = box_of(levels);
  const NearestPoint problem{.query = context_.feasible->query(),
                             .lower = box.lower,
                             .upper = box.upper,
                             .weights = *context_.weights};
  // Other levels may have another way to the border: one start is where the parent ended, one
  // where the numbers are the query's own.
  const Vector inside = start.cwiseMax(box.lower).cwiseMin(box.upper);
  const Vector home = problem.query.cwiseMax(box.lower).cwiseMin(box.upper);
  Solved solved{.levels = levels, .point = inside};
  const auto take = [&](const std::optional<Vector>& point) {
    if (!point) return;
    const double square = square_of(*point);
    if (solved.found && square >= solved.square) return;
    solved.found = true;
    solved.square = square;
    solved.point = *point;
  };
  take(nearest(box, inside));
  if (home != inside) take(nearest(box, home));
  if (solved.found) return solved;
  // As long as there is no answer at all, whatever else may lead to one.
  std::vector<Vector> others = {augmented_descent(constraints_, problem, home)};
  if (choices_.empty()) {
    others.push_back(climb(*function_, kappa_, context_.problem->threshold, constraints_.floor(),
                           problem.query, box, home));
  }
  for (const Vector& other : others) {
    take(nearest(box, other));
    if (solved.found) return solved;
    if (constraints_.smallest(other) > constraints_.smallest(solved.point)) solved.point = other;
  }
  solved.square = square_of(solved.point);
  return solved;
}

void DiscreteSearch::search_levels(const std::vector<Vector>& starts) {
  const int limit = context_.options->discrete_nodes;
  std::set<Levels> seen;
  std::vector<Move> queue;  // a heap, the smallest estimate on top; ties by levels
  const auto later = [](const Move& a, const Move& b) {
    return a.estimate != b.estimate ? a.estimate > b.estimate : a.levels > b.levels;
  };
  const auto visit = [&](const Levels& levels, const Vector& start) {
    solved_.push_back(solve(levels, start));
    const Solved& solved = solved_.back();
    if (solved.found && wholes_.empty()) {
      offer(solved.point);
    } else if (solved.found && solved.square < best_square_) {
      finish(box_of(levels), solved.point, levels);
    }
    const std::size_t before = queue.size();
    expand(solved_.size() - 1, queue);
    for (std::size_t k = before + 1; k <= queue.size(); ++k) {
      std::push_heap(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(k), later);
    }
  };
  for (const Vector& start : starts) {
    const Levels levels = levels_of(start);
    if (seen.insert(levels).second) visit(levels, start);
  }
  while (!queue.empty() && nodes_ < limit) {
    check_stop();
    std::pop_heap(queue.begin(), queue.end(), later);
    const Move move = std::move(queue.back());
    queue.pop_back();
    if (move.estimate > hopeless * best_square_) break;
    if (charge_of(move.levels) >= best_square_ || !seen.insert(move.levels).second) continue;
    Vector start = solved_[move.parent].point;
    apply(move.levels, start);
    visit(move.levels, start);
  }
}

void DiscreteSearch::expand(std::size_t parent, std::vector<Move>& queue) {
  const Solved& solved = solved_[parent];
  const Box& relaxed = context_.feasible->relaxed();
  // How fast g grows per unit of cost where numbers may move.
  const Vector gradient = slope(solved.point);
  double rate = 0;
  for (Index i = 0; i < gradient.size(); ++i) {
    const bool category = is_category(
        context_.feasible->encoder().schema().features[context_.feasible->encoder().feature_of(i)]);
    if (category || !(relaxed.lower(i) < relaxed.upper(i))) continue;
    rate += gradient(i) * gradient(i) / (*context_.weights)(i);
  }
  rate = std::sqrt(rate);
  const double moved = std::sqrt(std::max(0.0, solved.square - charge_of(solved.levels)));
  Move move{.levels = solved.levels, .parent = parent};
  Vector z = solved.point;
  for (std::size_t k = 0; k < categories_.size(); ++k) {
    const Category& category = categories_[k];
    for (const double level : category.levels) {
      if (level == solved.levels[k]) continue;
      move.levels[k] = level;
      set_level(context_.feasible->encoder(), category.feature, level, z);
      // What the numbers still have to do, or need no longer.
      const double shortfall = -constraints_.smallest(z);
      const double way = shortfall <= 0 && rate == 0 ? -moved : shortfall / rate;
      const double rest = std::max(0.0, moved + way);
      move.estimate = charge_of(move.levels) + rest * rest;
      if (!std::isnan(move.estimate)) queue.push_back(move);
    }
    move.levels[k] = solved.levels[k];
    set_level(context_.feasible->encoder(), category.feature, solved.levels[k], z);
  }
}

std::optional<DiscreteSearch::Split> DiscreteSearch::split_of(const Vector& z) const {
  const FeasibleSet& feasible = *context_.feasible;
  const Encoder& encoder = feasible.encoder();
  std::optional<Split> best;
  for (const Whole& whole : wholes_) {
    const Index i = whole.column;
    if (!whole.coarse || z(i) == feasible.query()(i)) continue;
    const FeatureRange& range = feasible.ranges()[whole.feature];
    const double value = z(i) * encoder.scale()(i) + encoder.mean()(i);
    const double slack = grid_tolerance * range.step.value_or(1);
    const std::optional<double> below = range.beyond(value + slack, -1);
    const std::optional<double> above = range.beyond(value - slack, 1);
    const double distance =
        std::sqrt((*context_.weights)(i)) / encoder.scale()(i) *
        std::min(below ? value - *below : infinity, above ? *above - value : infinity);
    if (distance <= grid_tolerance || (best && distance <= best->distance)) continue;
    best = {.column = i, .distance = distance};
    if (below) best->below = (*below - encoder.mean()(i)) / encoder.scale()(i);
    if (above) best->above = (*above - encoder.mean()(i)) / encoder.scale()(i);
  }
  return best;
}

void DiscreteSearch::branch(const Solved& root) {
  struct Piece {
    double bound = 0;
    std::size_t order = 0;
    Box box = {};
    Vector point = {};
  };
  const int limit = nodes_ + std::max(1, context_.options->discrete_nodes / 4);
  std::size_t made = 0;
  std::vector<Piece> pieces = {
      {.bound = root.square, .order = made++, .box = box_of(root.levels), .point = root.point}};
  while (!pieces.empty() && nodes_ < limit) {
    check_stop();
    const auto next =
        std::min_element(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
          return a.bound != b.bound ? a.bound < b.bound : a.order > b.order;
        });
    const Piece piece = std::move(*next);
    pieces.erase(next);
    if (piece.bound >= best_square_ * (1 - branch_gain)) return;
    const std::optional<Split> split = split_of(piece.point);
    if (!split) {
      finish(piece.box, piece.point, root.levels);
      continue;
    }
    for (const bool up : {true, false}) {
      const std::optional<double>& bound = up ? split->above : split->below;
      if (!bound) continue;
      Piece child{.order = made++, .box = piece.box};
      (up ? child.box.lower : child.box.upper)(split->column) = *bound;
      if (child.box.lower(split->column) > child.box.upper(split->column)) continue;
      std::optional<Vector> point =
          nearest(child.box, piece.point.cwiseMax(child.box.lower).cwiseMin(child.box.upper));
      if (!point) continue;
      child.bound = square_of(*point);
      child.point = std::move(*point);
      pieces.push_back(std::move(child));
    }
  }
}

void DiscreteSearch::finish(Box box, Vector point, const Levels& levels) {
  const FeasibleSet& feasible = *context_.feasible;
  const Encoder& encoder = feasible.encoder();
  for (const bool coarse : {true, false}) {
    const Vector row = allowed_row(feasible, slope(point), point);
    Vector z(encoder.columns());
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
    apply(levels, z);
    bool has_changed = false;
    for (const Whole& whole : wholes_) {
      if (whole.coarse != coarse) continue;
      has_changed = true;
      point(whole.column) = z(whole.column);
      box.lower(whole.column) = box.upper(whole.column) = z(whole.column);
    }
    if (!has_changed) continue;
    std::optional<Vector> solved = nearest(box, point);
    if (!solved) return;
    point = std::move(*solved);
  }
  offer(point);
}

void DiscreteSearch::offer(const Vector& candidate) {
  // Whole numbers as they will be written: a training row that was brought into a range may lie
  // beside its grid.
  const Encoder& encoder = context_.feasible->encoder();
  const Vector row = allowed_row(*context_.feasible, slope(candidate), candidate);
  Vector written(encoder.columns());
  encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, written);
  Vector point = candidate;
  for (const Whole& whole : wholes_) point(whole.column) = written(whole.column);
  if (constraints_.smallest(point) < 0) return;
  const double square = square_of(point);
  Choice choice{
      .row = row,
      .point = point,
      .cost = cost_of(context_.problem->cost, encoder, context_.feasible->query(), point)};
  const auto has_same_values = [&](const Choice& other) {
    const std::vector<FeatureRange>& ranges = context_.feasible->ranges();
    for (std::size_t j = 0; j < ranges.size(); ++j) {
      const auto i = static_cast<Index>(j);
      if (ranges[j].held && other.row(i) != choice.row(i)) return false;
    }
    return true;
  };
  const auto same = std::find_if(choices_.begin(), choices_.end(), has_same_values);
  if (same == choices_.end()) {
    choices_.push_back(std::move(choice));
  } else if (choice.cost < same->cost) {
    *same = std::move(choice);
  }
  best_square_ = std::min(best_square_, square);
}

Vector DiscreteSearch::slope(const Vector& z) {
  Vector values(constraints_.count());
  Matrix gradients(z.size(), values.size());
  constraints_.gradients(z, values, gradients);
  Index smallest = 0;
  values.minCoeff(&smallest);
  return gradients.col(smallest);
}

}  // namespace ellice

#include "search/row_domain.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "search/tolerances.hpp"

namespace ellice {

namespace {

// What rounding may take from a sum of terms, relatively.
constexpr double rounding = 1e-13;
// The same of the end of a range, in model space.
constexpr double at_end = 1e-11;

/// Brings the ends of a range onto its grid.
void tighten(FeatureRange& range) {
  if (range.fixed || range.lower > range.upper || !range.has_grid()) return;
  const auto end = [&](double bound, int inwards) {
    if (std::isinf(bound)) return bound;
    if (range.contains(bound)) return bound;
    return range.beyond(bound, inwards).value_or(inwards * infinity);
  };
  const double lower = end(range.lower, 1);
  range.upper = end(range.upper, -1);
  range.lower = lower;
}

}  // namespace

bool RowDomain::Cell::moves() const {
  // What does not stay moves to whatever is left, another number of the own bin included.
  if (is_category()) {
    return std::any_of(levels.begin(), levels.end(),
                       [&](double v) { return !stays || v != others.query; });
  }
  // Beyond the last value of a grid there is no number, and both ends are infinite.
  const bool has_number =
      others.lower <= others.upper && others.lower < infinity && others.upper > -infinity;
  const bool is_query = others.lower == others.query && others.upper == others.query;
  return !others.fixed && has_number && !(stays && is_query);
}

RowDomain::RowDomain(const FeasibleSet& branch, std::optional<std::size_t> most_changes)
    : branch_(&branch), most_changes_(most_changes), fixed_(branch.query()) {
  for (std::size_t j = 0; j < branch.ranges().size(); ++j) add_cell(j, branch.ranges()[j]);
  settle_rest();
}

void RowDomain::settle(Cell& cell) const {
  cell.is_movable = cell.moves();
  if (cell.is_category() || !cell.is_movable) return;
  cell.z_lower = coordinate(cell, cell.others.lower);
  cell.z_upper = coordinate(cell, cell.others.upper);
}

void RowDomain::settle_rest() {
  rest_ = fixed_;
  for (const Cell& cell : cells_) rest_.segment(cell.column, cell.width).setZero();
}

void RowDomain::add_cell(std::size_t j, const FeatureRange& range) {
  const Encoder& encoder = branch_->encoder();
  Cell cell{.feature = j,
            .column = encoder.first_column(j),
            .width = encoder.column_count(j),
            .stays = range.contains(range.query),
            .others = range};
  if (encoder.schema().features[j].is_binned()) {
    take_bins(cell, range);
  } else if (cell.is_category()) {
    const std::size_t count = encoder.schema().features[j].levels.size();
    for (std::size_t level = 0; level < count; ++level) {
      const auto value = static_cast<double>(level);
      if (range.contains(value)) cell.levels.push_back(value);
    }
  }
  cell.others.keeps = false;
  tighten(cell.others);
  settle(cell);
  if (!cell.is_movable && cell.stays) return;
  cell.counted = !cell.stays;
  cells_.push_back(std::move(cell));
}

void RowDomain::take_bins(Cell& cell, const FeatureRange& range) const {
  const Bins& bins = branch_->encoder().schema().features[cell.feature].bins;
  const auto seen = [&](double number) {
    const std::size_t bin = bins.of(number);
    return bins.values.empty() ? static_cast<double>(bin) : bins.values[bin];
  };
  FeatureRange& others = cell.others;
  others = {.query = seen(range.query), .keeps = range.keeps, .fixed = range.fixed};
  if (cell.stays) cell.numbers.emplace_back(others.query, range.query);
  others.lower = infinity;
  others.upper = -infinity;
  if (!range.fixed) {
    for (const double number : range.allowed) {
      cell.numbers.emplace_back(seen(number), number);
      others.allowed.push_back(seen(number));
    }
    std::sort(others.allowed.begin(), others.allowed.end());
    if (!others.allowed.empty()) {
      others.lower = others.allowed.front();
      others.upper = others.allowed.back();
    }
  }
  if (!cell.is_category()) return;
  cell.levels = others.allowed;
  if (cell.stays) cell.levels.push_back(others.query);
  std::sort(cell.levels.begin(), cell.levels.end());
}

double RowDomain::in_cell(const Cell& cell, double raw) {
  for (const auto& [value, number] : cell.numbers) {
    if (number == raw) return value;
  }
  return raw;
}

double RowDomain::from_cell(const Cell& cell, double value) {
  for (const auto& [seen, number] : cell.numbers) {
    if (seen == value) return number;
  }
  return value;
}

RowDomain RowDomain::with_range(std::size_t feature, const FeatureRange& range) const {
  RowDomain result = *this;
  std::erase_if(result.cells_, [&](const Cell& cell) { return cell.feature == feature; });
  result.add_cell(feature, range);
  result.settle_rest();
  return result;
}

double RowDomain::coordinate(const Cell& cell, double raw) const {
  if (raw == cell.others.query) return fixed_(cell.column);
  const Encoder& encoder = branch_->encoder();
  return (raw - encoder.mean()(cell.column)) / encoder.scale()(cell.column);
}

std::size_t RowDomain::counted() const {
  return static_cast<std::size_t>(
      std::count_if(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.counted; }));
}

Box RowDomain::box() const {
  Box box{.lower = fixed_, .upper = fixed_};
  for (const Cell& cell : cells_) {
    if (cell.is_category()) {
      box.lower.segment(cell.column, cell.width).setZero();
      box.upper.segment(cell.column, cell.width).setZero();
      for (const double level : cell.levels) box.upper(cell.column + static_cast<Index>(level)) = 1;
      if (cell.levels.size() == 1)
        box.lower.segment(cell.column, cell.width) = box.upper.segment(cell.column, cell.width);
      continue;
    }
    double& lower = box.lower(cell.column);
    double& upper = box.upper(cell.column);
    const double own = lower;
    if (!cell.is_movable) continue;
    lower = cell.z_lower;
    upper = cell.z_upper;
    if (!cell.stays) continue;
    lower = std::min(lower, own);
    upper = std::max(upper, own);
  }
  return box;
}

std::vector<LinearRule> RowDomain::level_rules() const {
  std::vector<LinearRule> rules;
  for (const Cell& cell : cells_) {
    if (!cell.is_category() || cell.levels.size() < 2) continue;
    LinearRule rule{.coefficients = Vector::Zero(fixed_.size()), .lower = 1, .upper = 1};
    rule.coefficients.segment(cell.column, cell.width).setOnes();
    rules.push_back(std::move(rule));
  }
  return rules;
}

RowDomain::Terms RowDomain::terms(const Cell& cell, VectorArg plane) const {
  if (cell.is_category()) {
    Terms result{.own = plane(cell.column + static_cast<Index>(cell.others.query)),
                 .best = -infinity};
    for (const double level : cell.levels)
      result.best = std::max(result.best, plane(cell.column + static_cast<Index>(level)));
    return result;
  }
  const double slope = plane(cell.column);
  Terms result{.own = slope * fixed_(cell.column), .best = -infinity};
  if (cell.is_movable)
    result.best = slope == 0 ? 0 : slope * (slope > 0 ? cell.z_upper : cell.z_lower);
  if (cell.stays) result.best = std::max(result.best, result.own);
  return result;
}

double RowDomain::maximum(VectorArg plane) const {
  const Index d = fixed_.size();
  double sum = plane(d);
  double size = std::abs(sum);
  std::vector<double> gains;
  for (const Cell& cell : cells_) {
    const Terms found = terms(cell, plane);
    size += std::abs(found.best);
    if (cell.counted || !most_changes_) {
      sum += found.best;
    } else {
      sum += found.own;
      gains.push_back(found.best - found.own);
    }
  }
  for (Index i = 0; i < d; ++i) {
    const double own = plane(i) * rest_(i);
    sum += own;
    size += std::abs(own);
  }
  if (most_changes_) {
    const std::size_t used = counted();
    if (used > *most_changes_) return -infinity;
    const std::size_t free = std::min(gains.size(), *most_changes_ - used);
    std::partial_sort(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(free), gains.end(),
                      std::greater<>());
    for (std::size_t k = 0; k < free; ++k) sum += gains[k];
  }
  return std::isfinite(size) ? sum + rounding * size : sum;
}

double RowDomain::value_near(const Cell& cell, double z, double slope) const {
  const FeatureRange& others = cell.others;
  if (!cell.is_movable || (cell.stays && z == fixed_(cell.column))) return others.query;
  const Encoder& encoder = branch_->encoder();
  const double value = z * encoder.scale()(cell.column) + encoder.mean()(cell.column);
  double near = std::clamp(value, others.lower, others.upper);
  // At an end but for rounding it is the end.
  for (const double end : {others.lower, others.upper}) {
    const double there = coordinate(cell, end);
    if (std::isfinite(there) && std::abs(z - there) <= at_end * (1 + std::abs(there))) near = end;
  }
  if (others.has_grid() && !others.contains(near)) {
    const double nearest = others.nearest(near);
    const double slack = grid_tolerance * others.step.value_or(1);
    const int side = slope >= 0 ? 1 : -1;
    if (std::abs(nearest - near) <= slack && others.contains(nearest)) {
      near = nearest;
    } else {
      const std::optional<double> ahead = others.beyond(near, side);
      near = ahead ? *ahead : others.beyond(near, -side).value_or(others.query);
    }
  } else {
    near = others.snapped(near);
  }
  // Between own value and range there is nothing: the better of the two.
  if (cell.is_apart() && (value < others.lower || value > others.upper) &&
      slope * others.query > slope * near) {
    return others.query;
  }
  return near;
}

Vector RowDomain::row(VectorArg point, VectorArg plane) const {
  Vector raw = branch_->query_raw();
  std::vector<std::pair<double, const Cell*>> changed;  // that need not, by falling gain
  std::size_t room = most_changes_.value_or(cells_.size());
  for (const Cell& cell : cells_) {
    const auto i = static_cast<Index>(cell.feature);
    if (cell.is_category()) {
      double most = -infinity;
      for (const double level : cell.levels) {
        const double entry = point(cell.column + static_cast<Index>(level));
        if (!(entry > most)) continue;
        most = entry;
        raw(i) = level;
      }
    } else {
      raw(i) = value_near(cell, point(cell.column), plane(cell.column));
    }
    if (cell.stays && raw(i) == cell.others.query) continue;
    if (!most_changes_) continue;
    if (cell.counted) {
      if (room > 0) --room;
      continue;
    }
    const double gain = cell.is_category()
                            ? plane(cell.column + static_cast<Index>(raw(i))) -
                                  plane(cell.column + static_cast<Index>(cell.others.query))
                            : plane(cell.column) * (coordinate(cell, raw(i)) - fixed_(cell.column));
    changed.emplace_back(gain, &cell);
  }
  std::stable_sort(changed.begin(), changed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t k = room; k < changed.size(); ++k)
    raw(static_cast<Index>(changed[k].second->feature)) = changed[k].second->others.query;
  for (const Cell& cell : cells_) {
    double& value = raw(static_cast<Index>(cell.feature));
    value = from_cell(cell, value);
  }
  return raw;
}

bool RowDomain::is_free_number(const Cell& cell) {
  return !cell.is_category() && !cell.others.has_grid() && !cell.is_apart();
}

bool RowDomain::has_free_numbers() const {
  return std::any_of(cells_.begin(), cells_.end(),
                     [](const Cell& cell) { return is_free_number(cell) && cell.is_movable; });
}

bool RowDomain::is_empty() const {
  const bool is_full = most_changes_ && counted() > *most_changes_;
  return is_full || std::any_of(cells_.begin(), cells_.end(),
                                [](const Cell& cell) { return !cell.stays && !cell.is_movable; });
}

RowDomain RowDomain::holding(VectorArg row) const {
  RowDomain result = *this;
  for (Cell& cell : result.cells_) {
    const double value = in_cell(cell, row(static_cast<Index>(cell.feature)));
    if (cell.is_category()) {
      cell.levels = {value};
      cell.stays = cell.stays && value == cell.others.query;
      cell.counted = cell.counted || !cell.stays;
    } else if (value == cell.others.query && cell.stays) {
      // With a limit of changes what does not change stays, and so does what is discrete or apart.
      if (!most_changes_ && !cell.others.has_grid() && !cell.is_apart()) continue;
      cell.others.lower = infinity;
      cell.others.upper = -infinity;
    } else {
      cell.stays = cell.stays && !cell.is_apart();
      if (cell.others.has_grid()) {
        cell.others.lower = cell.others.upper = value;
        cell.stays = false;
      }
      cell.counted = true;
    }
    settle(cell);
  }
  return result;
}

RowDomain RowDomain::with(std::size_t place, Cell cell) const {
  RowDomain result = *this;
  settle(cell);
  cell.counted = cell.counted || !cell.stays;
  result.cells_[place] = std::move(cell);
  return result;
}

std::optional<std::pair<RowDomain, RowDomain>> RowDomain::split(VectorArg point,
                                                                VectorArg plane) const {
  const Vector near = row(point, plane);
  std::optional<std::size_t> place;
  double most = 0;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const Cell& cell = cells_[c];
    const double value = in_cell(cell, near(static_cast<Index>(cell.feature)));
    double difference = 0;
    double weight = 0;
    const bool may_rest = most_changes_ && !cell.counted && cell.stays;
    if (is_free_number(cell) && !may_rest) continue;
    if (cell.is_category()) {
      if (cell.levels.size() < 2) continue;
      for (const double level : cell.levels) {
        const Index i = cell.column + static_cast<Index>(level);
        const double gap = std::abs(point(i) - (level == value ? 1 : 0));
        difference += gap;
        weight += std::abs(plane(i)) * gap;
      }
    } else {
      difference = std::abs(point(cell.column) - coordinate(cell, value));
      weight = std::abs(plane(cell.column)) * difference;
    }
    if (!(difference > 1e-9)) continue;
    // Whatever differs may be what is in the way, if only by a rule.
    const double score = weight + 1e-6 * difference;
    if (score > most) {
      most = score;
      place = c;
    }
  }
  if (!place) return std::nullopt;
  const Cell& cell = cells_[*place];
  const double value = in_cell(cell, near(static_cast<Index>(cell.feature)));
  if (is_free_number(cell) || (most_changes_ && !cell.counted && value == cell.others.query)) {
    // It moved in the relaxation and rests in the row, for others move: one of both.
    Cell still = cell;
    still.others.lower = infinity;
    still.others.upper = -infinity;
    if (still.is_category()) still.levels = {cell.others.query};
    Cell moving = cell;
    moving.counted = true;
    return std::pair(with(*place, std::move(moving)), with(*place, std::move(still)));
  }
  return split_cell(*place, point);
}

std::pair<RowDomain, RowDomain> RowDomain::split_cell(std::size_t place, VectorArg point) const {
  const Cell& cell = cells_[place];
  Cell first = cell;
  Cell second = cell;
  if (cell.is_category()) {
    const auto largest =
        std::max_element(cell.levels.begin(), cell.levels.end(), [&](double a, double b) {
          return point(cell.column + static_cast<Index>(a)) <
                 point(cell.column + static_cast<Index>(b));
        });
    first.levels = {*largest};
    std::erase(second.levels, *largest);
    first.stays = first.stays && *largest == cell.others.query;
    second.stays = second.stays && *largest != cell.others.query;
    return {with(place, std::move(first)), with(place, std::move(second))};
  }
  if (cell.is_apart()) {
    first.stays = false;
    second.others.lower = infinity;
    second.others.upper = -infinity;
    return {with(place, std::move(first)), with(place, std::move(second))};
  }
  const Encoder& encoder = branch_->encoder();
  const double value =
      point(cell.column) * encoder.scale()(cell.column) + encoder.mean()(cell.column);
  const double slack = grid_tolerance * cell.others.step.value_or(1);
  // Neighbours on both sides: what is on a grid value but for rounding splits there.
  const double below = cell.others.beyond(value + slack, -1).value_or(-infinity);
  const double above = cell.others.beyond(below, 1).value_or(infinity);
  first.others.lower = std::max(first.others.lower, above);
  second.others.upper = std::min(second.others.upper, below);
  // The own value is one of the grid: it goes with its side.
  first.stays = first.stays && cell.others.query >= above;
  second.stays = second.stays && cell.others.query <= below;
  return {with(place, std::move(first)), with(place, std::move(second))};
}

}  // namespace ellice

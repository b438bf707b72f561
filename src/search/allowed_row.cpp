#include "search/allowed_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "search/tolerances.hpp"

namespace ellice {

namespace {

double to_range(const FeatureRange& range, double value, int side) {
  const double low = range.keeps ? std::min(range.lower, range.query) : range.lower;
  const double high = range.keeps ? std::max(range.upper, range.query) : range.upper;
  const double inside = std::clamp(value, low, high);
  if (inside == range.query && range.keeps) return inside;
  if (range.step) {
    // To the grid value itself, not to what rounding made of it.
    const double slack = grid_tolerance * *range.step;
    const std::optional<double> near = range.beyond(inside - slack, 1);
    if (near && *near <= inside + slack) return *near;
  }
  if (range.contains(inside)) return inside;
  const std::optional<double> next = range.beyond(inside, side);
  return next ? *next : range.beyond(inside, -side).value_or(range.query);
}

double to_level(const FeasibleSet& feasible, std::size_t feature, const Vector& z) {
  const Encoder& encoder = feasible.encoder();
  const Index first = encoder.first_column(feature);
  const bool is_single = encoder.column_count(feature) == 1;
  double best = feasible.ranges()[feature].query;
  double most = -std::numeric_limits<double>::infinity();
  for (const double level : allowed_levels(feasible, feature)) {
    const double entry =
        is_single ? -std::abs(z(first) - level) : z(first + static_cast<Index>(level));
    if (entry > most) {
      most = entry;
      best = level;
    }
  }
  return best;
}

}  // namespace

Vector allowed_row(const FeasibleSet& feasible, const Vector& slope, const Vector& z) {
  const Encoder& encoder = feasible.encoder();
  Vector raw = feasible.decode(z);
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    const FeatureRange& range = feasible.ranges()[j];
    const Index first = encoder.first_column(j);
    double& value = raw(static_cast<Index>(j));
    if (range.held) {
      const Index count = encoder.column_count(j);
      if (z.segment(first, count) == feasible.query().segment(first, count) &&
          range.contains(range.query)) {
        value = range.query;
        continue;
      }
      if (is_category(encoder.schema().features[j])) {
        value = to_level(feasible, j, z);
        continue;
      }
      value = z(first) * encoder.scale()(first) + encoder.mean()(first);
    }
    value = to_range(range, value, slope(first) >= 0 ? 1 : -1);
  }
  return raw;
}

std::vector<double> allowed_levels(const FeasibleSet& feasible, std::size_t feature) {
  std::vector<double> levels;
  const std::size_t count = feasible.encoder().schema().features[feature].levels.size();
  for (std::size_t level = 0; level < count; ++level) {
    const auto value = static_cast<double>(level);
    if (feasible.ranges()[feature].contains(value)) levels.push_back(value);
  }
  return levels;
}

void set_level(const Encoder& encoder, std::size_t feature, double level, Vector& z) {
  const Index first = encoder.first_column(feature);
  if (encoder.column_count(feature) == 1) {
    z(first) = level;
    return;
  }
  z.segment(first, encoder.column_count(feature)).setZero();
  z(first + static_cast<Index>(level)) = 1;
}

}  // namespace ellice

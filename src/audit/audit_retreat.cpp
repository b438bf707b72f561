#include "audit/audit_retreat.hpp"

#include "audit/audit_cost.hpp"

namespace ellice::audit {

namespace {

/// What else a feature could be, near by.
std::vector<double> neighbours(const FeatureValues& values, double value) {
  std::vector<double> result;
  if (value != values.own && values.keeps_own) result.push_back(values.own);
  for (const int side : {1, -1}) {
    if (const std::optional<double> next = values.next(value, side)) result.push_back(*next);
  }
  return result;
}

}  // namespace

std::optional<std::size_t> beaten_by_retreat(const RowConstraints& constraints,
                                             const Encoder& encoder, const Cost& cost,
                                             const RawRow& counterfactual, double claimed,
                                             const IsRobust& is_robust) {
  const Vector raw = encoder.raw(counterfactual);
  const auto beats = [&](const Vector& nearer) {
    const RawRow row = encoder.values({nearer.data(), static_cast<std::size_t>(nearer.size())});
    const Vector z = encoder.encode(row);
    return cost_of_move(cost, encoder,
                        distance_by_column(encoder, constraints.query_raw(), nearer)) < claimed &&
           constraints.broken_by(nearer).empty() && is_robust(row, z);
  };
  const std::vector<FeatureValues>& values = constraints.values();
  const auto has_changed = [&](std::size_t j) {
    return raw(static_cast<Index>(j)) != values[j].own;
  };
  for (std::size_t j = 0; j < values.size(); ++j) {
    const auto i = static_cast<Index>(j);
    if (!has_changed(j)) continue;
    for (const double value : neighbours(values[j], raw(i))) {
      Vector nearer = raw;
      nearer(i) = value;
      if (beats(nearer)) return j;
      // One that has changed already makes up for it: the number of changes does not grow.
      for (std::size_t other = 0; other < values.size(); ++other) {
        if (other == j || !has_changed(other)) continue;
        const auto k = static_cast<Index>(other);
        for (const double step : neighbours(values[other], raw(k))) {
          nearer(k) = step;
          if (beats(nearer)) return j;
        }
        nearer(k) = raw(k);
      }
    }
  }
  return std::nullopt;
}

}  // namespace ellice::audit

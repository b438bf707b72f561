#include "audit/audit_cost.hpp"

#include <cmath>

namespace ellice::audit {

namespace {

bool counts_as_one(const Feature& feature) {
  return feature.kind == FeatureKind::categorical || feature.kind == FeatureKind::binary;
}

}  // namespace

Vector weights_by_column(const Encoder& encoder) {
  Vector result(encoder.columns());
  const std::vector<Feature>& features = encoder.schema().features;
  for (std::size_t j = 0; j < features.size(); ++j)
    result.segment(encoder.first_column(j), encoder.column_count(j))
        .setConstant(features[j].weight);
  return result;
}

double cost_of_move(const Cost& cost, const Encoder& encoder, VectorArg from, VectorArg to) {
  const std::vector<Feature>& features = encoder.schema().features;
  long double total = 0;
  long double changed = 0;
  for (std::size_t j = 0; j < features.size(); ++j) {
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    long double squares = 0;
    long double absolutes = 0;
    for (Index i = first; i < first + count; ++i) {
      const long double move = static_cast<long double>(to(i)) - from(i);
      squares += move * move;
      absolutes += std::abs(move);
    }
    if (!(absolutes > 0)) continue;
    changed += 1;
    const bool is_one = cost.kind == CostKind::mixed && counts_as_one(features[j]);
    long double term = cost.kind == CostKind::l1 ? absolutes : squares;
    if (cost.kind == CostKind::l1_l2) term += absolutes;
    total += features[j].weight * (is_one ? 1.0L : term);
  }
  if (cost.kind == CostKind::mixed) total = std::sqrt(total);
  return static_cast<double>(total + cost.sparsity_weight * changed);
}

}  // namespace ellice::audit

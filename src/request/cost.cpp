#include "ellice/request/cost.hpp"

#include <cmath>

namespace ellice {

Vector column_weights(const Encoder& encoder) {
  Vector weights(encoder.columns());
  for (Index i = 0; i < weights.size(); ++i) {
    weights(i) = encoder.schema().features[encoder.feature_of(i)].weight;
  }
  return weights;
}

int changed_features(const Encoder& encoder, VectorArg from, VectorArg to) {
  int changed = 0;
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    changed += from.segment(first, count) != to.segment(first, count) ? 1 : 0;
  }
  return changed;
}

double cost_of(const Cost& cost, const Encoder& encoder, VectorArg from, VectorArg to) {
  double sum = 0;
  int changed = 0;
  const Schema& schema = encoder.schema();
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    double squares = 0;
    double absolutes = 0;
    const Index first = encoder.first_column(j);
    for (Index i = first; i < first + encoder.column_count(j); ++i) {
      squares += (to(i) - from(i)) * (to(i) - from(i));
      absolutes += std::abs(to(i) - from(i));
    }
    if (absolutes == 0) continue;
    ++changed;
    const double weight = schema.features[j].weight;
    const bool category = schema.features[j].kind == FeatureKind::categorical ||
                          schema.features[j].kind == FeatureKind::binary;
    switch (cost.kind) {
      case CostKind::l2:
        sum += weight * squares;
        break;
      case CostKind::l1:
        sum += weight * absolutes;
        break;
      case CostKind::l1_l2:
        sum += weight * (squares + absolutes);
        break;
      case CostKind::mixed:
        sum += weight * (category ? 1.0 : squares);
        break;
    }
  }
  if (cost.kind == CostKind::mixed) sum = std::sqrt(sum);
  return sum + cost.sparsity_weight * changed;
}

}  // namespace ellice

#include "audit/audit_cost.hpp"

#include <cmath>

namespace ellice::audit {

namespace {

bool counts_as_one(const Feature& feature) {
  return feature.kind == FeatureKind::categorical || feature.kind == FeatureKind::binary;
}

}  // namespace

CostTerms terms_of(CostKind kind) {
  switch (kind) {
    case CostKind::l2:
      return {.squares = true};
    case CostKind::l1:
      return {.absolutes = true};
    case CostKind::l1_l2:
      return {.squares = true, .absolutes = true};
    case CostKind::mixed:
      break;
  }
  return {.squares = true, .counts_categories = true, .is_root = true};
}

Vector weights_by_column(const Encoder& encoder) {
  Vector result(encoder.columns());
  const std::vector<Feature>& features = encoder.schema().features;
  for (std::size_t j = 0; j < features.size(); ++j)
    result.segment(encoder.first_column(j), encoder.column_count(j))
        .setConstant(features[j].weight);
  return result;
}

Vector distance_by_column(const Encoder& encoder, VectorArg from_raw, VectorArg to_raw) {
  const auto in_model_space = [&](const Vector& raw) {
    return encoder.encode(encoder.values({raw.data(), static_cast<std::size_t>(raw.size())}));
  };
  Vector result = in_model_space(to_raw) - in_model_space(from_raw);
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    if (encoder.schema().features[j].kind != FeatureKind::binned) continue;
    const auto i = static_cast<Index>(j);
    for (Index k = 0; k < encoder.column_count(j); ++k) result(encoder.first_column(j) + k) = 0;
    result(encoder.first_column(j)) = (to_raw(i) - from_raw(i)) / encoder.statistics(j).scale;
  }
  return result;
}

double cost_of_move(const Cost& cost, const Encoder& encoder, VectorArg distance) {
  const std::vector<Feature>& features = encoder.schema().features;
  const CostTerms terms = terms_of(cost.kind);
  long double total = 0;
  long double changed = 0;
  for (std::size_t j = 0; j < features.size(); ++j) {
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    long double squares = 0;
    long double absolutes = 0;
    for (Index i = first; i < first + count; ++i) {
      const long double move = distance(i);
      squares += move * move;
      absolutes += std::abs(move);
    }
    if (!(absolutes > 0)) continue;
    changed += 1;
    const bool is_one = terms.counts_categories && counts_as_one(features[j]);
    long double term = terms.squares ? squares : 0;
    if (terms.absolutes) term += absolutes;
    total += features[j].weight * (is_one ? 1.0L : term);
  }
  if (terms.is_root) total = std::sqrt(total);
  return static_cast<double>(total + cost.sparsity_weight * changed);
}

}  // namespace ellice::audit

#include "ellice/request/cost.hpp"

#include <cmath>

#include "request/cost_prices.hpp"

namespace ellice {

CostPrices prices_of(CostKind kind) {
  switch (kind) {
    case CostKind::l2:
      return {.squares = true,
              .words = "the squared length of the change, each feature in its standard deviations"};
    case CostKind::l1:
      return {.absolutes = true,
              .words = "the sum of the changes, each feature in its standard deviations"};
    case CostKind::l1_l2:
      return {.squares = true,
              .absolutes = true,
              .words = "the sum of the changes and of their squares, in standard deviations"};
    case CostKind::mixed:
      break;
  }
  return {.squares = true,
          .counts_categories = true,
          .is_root = true,
          .words =
              "the length of the change in numbers, in standard deviations, and a fixed "
              "amount for each changed category"};
}

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

Vector priced_move(const Encoder& encoder, const PlacedRow& from, const PlacedRow& to) {
  Vector move = *to.z - *from.z;
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    if (!encoder.schema().features[j].is_binned()) continue;
    const auto i = static_cast<Index>(j);
    const Index first = encoder.first_column(j);
    move.segment(first, encoder.column_count(j)).setZero();
    move(first) = ((*to.raw)(i) - (*from.raw)(i)) / encoder.statistics(j).scale;
  }
  return move;
}

namespace {

double cost_of_move(const Cost& cost, const Encoder& encoder, const Vector& move) {
  double sum = 0;
  int changed = 0;
  const CostPrices prices = prices_of(cost.kind);
  const Schema& schema = encoder.schema();
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    double squares = 0;
    double absolutes = 0;
    const Index first = encoder.first_column(j);
    for (Index i = first; i < first + encoder.column_count(j); ++i) {
      squares += move(i) * move(i);
      absolutes += std::abs(move(i));
    }
    if (absolutes == 0) continue;
    ++changed;
    const double weight = schema.features[j].weight;
    const bool category = schema.features[j].kind == FeatureKind::categorical ||
                          schema.features[j].kind == FeatureKind::binary;
    const double moved = (prices.squares ? squares : 0) + (prices.absolutes ? absolutes : 0);
    sum += weight * (category && prices.counts_categories ? 1.0 : moved);
  }
  if (prices.is_root) sum = std::sqrt(sum);
  return sum + cost.sparsity_weight * changed;
}

}  // namespace

double cost_of(const Cost& cost, const Encoder& encoder, VectorArg from, VectorArg to) {
  return cost_of_move(cost, encoder, to - from);
}

double cost_of(const Cost& cost, const Encoder& encoder, const PlacedRow& from,
               const PlacedRow& to) {
  return cost_of_move(cost, encoder, priced_move(encoder, from, to));
}

}  // namespace ellice

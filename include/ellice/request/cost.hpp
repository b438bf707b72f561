#pragma once

#include <array>
#include <string_view>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/data/encoder.hpp"

namespace ellice {

/// What a move Δz in model space costs, w the weights of the schema; of a binned feature Δz is the
/// distance of its numbers in their standard deviations:
enum class CostKind {
  l2,     // Σ wᵢ·Δzᵢ²
  l1,     // Σ wᵢ·|Δzᵢ|
  l1_l2,  // Σ wᵢ·(Δzᵢ² + |Δzᵢ|)
  mixed,  // the paper's l_mix: √(Σ wᵢ·Δzᵢ² over numbers and ordinal levels + Σ wⱼ over changed
          // categories)
};
template <>
struct EnumNames<CostKind> {
  static constexpr std::array<std::string_view, 4> names = {"l2", "l1", "l1+l2", "mixed"};
};

struct Cost {
  CostKind kind = CostKind::l2;
  double sparsity_weight = 0;  // C per changed original feature
  bool operator==(const Cost&) const = default;
};

/// The cost of moving from one point to another. `from` and `to` in model space, where binned
/// features, whose numbers cannot be seen there, must not differ.
[[nodiscard]] double cost_of(const Cost& cost, const Encoder& encoder, VectorArg from,
                             VectorArg to);

/// A row in model space and in original units.
struct PlacedRow {
  const Vector* z = nullptr;
  const Vector* raw = nullptr;
};

/// Δz as it is priced, by column: binned features move in their first one.
[[nodiscard]] Vector priced_move(const Encoder& encoder, const PlacedRow& from,
                                 const PlacedRow& to);
[[nodiscard]] double cost_of(const Cost& cost, const Encoder& encoder, const PlacedRow& from,
                             const PlacedRow& to);

/// The weight of each encoded column: that of its feature.
[[nodiscard]] Vector column_weights(const Encoder& encoder);

/// How many original features differ.
[[nodiscard]] int changed_features(const Encoder& encoder, VectorArg from, VectorArg to);

}  // namespace ellice

#pragma once

#include "ellice/core/types.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::audit {

/// The weight of the feature that each column belongs to.
[[nodiscard]] Vector weights_by_column(const Encoder& encoder);

/// What a kind of cost adds up, as the audit reads its definition; the only place where it does.
struct CostTerms {
  bool squares = false;
  bool absolutes = false;
  bool counts_categories = false;  // a changed category is one, whatever its columns
  bool is_root = false;            // of the sum
};
[[nodiscard]] CostTerms terms_of(CostKind kind);

/// How far a row is from another, by column: differences in model space, and of a binned feature
/// the distance of its numbers in standard deviations, in its first column.
[[nodiscard]] Vector distance_by_column(const Encoder& encoder, VectorArg from_raw,
                                        VectorArg to_raw);

/// What such a distance costs (docs/reference/formats.md, `weight`), added up by the audit itself.
[[nodiscard]] double cost_of_move(const Cost& cost, const Encoder& encoder, VectorArg distance);

}  // namespace ellice::audit

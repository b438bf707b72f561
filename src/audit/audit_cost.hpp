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

/// What a move costs (docs/reference/formats.md, `weight`), added up by the audit itself: `from`
/// and `to` are points of model space.
[[nodiscard]] double cost_of_move(const Cost& cost, const Encoder& encoder, VectorArg from,
                                  VectorArg to);

}  // namespace ellice::audit

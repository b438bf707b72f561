#pragma once

#include <string_view>

#include "ellice/request/cost.hpp"

namespace ellice {

/// Of what a cost is made: the sum over features of w·(ΣΔz² + Σ|Δz|) without the terms that it does
/// not have, then the root of all that or not. Who measures, searches, checks or describes a cost
/// asks here what it is.
struct CostPrices {
  bool squares = false;
  bool absolutes = false;
  bool counts_categories = false;  // a changed category is w, whatever its columns
  bool is_root = false;            // searches minimise what is under it
  std::string_view words = {};     // for people, after its name
};

[[nodiscard]] CostPrices prices_of(CostKind kind);

}  // namespace ellice

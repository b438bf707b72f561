#pragma once

// Infeasibility that no weights of models show, but a search of all that is discrete.

#include <limits>

#include "ellice/request/answer.hpp"

namespace ellice {

/// The `upper_bound` of such an answer: there is no linear function that it would be the maximum
/// of.
inline constexpr double by_enumeration = -std::numeric_limits<double>::infinity();

[[nodiscard]] inline bool is_by_enumeration(const Infeasibility& why) {
  return why.cases.empty() && why.upper_bound == by_enumeration;
}

}  // namespace ellice

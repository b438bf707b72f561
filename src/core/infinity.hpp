#pragma once

#include <limits>

namespace ellice {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace ellice

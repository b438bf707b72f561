#include <cmath>

#include "solver/nearest.hpp"

namespace ellice {

double Metric::distance(VectorArg from, VectorArg to) const {
  double result = 0;
  if (square.size() > 0) {
    result = (square.array() * (to - from).array().square()).sum();
    if (root) result = std::sqrt(result);
  }
  if (absolute.size() > 0) result += (absolute.array() * (to - from).array().abs()).sum();
  if (group_cost > 0) {
    int changed = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Index end = g + 1 < groups.size() ? groups[g + 1] : to.size();
      Index column = groups[g];
      while (column < end && from[column] == to[column]) ++column;
      changed += column < end ? 1 : 0;
    }
    result += group_cost * changed;
  }
  return result;
}

Metric weighted_squares(VectorArg weights) {
  return {.square = weights};
}

Metric weighted_absolutes(VectorArg weights) {
  return {.absolute = weights};
}

}  // namespace ellice

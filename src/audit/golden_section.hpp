#pragma once

#include <algorithm>

namespace ellice::audit {

/// The largest value that was met, and where the search ended.
struct Largest {
  long double at = 0;
  long double value = 0;
};

/// Of a function that rises and then falls between low and high, by the golden section.
template <class Value>
[[nodiscard]] Largest largest_between(const Value& value, long double low, long double high,
                                      int steps) {
  constexpr long double golden = 0.6180339887498948482L;
  long double left = high - golden * (high - low);
  long double right = low + golden * (high - low);
  long double at_left = value(left);
  long double at_right = value(right);
  long double best = std::max(at_left, at_right);
  for (int step = 0; step < steps; ++step) {
    if (at_left < at_right) {
      low = left;
      left = right;
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = value(right);
    } else {
      high = right;
      right = left;
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = value(left);
    }
    best = std::max({best, at_left, at_right});
  }
  return {.at = (low + high) / 2, .value = best};
}

}  // namespace ellice::audit

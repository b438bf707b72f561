#pragma once

#include <algorithm>
#include <cmath>

#include "ellice/core/types.hpp"

namespace ellice {

/// Steps of Kingma and Ba (2015), Algorithm 1 with its default decay rates, projected onto a box.
/// Coordinates that the box holds stay where they are.
class Adam {
 public:
  explicit Adam(Index size) : mean_(Vector::Zero(size)), square_(Vector::Zero(size)) {}

  void step(const Vector& gradient, double rate, const Vector& lower, const Vector& upper,
            Vector& x) {
    constexpr double decay_mean = 0.9;
    constexpr double decay_square = 0.999;
    ++steps_;
    const double mean_share = 1 - std::pow(decay_mean, steps_);
    const double square_share = 1 - std::pow(decay_square, steps_);
    for (Index i = 0; i < x.size(); ++i) {
      if (!(lower[i] < upper[i])) continue;
      mean_[i] += (1 - decay_mean) * (gradient[i] - mean_[i]);
      square_[i] += (1 - decay_square) * (gradient[i] * gradient[i] - square_[i]);
      const double change =
          rate * (mean_[i] / mean_share) / (std::sqrt(square_[i] / square_share) + 1e-8);
      x[i] = std::clamp(x[i] - change, lower[i], upper[i]);
    }
  }

 private:
  Vector mean_, square_;
  int steps_ = 0;
};

}  // namespace ellice

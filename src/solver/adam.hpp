#pragma once

#include <algorithm>
#include <cmath>

#include "ellice/core/types.hpp"

namespace ellice {

/// Steps of Kingma and Ba (2015), Algorithm 1 with its default decay rates.
class Adam {
 public:
  explicit Adam(Index size) : mean_(Vector::Zero(size)), square_(Vector::Zero(size)) {}

  /// A coordinate whose gradient was always 0 stays where it is.
  void step(const Vector& gradient, double rate, Vector& x) {
    const Scale scale = advance(rate);
    for (Index i = 0; i < x.size(); ++i) x.coeffRef(i) -= change(i, gradient.coeff(i), scale);
  }

  /// Projected onto a box. Coordinates that the box holds stay where they are.
  void step(const Vector& gradient, double rate, const Vector& lower, const Vector& upper,
            Vector& x) {
    const Scale scale = advance(rate);
    // Side by side, since roots and quotients are most of a step in many coordinates.
    mean_ = mean_decay * mean_ + (1 - mean_decay) * gradient;
    square_ = square_decay * square_.array() + (1 - square_decay) * gradient.array().square();
    const auto there =
        x.array() - scale.length * mean_.array() / (square_.array().sqrt() * scale.root + floor);
    x = (lower.array() < upper.array())
            .select(there.max(lower.array()).min(upper.array()), x.array());
  }

 private:
  static constexpr double mean_decay = 0.9;
  static constexpr double square_decay = 0.999;
  static constexpr double floor = 1e-8;

  struct Scale {
    double length = 0;  // of the step, the bias of the mean undone
    double root = 0;    // what undoes the bias of √square
  };
  Scale advance(double rate) {
    mean_share_ *= mean_decay;
    square_share_ *= square_decay;
    return {.length = rate / (1 - mean_share_), .root = 1 / std::sqrt(1 - square_share_)};
  }
  double change(Index i, double gradient, const Scale& scale) {
    const double mean = mean_decay * mean_.coeff(i) + (1 - mean_decay) * gradient;
    const double square =
        square_decay * square_.coeff(i) + (1 - square_decay) * gradient * gradient;
    mean_.coeffRef(i) = mean;
    square_.coeffRef(i) = square;
    return scale.length * mean / (std::sqrt(square) * scale.root + floor);
  }

  Vector mean_, square_;
  double mean_share_ = 1;  // of the zeros that the means began with
  double square_share_ = 1;
};

}  // namespace ellice

#pragma once

// Shared instances: every method meets the same problems.

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice::problem_zoo {

/// Symmetric positive definite with eigenvalues spread evenly, by their logarithms, over 1 …
/// 1/condition.
Matrix random_hessian(Index size, double condition, Random random);

struct EllipsoidSpec {
  Index dimension = 8;
  double condition = 100;
  double epsilon = 0.05;
  std::uint64_t seed = 1;
};

struct EllipsoidProblem {
  Ellipsoid set;
  Vector x_tilde;  // last entry 1
};

EllipsoidProblem random_ellipsoid(const EllipsoidSpec& spec);

struct Labelled {
  RowMatrix features = {};
  std::vector<int> labels = {};
};

/// Correlated Gaussian rows labelled by a noisy linear model: never separable for a few hundred
/// rows.
Labelled random_rows(Index rows, Index columns, std::uint64_t seed);

}  // namespace ellice::problem_zoo

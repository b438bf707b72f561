#pragma once

// Slow, plain ways to an answer that share nothing with the code under test.

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice::oracles {

/// Central differences with a step that balances truncation and rounding.
Vector numerical_gradient(const std::function<double(const Vector&)>& f, const Vector& x);

/// The derivative of a gradient, column by column.
Matrix numerical_jacobian(const std::function<Vector(const Vector&)>& f, const Vector& x);

/// Limited-memory BFGS with backtracking: a second way to a minimum, from values and gradients
/// alone.
Vector minimize_lbfgs(const std::function<double(const Vector&, Vector&)>& f, Vector x,
                      int max_iterations = 2000);

}  // namespace ellice::oracles

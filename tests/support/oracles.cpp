#include "support/oracles.hpp"

namespace ellice::oracles {

Vector numerical_gradient(const std::function<double(const Vector&)>& f, const Vector& x) {
  Vector gradient(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    const double h = 6e-6 * std::max(1.0, std::abs(x(i)));
    Vector plus = x;
    Vector minus = x;
    plus(i) += h;
    minus(i) -= h;
    gradient(i) = (f(plus) - f(minus)) / (plus(i) - minus(i));
  }
  return gradient;
}

Matrix numerical_jacobian(const std::function<Vector(const Vector&)>& f, const Vector& x) {
  Matrix jacobian(f(x).size(), x.size());
  for (Index i = 0; i < x.size(); ++i) {
    const double h = 6e-6 * std::max(1.0, std::abs(x(i)));
    Vector plus = x;
    Vector minus = x;
    plus(i) += h;
    minus(i) -= h;
    jacobian.col(i) = (f(plus) - f(minus)) / (plus(i) - minus(i));
  }
  return jacobian;
}

Vector minimize_lbfgs(const std::function<double(const Vector&, Vector&)>& f, Vector x,
                      int max_iterations) {
  constexpr std::size_t memory = 10;
  std::deque<std::pair<Vector, Vector>> pairs;  // steps and changes of the gradient, newest last
  Vector gradient(x.size());
  double value = f(x, gradient);
  for (int k = 0; k < max_iterations && gradient.norm() > 1e-9; ++k) {
    Vector direction = -gradient;
    std::vector<double> alpha(pairs.size());
    for (std::size_t i = pairs.size(); i-- > 0;) {
      const auto& [s, y] = pairs[i];
      alpha[i] = s.dot(direction) / s.dot(y);
      direction -= alpha[i] * y;
    }
    if (!pairs.empty())
      direction *= pairs.back().first.dot(pairs.back().second) / pairs.back().second.squaredNorm();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [s, y] = pairs[i];
      direction += (alpha[i] - y.dot(direction) / s.dot(y)) * s;
    }
    double t = 1;
    Vector next_gradient(x.size());
    Vector next = x + direction;
    double next_value = f(next, next_gradient);
    while (next_value > value + 1e-4 * t * gradient.dot(direction) && t > 1e-16) {
      t /= 2;
      next = x + t * direction;
      next_value = f(next, next_gradient);
    }
    if (t <= 1e-16) break;
    if (value - next_value <= 1e-15 * (1 + std::abs(value)))
      return next;  // rounding has been reached
    const Vector s = next - x;
    const Vector y = next_gradient - gradient;
    if (s.dot(y) > 0) pairs.emplace_back(s, y);
    if (pairs.size() > memory) pairs.pop_front();
    x = next;
    value = next_value;
    gradient = next_gradient;
  }
  return x;
}

}  // namespace ellice::oracles

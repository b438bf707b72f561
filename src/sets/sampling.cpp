#include "sets/sampling.hpp"

#include <cmath>

namespace ellice {

namespace {

RowMatrix sample(const Ellipsoid& set, Index count, const Random& random, bool inside) {
  const Index p = set.parameters();
  RowMatrix models(count, p);
  for (Index k = 0; k < count; ++k) {
    Random stream = random.split(static_cast<std::uint64_t>(k));
    Vector u = stream.normal_vector(p).normalized();
    // In a ball of dimension p the radius of a uniform point has distribution function r^p.
    if (inside) u *= std::pow(stream.uniform(), 1.0 / static_cast<double>(p));
    models.row(k) = set.center() + std::sqrt(2 * set.epsilon()) * set.factor().solve_transposed(u);
  }
  return models;
}

}  // namespace

RowMatrix sample_inside(const Ellipsoid& set, Index count, const Random& random) {
  return sample(set, count, random, true);
}

RowMatrix sample_boundary(const Ellipsoid& set, Index count, const Random& random) {
  return sample(set, count, random, false);
}

}  // namespace ellice

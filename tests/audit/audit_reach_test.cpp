// The largest ε of a region, against all points of a fine grid, against the closed form where
// nothing binds, and in files: honest ones pass, altered ones do not.

#include "audit/audit_reach.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "audit/audit_region.hpp"
#include "core/infinity.hpp"
#include "core/random.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

using audit::Cone;
using audit::LongMatrix;
using audit::Reach;
using audit::Region;

/// A set of models over x̃ of this size, with what an oracle needs of it.
struct PlainCone {
  Vector center = {};
  Matrix hessian = {};
  Matrix inverse = {};
};

PlainCone random_cone(Index size, std::uint64_t seed) {
  Random random(seed);
  PlainCone result{.center = random.normal_vector(size),
                   .hessian = problem_zoo::random_hessian(size, 30, random.split(1))};
  result.inverse = result.hessian.ldlt().solve(Matrix::Identity(size, size));
  return result;
}

std::vector<Cone> cones_of(const std::vector<PlainCone>& plain) {
  std::vector<Cone> result;
  for (const PlainCone& one : plain) {
    const Index size = one.center.size();
    result.emplace_back(std::make_shared<const EliminatedHessian>(one.hessian.cast<long double>()),
                        one.center.cast<long double>(), LongMatrix::Identity(size, size));
  }
  return result;
}

/// Proposition 4, from the definition.
double plain_radius(const std::vector<PlainCone>& cones, const Vector& x, double threshold) {
  double least = infinity;
  for (const PlainCone& cone : cones) {
    Vector tilde(x.size() + 1);
    tilde << x, 1;
    const double margin = cone.center.dot(tilde) - threshold;
    const double square = tilde.dot(cone.inverse * tilde);
    least = std::min(least, margin > 0 ? margin * margin / (2 * square) : 0);
  }
  return least;
}

bool keeps(const Region& region, const Vector& x, double slack) {
  return std::all_of(region.rules.begin(), region.rules.end(), [&](const audit::RuleRow& rule) {
    const double value = rule.normal.dot(x);
    return value >= rule.lower - slack && value <= rule.upper + slack;
  });
}

/// The largest radius of the points of a grid over the box that keep the rules.
double best_on_grid(const std::vector<PlainCone>& cones, const Region& region, double threshold,
                    int steps) {
  double best = 0;
  for (int a = 0; a <= steps; ++a) {
    for (int b = 0; b <= steps; ++b) {
      const Vector share{{static_cast<double>(a) / steps, static_cast<double>(b) / steps}};
      const Vector x = region.box.lower + share.cwiseProduct(region.box.upper - region.box.lower);
      if (keeps(region, x, 1e-12)) best = std::max(best, plain_radius(cones, x, threshold));
    }
  }
  return best;
}

void expect_sound(const Reach& reach, const std::vector<PlainCone>& cones, const Region& region,
                  double threshold) {
  EXPECT_LE(reach.attained, reach.admitted * (1 + 1e-9));
  if (reach.point.size() == 0) {
    EXPECT_EQ(reach.attained, 0);
    return;
  }
  EXPECT_TRUE((reach.point.array() >= region.box.lower.array()).all());
  EXPECT_TRUE((reach.point.array() <= region.box.upper.array()).all());
  EXPECT_TRUE(keeps(region, reach.point, 1e-9));
  EXPECT_NEAR(plain_radius(cones, reach.point, threshold), reach.attained, 1e-9 * reach.attained);
}

TEST(AuditReach, EqualsTheBestPointOfAFineGrid) {
  int reachable = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<PlainCone> cones;
    for (std::uint64_t k = 0; k <= seed % 3; ++k) cones.push_back(random_cone(3, 100 * seed + k));
    Region region{.box = {.lower = Vector{{-1, -2}}, .upper = Vector{{1.5, 1}}}};
    if (seed % 2 == 0)
      region.rules.push_back({.normal = random.normal_vector(2), .lower = -infinity, .upper = 0.3});
    if (seed % 4 == 0)
      region.rules.push_back({.normal = random.normal_vector(2), .lower = -1, .upper = infinity});
    const double threshold = 0.2 * random.normal();
    const double best = best_on_grid(cones, region, threshold, 120);
    for (const double near : {0.0, 0.5 * best, best, 2 * best + 0.1}) {
      const Reach reach = audit::find_reach(cones_of(cones), threshold, region, near);
      expect_sound(reach, cones, region, threshold);
      EXPECT_GE(reach.admitted, best * (1 - 1e-9));
      EXPECT_LE(reach.admitted, reach.attained * (1 + 1e-6) + 1e-9);
      EXPECT_GE(reach.attained, best * (1 - 1e-6));
    }
    reachable += best > 0 ? 1 : 0;
  }
  EXPECT_GT(reachable, 20);
}

TEST(AuditReach, KeepsEqualities) {
  int reachable = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<PlainCone> cones = {random_cone(3, seed), random_cone(3, seed + 50)};
    const Region region{.box = {.lower = Vector{{-1, -2}}, .upper = Vector{{1.5, 1}}},
                        .rules = {{.normal = Vector{{1, -0.5}}, .lower = 0.25, .upper = 0.25}}};
    double best = 0;  // along the line x₀ = 0.25 + x₁/2
    for (int k = 0; k <= 3000; ++k) {
      const double x1 = -2 + 3 * k / 3000.0;
      const Vector x{{0.25 + 0.5 * x1, x1}};
      if (x(0) >= -1 && x(0) <= 1.5) best = std::max(best, plain_radius(cones, x, 0));
    }
    const Reach reach = audit::find_reach(cones_of(cones), 0, region, best);
    expect_sound(reach, cones, region, 0);
    EXPECT_GE(reach.admitted, best * (1 - 1e-9));
    EXPECT_LE(reach.admitted, best * (1 + 1e-2));
    EXPECT_LE(reach.admitted, reach.attained * (1 + 1e-6));
    reachable += best > 0 ? 1 : 0;
  }
  EXPECT_GT(reachable, 10);
}

TEST(AuditReach, EqualsTheClosedFormWhereNothingBinds) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const PlainCone cone = random_cone(5, seed);
    const double fixed = Random(seed).split(9).normal();
    Region region{
        .box = {.lower = Vector::Constant(4, -infinity), .upper = Vector::Constant(4, infinity)}};
    region.box.lower(3) = region.box.upper(3) = fixed;
    // theory.md, Result 3: what moves first, then r = [fixed; 1].
    const Matrix rest = cone.hessian.bottomRightCorner(2, 2);
    const Matrix cross = cone.hessian.topRightCorner(3, 2);
    const Vector moving = cone.center.head(3);
    const Vector r{{fixed, 1}};
    const Matrix schur =
        cone.hessian.topLeftCorner(3, 3) - cross * rest.ldlt().solve(cross.transpose());
    const double c = (cone.center.tail(2) + rest.ldlt().solve(cross.transpose() * moving)).dot(r);
    const double kappa = r.dot(rest.ldlt().solve(r));
    const double limit = 0.5 * moving.dot(schur * moving);
    const double expected = limit + (c > 0 ? c * c / (2 * kappa) : 0);
    const Reach reach = audit::find_reach(cones_of({cone}), 0, region, 0.7 * expected);
    // Where c ≤ 0 the supremum lies at infinity, and points are sought up to 1e7.
    EXPECT_NEAR(reach.attained, expected, 1e-5 * expected);
    EXPECT_NEAR(reach.admitted, expected, 1e-6 * expected);
    EXPECT_GE(reach.admitted, expected * (1 - 1e-9));
  }
}

TEST(AuditReach, ProvesThatRulesLeaveNothing) {
  const std::vector<Cone> cones = cones_of({random_cone(3, 4)});
  const Region region{.box = {.lower = Vector{{0, 0}}, .upper = Vector{{1, 1}}},
                      .rules = {{.normal = Vector{{1, 1}}, .lower = 3, .upper = infinity}}};
  const Reach reach = audit::find_reach(cones, -100, region, 0.1);
  EXPECT_EQ(reach.attained, 0);
  EXPECT_EQ(reach.admitted, 0);
}

TEST(AuditReach, OfOnePointIsItsRadius) {
  const PlainCone cone = random_cone(3, 5);
  const Region region{.box = {.lower = Vector{{0.3, 0.4}}, .upper = Vector{{0.3, 0.4}}}};
  const double threshold = cone.center.dot(Vector{{0.3, 0.4, 1}}) - 0.5;
  const double expected = plain_radius({cone}, Vector{{0.3, 0.4}}, threshold);
  for (const double near : {0.0, expected, 10 * expected}) {
    const Reach reach = audit::find_reach(cones_of({cone}), threshold, region, near);
    EXPECT_NEAR(reach.attained, expected, 1e-9 * expected);
    EXPECT_NEAR(reach.admitted, expected, 1e-6 * expected);
  }
}

// Grids, levels and whole numbers counted in: against all 75 rows, one after the other.
TEST(AuditReach, RefusesEveryRowJustAboveTheBestOfThem) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {
      {.name = "children", .kind = FeatureKind::integer},
      {.name = "place", .kind = FeatureKind::categorical, .levels = {"p", "q", "r"}},
      {.name = "rate", .min = 0, .max = 2, .step = 0.5}};
  data.raw.resize(3, 3);
  data.raw << 0, 0, 0, 4, 1, 2, 1, 2, 0.5;
  data.labels = {0, 1, 1};
  data.classes = {"no", "yes"};
  const Encoder encoder = Encoder::fit(data);
  const Constraints nothing;
  int refused = 0;
  int beyond_relaxation = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<PlainCone> plain = {
        random_cone(encoder.columns() + 1, static_cast<std::uint64_t>(seed))};
    const std::vector<Cone> cones = cones_of(plain);
    const Vector query{{1.0 * (seed % 5), 1.0 * (seed % 3), 0.5 * (seed % 4)}};
    const audit::RowConstraints constraints(encoder, nothing, 0, encoder.values({query.data(), 3}));
    double best = 0;
    for (int a = 0; a <= 4; ++a) {
      for (int b = 0; b <= 2; ++b) {
        for (int c = 0; c <= 4; ++c) {
          const Vector raw{{1.0 * a, 1.0 * b, 0.5 * c}};
          const Vector z = encoder.encode(encoder.values({raw.data(), 3}));
          best = std::max(best, plain_radius(plain, z, 0.1));
        }
      }
    }
    if (best == 0) continue;
    const auto refuses = [&](double most) {
      return audit::refuses_every_row(constraints, encoder, most, [&](const Region& region) {
        return audit::find_reach(cones, 0.1, region, most);
      });
    };
    EXPECT_TRUE(refuses(best * (1 + 1e-5)));
    EXPECT_FALSE(refuses(best * (1 - 1e-5)));
    const audit::LargestEpsilon relaxed = audit::largest_epsilon(
        constraints,
        [&](const Region& region) { return audit::find_reach(cones, 0.1, region, best); });
    ++refused;
    beyond_relaxation += relaxed.admitted > best * 1.001 ? 1 : 0;
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(beyond_relaxation, 5);
}

}  // namespace
}  // namespace ellice

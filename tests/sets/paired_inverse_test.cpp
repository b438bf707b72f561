#include "sets/paired_inverse.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "model/softmax_objective.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {
namespace {

__extension__ using Whole = __int128;

/// Whole numbers from −most to most.
Vector whole_vector(Index size, int most, Random& random) {
  Vector result(size);
  for (double& value : result) value = std::floor(random.uniform() * (2 * most + 1)) - most;
  return result;
}

/// H = LLᵀ of a lower triangle of whole numbers with ones on its diagonal: H⁻¹ = L⁻ᵀL⁻¹ consists of
/// whole numbers as well, which substitution finds without rounding.
struct WholeCase {
  Matrix hessian;
  Vector a;
  Vector solved;      // H⁻¹a
  double square = 0;  // aᵀH⁻¹a
};

WholeCase whole_case(Index size, int most, std::uint64_t seed) {
  Random random(seed);
  Matrix lower = Matrix::Identity(size, size);
  for (Index i = 1; i < size; ++i) lower.row(i).head(i) = whole_vector(i, most, random).transpose();
  Vector y = whole_vector(size, 9, random);
  WholeCase result{.hessian = lower * lower.transpose(), .a = y, .solved = y};
  for (Index i = 0; i < size; ++i) y[i] -= lower.row(i).head(i).dot(y.head(i));
  result.square = y.squaredNorm();
  for (Index i = size; i-- > 0;) y[i] -= lower.col(i).tail(size - 1 - i).dot(y.tail(size - 1 - i));
  result.solved = y;
  return result;
}

TEST(PairedInverse, SolvesWholeNumbersWithoutError) {
  int exact = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const WholeCase given = whole_case(2 + static_cast<Index>(seed % 6), 1, seed);
    ASSERT_LT(given.square, 0x1p53);
    const PairedInverse inverse(given.hessian, {}, CholeskyFactor(given.hessian));
    if (!inverse.is_exact()) continue;
    ++exact;
    const PairedVector solved =
        inverse.solve(PairedVector(LongVector(given.a.cast<long double>())));
    for (Index i = 0; i < given.a.size(); ++i)
      EXPECT_EQ(static_cast<double>(solved[i]), given.solved[i]);
    EXPECT_EQ(static_cast<double>(paired_dot(given.a, solved)), given.square);
  }
  EXPECT_GT(exact, 50);
}

// With 2ε = aᵀH⁻¹a the penalty is aᵀH⁻¹a itself and the worst model c − H⁻¹a: all whole numbers.
TEST(WorstExtended, IsRightToTheLastDigitWhereTheTruthIsAWholeNumber) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const WholeCase given = whole_case(2 + static_cast<Index>(seed % 6), 1, 100 + seed);
    if (given.square == 0) continue;
    Random random(seed);
    const Vector center = whole_vector(given.a.size(), 1000, random);
    const Ellipsoid set(center, given.hessian, given.square / 2);
    const ExtendedWorst worst = set.worst_extended(given.a.cast<long double>());
    EXPECT_EQ(static_cast<double>(worst.robust), center.dot(given.a) - given.square);
    for (Index i = 0; i < center.size(); ++i)
      EXPECT_EQ(static_cast<double>(worst.model[i]), center[i] - given.solved[i]);
  }
}

// Conditions up to 1e12, where the inverse in pairs is no longer exact enough: the same numbers.
TEST(WorstExtended, IsAsExactForIllConditionedSets) {
  int refined = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const WholeCase given = whole_case(8 + static_cast<Index>(seed % 4), 3, 500 + seed);
    if (given.square == 0 || given.square > 0x1p52 || given.hessian.maxCoeff() > 1e5) continue;
    const PairedInverse inverse(given.hessian, {}, CholeskyFactor(given.hessian));
    refined += inverse.is_exact() ? 0 : 1;
    const Ellipsoid set(Vector::Zero(given.a.size()), given.hessian, given.square / 2);
    const ExtendedWorst worst = set.worst_extended(given.a.cast<long double>());
    EXPECT_NEAR(static_cast<double>(worst.robust), -given.square, 1e-15 * given.square);
  }
  EXPECT_GT(refined, 5);
}

// Two classes with H = ½[[δW, −δW], [−δW, δW]]: beside the gauge's ½ a double holds four of its
// digits, or two, and then a solve gains little by each step. With a = (b, −b) the truth is
// aᵀH⁺a = 2bᵀW⁻¹b/δ, and bᵀW⁻¹b is a whole number.
TEST(WorstExtended, KeepsWhatTheGaugeRoundsAway) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const double tiny = 1048573 * (seed < 20 ? 0x1p-60 : 0x1p-66);
    const WholeCase given = whole_case(2 + static_cast<Index>(seed % 4), 1, 900 + seed);
    if (given.square == 0) continue;
    const Index p = given.a.size();
    Matrix hessian(2 * p, 2 * p);
    hessian << given.hessian, -given.hessian, -given.hessian, given.hessian;
    hessian *= tiny / 2;
    Vector a(2 * p);
    a << given.a, -given.a;
    const double square = 2 * given.square / tiny;
    const Ellipsoid set(Vector::Zero(2 * p), with_gauge(hessian, 2), square / 2,
                        gauge_rest(hessian, 2));
    EXPECT_NEAR(static_cast<double>(set.worst_extended(a.cast<long double>()).robust), -square,
                1e-15 * square);
  }
}

TEST(PairedInverse, DoesNotTrustAnIllConditionedMatrix) {
  Matrix hessian = Matrix::Identity(3, 3);
  hessian(0, 1) = hessian(1, 0) = 1 - 1e-9;
  EXPECT_FALSE(PairedInverse(hessian, {}, CholeskyFactor(hessian)).is_exact());
  EXPECT_TRUE(
      PairedInverse(Matrix::Identity(3, 3), {}, CholeskyFactor(Matrix::Identity(3, 3))).is_exact());
}

// Sums of which almost everything cancels, against whole numbers of 128 bits.
TEST(PairedDot, KeepsTwiceTheDigitsOfADouble) {
  Random random(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Index size = 20;
    PairedVector a(size);
    PairedVector b(size);
    Whole sum = 0;
    for (Index i = 0; i < size; ++i) {
      const auto draw = [&] {
        return static_cast<std::int64_t>((random.uniform() - 0.5) * 0x1p52);
      };
      const std::int64_t p = draw();
      const std::int64_t q = i == size - 1 ? 1 : draw();
      a.high[i] = static_cast<double>(p);
      b.high[i] = static_cast<double>(q);
      sum += static_cast<Whole>(p) * q;
    }
    const auto high = static_cast<double>(sum);
    const auto low = static_cast<double>(sum - static_cast<Whole>(high));
    const DoubleDouble found = paired_dot(a, b);
    EXPECT_NEAR(found.high() - high + (found.low() - low), 0, 0x1p-96 * 0x1p107);
    EXPECT_NEAR(static_cast<double>(paired_dot(a.high, b)), high, 0x1p-52 * std::abs(high));
  }
}

}  // namespace
}  // namespace ellice

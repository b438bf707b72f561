#include "solver/cholesky.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <limits>

#include "ellice/core/error.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

TEST(CholeskyFactor, SolvesAndMeasuresLikeAPivotedFactorisation) {
  for (const Index size : {1, 2, 9, 60}) {
    const Matrix h = problem_zoo::random_hessian(size, 1e4, Random(11));
    const CholeskyFactor factor(h);
    Random random(12);
    const Vector b = random.normal_vector(size);
    const Vector expected = h.fullPivLu().solve(b);
    EXPECT_LE((factor.solve(b) - expected).norm(), 1e-11 * expected.norm());
    EXPECT_NEAR(factor.inverse_norm(b), std::sqrt(b.dot(expected)),
                1e-11 * std::sqrt(b.dot(expected)));
    EXPECT_NEAR(factor.solve_transposed(b).dot(h * factor.solve_transposed(b)), b.squaredNorm(),
                1e-10 * b.squaredNorm());  // ‖Lᵀ(L⁻ᵀb)‖ = ‖b‖
    Matrix columns(size, 2);
    columns << b, 2 * b;
    factor.whiten(columns);
    EXPECT_NEAR(columns.col(1).norm(), 2 * factor.inverse_norm(b), 1e-12 * columns.norm());
  }
}

TEST(CholeskyFactor, RefusesWhatIsNotSymmetricPositiveDefinite) {
  Matrix h = problem_zoo::random_hessian(5, 10, Random(1));
  Matrix asymmetric = h;
  asymmetric(0, 3) += 1e-6;
  EXPECT_THROW(CholeskyFactor{asymmetric}, Error);
  Matrix indefinite = h;
  indefinite(2, 2) = -1;
  EXPECT_THROW(CholeskyFactor{indefinite}, Error);
  Matrix infinite = h;
  infinite(1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(CholeskyFactor{infinite}, Error);
  EXPECT_THROW(CholeskyFactor{Matrix::Zero(3, 3)}, Error);
  EXPECT_THROW(CholeskyFactor{Matrix::Ones(3, 3)}, Error)
      << "singular, although every pivot rounds to >= 0";
  EXPECT_THROW(CholeskyFactor{Matrix::Identity(2, 3)}, Error);
}

TEST(NeededShift, IsZeroUnlessTheMatrixIsNumericallySingular) {
  EXPECT_EQ(needed_shift(problem_zoo::random_hessian(6, 1e10, Random(3))), 0);
  const Matrix singular = Matrix::Ones(4, 4);
  const double shift = needed_shift(singular);
  EXPECT_NEAR(shift, 4e-8, 1e-12);  // λ_max = 4
  EXPECT_NO_THROW(CholeskyFactor{singular + shift * Matrix::Identity(4, 4)});
  EXPECT_GT(needed_shift(Matrix::Zero(2, 2)), 0);
}

TEST(Spectrum, FindsTheConditionNumberThatWasBuiltIn) {
  const Spectrum s = spectrum(problem_zoo::random_hessian(7, 1e5, Random(4)));
  EXPECT_NEAR(s.largest, 1, 1e-12);
  EXPECT_NEAR(s.condition(), 1e5, 1e-4);
}

}  // namespace
}  // namespace ellice

#include "model/sampling_moments.hpp"

#include <algorithm>
#include <cmath>

#include "core/blas.hpp"
#include "ellice/core/error.hpp"
#include "model/loss_batch.hpp"
#include "model/row_chunks.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

// A row that decides its own fit alone would have 1, and no residual without it.
constexpr double largest_leverage = 0.999;

/// Squared residuals of a block of rows, by each estimate.
struct Residuals {
  Vector drawn_again = {};
  std::array<Vector, Sampling::estimates> fresh = {};
};

/// `leverage` is x̃ᵀH⁻¹x̃/n of each row: φ″ times it is the share that the row has in its own score.
Residuals residuals_of(LossKind kind, const Vector& scores, const Vector& signs,
                       const Vector& leverage) {
  LossBatch here;
  here.evaluate(kind, scores, signs);
  const Vector slope = here.slope();
  const Vector share = here.curvature().cwiseProduct(leverage).cwiseMin(largest_leverage);
  const Vector rest = (1 - share.array()).matrix();
  LossBatch without;  // the row's score by a model that has not seen it, to first order
  without.evaluate(kind, scores + leverage.cwiseProduct(slope).cwiseQuotient(rest), signs);
  const Vector left_out = without.slope();
  Residuals result;
  result.drawn_again = slope.cwiseAbs2();
  result.fresh[Sampling::bold] = slope.cwiseAbs2().cwiseQuotient(rest);
  result.fresh[Sampling::middle] =
      slope.cwiseProduct(left_out).cwiseAbs().cwiseQuotient(rest.cwiseSqrt());
  result.fresh[Sampling::cautious] = left_out.cwiseAbs2();
  return result;
}

/// lower(gram) += Σ weightᵢ·x̃ᵢx̃ᵢᵀ.
void add_weighted(const RowMatrix& rows, const Vector& weights, Matrix& gram) {
  const RowMatrix scaled = weights.cwiseSqrt().asDiagonal() * rows;
  blas::add_gram(scaled, gram);
}

Matrix mirrored(const Matrix& lower) {
  return lower.selfadjointView<Eigen::Lower>();
}

/// H⁻¹B.
Matrix solved(const CholeskyFactor& factor, Matrix columns) {
  for (Index j = 0; j < columns.cols(); ++j) columns.col(j) = factor.solve(columns.col(j));
  return columns;
}

/// β = (tr(ΣV) − 2aᵀVa/q)/q with a = Σθ and q = θᵀΣθ (theory.md, Result 35).
double regression_of(const Matrix& moments, const CholeskyFactor& factor, const Matrix& spread,
                     const Vector& theta, double rows) {
  const Vector along = spread * theta;
  const double variance = theta.dot(along);
  if (!(variance > 0)) return 0;
  const Matrix half = solved(factor, moments);                        // H⁻¹B
  const Matrix covariance = solved(factor, half.transpose()) / rows;  // H⁻¹BH⁻¹/n
  const double total = spread.cwiseProduct(covariance).sum();
  return std::max((total - 2 * along.dot(covariance * along) / variance) / variance, 0.0);
}

}  // namespace

Sampling sampling_of(const Model& model, LabelledRows rows) {
  require(model.network.is_linear() && model.network.has_one_output(),
          "what rows say about retraining is known for linear models with one logit");
  require(mean_one_weights(rows).size() == 0,
          "what rows say about retraining is not known for rows with weights");
  const RowMatrix& features = *rows.features;
  const Index n = features.rows();
  const Index d = features.cols();
  const Vector theta = model.network.head();
  require(theta.size() == d + 1, "the rows have {} columns, expected {}", d, theta.size() - 1);
  const CholeskyFactor factor(model.curvature.hessian);
  const auto count = static_cast<double>(n);

  Sampling result;
  result.drawn_again.setZero(d + 1, d + 1);
  for (ErrorEstimate& estimate : result.fresh) estimate.moments.setZero(d + 1, d + 1);
  Matrix spread = Matrix::Zero(d + 1, d + 1);
  const Vector mean = features.colwise().mean();
  for (Index start = 0; start < n; start += block_rows) {
    const Index size = std::min(block_rows, n - start);
    RowMatrix block(size, d + 1);
    block.leftCols(d) = features.middleRows(start, size);
    block.col(d).setOnes();
    Matrix whitened = block.transpose();
    factor.whiten(whitened);
    const Vector leverage = whitened.colwise().squaredNorm().transpose() / count;
    Vector signs(size);
    for (Index i = 0; i < size; ++i)
      signs(i) = 2.0 * (*rows.labels)[static_cast<std::size_t>(start + i)] - 1.0;
    const Residuals residuals =
        residuals_of(model.training.loss_kind, block * theta, signs, leverage);
    add_weighted(block, residuals.drawn_again, result.drawn_again);
    for (std::size_t k = 0; k < Sampling::estimates; ++k)
      add_weighted(block, residuals.fresh[k], result.fresh[k].moments);
    block.leftCols(d).rowwise() -= mean.transpose();
    block.col(d).setZero();
    blas::add_gram(block, spread);
  }
  // At the minimum the mean slope is the penalty's, with the sign turned.
  const Vector slope = penalty_of(model.training).diagonal(d).cwiseProduct(theta);
  const Matrix square = slope * slope.transpose();
  result.drawn_again = mirrored(result.drawn_again) / count - square;
  for (std::size_t k = 0; k < Sampling::estimates; ++k) {
    Matrix& moments = result.fresh[k].moments;
    moments = mirrored(moments) / count;
    if (k != Sampling::cautious) moments -= square;
  }
  spread = mirrored(spread) / count;
  for (ErrorEstimate& estimate : result.fresh)
    estimate.regression = regression_of(estimate.moments, factor, spread, theta, count);
  result.mean_logit = mean.dot(theta.head(d)) + theta(d);
  return result;
}

}  // namespace ellice

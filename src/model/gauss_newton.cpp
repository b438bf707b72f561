#include "model/gauss_newton.hpp"

#include <algorithm>
#include <cmath>

#include "core/blas.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/loss_batch.hpp"
#include "model/network_pass.hpp"
#include "model/row_chunks.hpp"

namespace ellice {

namespace {

/// The rows √(φ″(f(xᵢ))/n)·J(xᵢ)ᵀ from `first` on: G = Σ rowᵀ·row.
void weighted_jacobians(NetworkPass& pass, RowMatrixArg rows, VectorArg weights, Index first,
                        Eigen::Ref<RowMatrix> jacobians) {
  Vector gradient(jacobians.cols());
  for (Index i = 0; i < jacobians.rows(); ++i) {
    check_stop();
    pass.forward(rows.row(first + i).transpose());
    pass.backward();
    pass.parameter_gradient(gradient);
    jacobians.row(i) = std::sqrt(weights(first + i)) * gradient.transpose();
  }
}

}  // namespace

GaussNewton gauss_newton(const Network& network, RowMatrixArg rows, LossKind kind, double damping,
                         double share, const Vector& row_weights) {
  require(damping > 0 && std::isfinite(damping), "damping = {} must be > 0", damping);
  require(share >= 0 && std::isfinite(share), "share = {} must be >= 0", share);
  require(rows.rows() > 0, "there are no rows");
  require(rows.cols() == network.inputs(), "the network has {} inputs, the rows have {} columns",
          network.inputs(), rows.cols());
  const Index n = rows.rows();
  require(row_weights.size() == 0 || row_weights.size() == n, "{} rows but {} weights", n,
          row_weights.size());
  const Index p = network.parameters();
  NetworkPass pass(network);
  LossBatch losses;
  losses.evaluate_curvature(kind, network.logits(rows));
  if (row_weights.size() > 0) losses.weigh_curvature(row_weights);
  const Vector weights = losses.curvature() / static_cast<double>(n);

  GaussNewton result{.damping = damping, .cut = share * damping};
  blas::Eigenpairs pairs;
  if (p <= n) {
    Matrix g = Matrix::Zero(p, p);
    RowMatrix block(std::min(block_rows, n), p);
    for (Index first = 0; first < n; first += block_rows) {
      const Index size = std::min(block_rows, n - first);
      weighted_jacobians(pass, rows, weights, first, block.topRows(size));
      blas::add_gram(block.topRows(size), g);
    }
    pairs = blas::eigenpairs_above(result.cut, g);
  } else {
    // SSᵀ has the eigenvalues of SᵀS other than 0; its vectors v become Sᵀv/√e.
    RowMatrix s(n, p);
    weighted_jacobians(pass, rows, weights, 0, s);
    const RowMatrix transposed = s.transpose();
    Matrix gram = Matrix::Zero(n, n);
    blas::add_gram(transposed, gram);
    // Rounding would make pairs out of zeros, and Sᵀv/√e of such a pair is noise.
    const double noise = 1e-12 * gram.diagonal().sum();
    pairs = blas::eigenpairs_above(std::max(result.cut, noise), gram);
    const Vector scale = pairs.values.cwiseSqrt().cwiseInverse();
    pairs.vectors = (transposed * pairs.vectors * scale.asDiagonal()).eval();
  }
  result.values = pairs.values.reverse();
  result.vectors = pairs.vectors.rowwise().reverse();
  // An eigenvector's sign is free: the entry largest in size is positive.
  for (Index k = 0; k < result.values.size(); ++k) {
    Index largest = 0;
    result.vectors.col(k).cwiseAbs().maxCoeff(&largest);
    if (result.vectors(largest, k) < 0) result.vectors.col(k) *= -1;
  }
  return result;
}

}  // namespace ellice

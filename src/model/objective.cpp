#include "model/objective.hpp"

#include <algorithm>
#include <cmath>

#include "core/blas.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/loss_batch.hpp"
#include "model/row_chunks.hpp"

namespace ellice {

Vector Penalty::diagonal(Index columns, Index outputs) const {
  require(l2 >= 0 && std::isfinite(l2), "l2 = {} must be >= 0", l2);
  require(factors.size() == 0 || factors.size() == columns,
          "the penalty has {} factors, expected one for each of the {} columns", factors.size(),
          columns);
  for (Index j = 0; j < factors.size(); ++j) {
    require(factors(j) >= 0 && std::isfinite(factors(j)),
            "factor {} of the penalty is {}, expected a finite number >= 0", j, factors(j));
  }
  Vector of_output = Vector::Constant(columns + 1, l2);
  if (factors.size() > 0) of_output.head(columns).array() *= factors.array();
  if (!penalize_bias) of_output(columns) = 0;
  return of_output.replicate(outputs, 1);
}

Vector mean_one_weights(const LabelledRows& rows) {
  if (rows.weights == nullptr || rows.weights->size() == 0) return {};
  const Vector& weights = *rows.weights;
  require(weights.size() == rows.features->rows(), "{} rows but {} weights", rows.features->rows(),
          weights.size());
  double sum = 0;
  for (Index i = 0; i < weights.size(); ++i) {
    require(weights(i) > 0 && std::isfinite(weights(i)),
            "weight {} is {}, expected a finite number > 0", i, weights(i));
    sum += weights(i);
  }
  require(std::isfinite(sum), "the weights of the rows add up to {}, expected a finite number",
          sum);
  return weights * (static_cast<double>(weights.size()) / sum);
}

/// A run of consecutive rows and what they contribute.
struct Objective::Chunk : RowChunk {
  double loss = 0;       // Σ φ
  Vector gradient = {};  // Σ φ′·x̃
  Matrix hessian = {};   // Σ φ″·x̃x̃ᵀ, lower triangle
};

Objective::Objective(const LabelledRows& rows, LossKind kind, const Penalty& penalty, int threads)
    : features_(rows.features),
      signs_(static_cast<Index>(rows.labels->size())),
      weights_(mean_one_weights(rows)),
      kind_(kind),
      penalty_(penalty.diagonal(rows.features->cols())),
      threads_(threads) {
  require(features_->rows() > 0, "there are no rows");
  require(features_->rows() == signs_.size(), "{} rows but {} labels", features_->rows(),
          signs_.size());
  for (Index i = 0; i < signs_.size(); ++i)
    signs_(i) = 2.0 * (*rows.labels)[static_cast<std::size_t>(i)] - 1.0;
}

void Objective::evaluate(Chunk& chunk, VectorArg theta, Wanted wanted) const {
  const Index d = features_->cols();
  const bool wants_hessian = wanted == Wanted::hessian || wanted == Wanted::derivatives;
  const bool wants_gradient = wanted == Wanted::gradient || wanted == Wanted::derivatives;
  if (wants_hessian) chunk.hessian.setZero(d + 1, d + 1);
  if (wants_gradient) chunk.gradient.setZero(d + 1);
  LossBatch losses;
  Vector scores(block_rows);
  RowMatrix weighted(wants_hessian ? block_rows : 0, d + 1);
  for (Index start = 0; start < chunk.count; start += block_rows) {
    check_stop();
    const Index n = std::min(block_rows, chunk.count - start);
    const auto rows = features_->middleRows(chunk.first + start, n);
    scores.head(n).noalias() = rows * theta.head(d);
    scores.head(n).array() += theta(d);
    const bool is_weighted = weights_.size() > 0;
    if (wanted == Wanted::hessian) {
      losses.evaluate_curvature(kind_, scores.head(n));
      if (is_weighted) losses.weigh_curvature(weights_.segment(chunk.first + start, n));
    } else {
      losses.evaluate(kind_, scores.head(n), signs_.segment(chunk.first + start, n));
      if (is_weighted) losses.weigh(weights_.segment(chunk.first + start, n));
      chunk.loss += losses.value().sum();
    }
    if (wants_gradient) {
      chunk.gradient.head(d).noalias() += rows.transpose() * losses.slope();
      chunk.gradient(d) += losses.slope().sum();
    }
    if (wants_hessian) {
      const Vector root = losses.curvature().cwiseSqrt();
      weighted.topLeftCorner(n, d) = root.asDiagonal() * rows;
      weighted.col(d).head(n) = root;
      blas::add_gram(weighted.topRows(n), chunk.hessian);
    }
  }
}

void Objective::bend_above(Chunk& chunk, VectorArg theta, const StepEllipsoid& steps) const {
  const Index d = features_->cols();
  chunk.hessian.setZero(d + 1, d + 1);
  RowMatrix weighted(block_rows, d + 1);
  for (Index start = 0; start < chunk.count; start += block_rows) {
    check_stop();
    const Index n = std::min(block_rows, chunk.count - start);
    const auto rows = features_->middleRows(chunk.first + start, n);
    const Vector scores = (rows * theta.head(d)).array() + theta(d);
    const Vector middles = (rows * steps.middle.head(d)).array() + steps.middle(d);
    Matrix reaches = steps.root.leftCols(d) * rows.transpose();
    reaches.colwise() += steps.root.col(d);
    Vector root(n);
    for (Index i = 0; i < n; ++i) {
      const double reach = steps.radius * reaches.col(i).norm();
      root(i) = ellice::bend_above(kind_, scores(i), middles(i) - reach, middles(i) + reach);
    }
    if (weights_.size() > 0) root.array() *= weights_.segment(chunk.first + start, n).array();
    root = root.cwiseSqrt();
    weighted.topLeftCorner(n, d) = root.asDiagonal() * rows;
    weighted.col(d).head(n) = root;
    blas::add_gram(weighted.topRows(n), chunk.hessian);
  }
}

std::vector<Objective::Chunk> Objective::evaluate_all(VectorArg theta, Wanted wanted) const {
  require(theta.size() == parameters(), "θ has {} entries, expected {}", theta.size(),
          parameters());
  std::vector<Chunk> chunks;
  for (const RowChunk& rows : row_chunks(features_->rows())) chunks.push_back({rows});
  parallel_for("objective", chunks.size(), {.threads = threads_},
               [&](std::size_t i) { evaluate(chunks[i], theta, wanted); });
  return chunks;
}

Matrix Objective::sum_hessians(const std::vector<Chunk>& chunks) const {
  Matrix lower = Matrix::Zero(parameters(), parameters());
  for (const Chunk& chunk : chunks) lower += chunk.hessian;
  lower /= static_cast<double>(features_->rows());
  lower.diagonal() += penalty_;
  return lower.selfadjointView<Eigen::Lower>();
}

double Objective::loss(VectorArg theta) const {
  double sum = 0;
  for (const Chunk& chunk : evaluate_all(theta, Wanted::loss)) sum += chunk.loss;
  return sum / static_cast<double>(features_->rows());
}

double Objective::value(VectorArg theta) const {
  return loss(theta) + penalty_.dot(theta.cwiseAbs2()) / 2;
}

double Objective::sum_gradients(const std::vector<Chunk>& chunks, VectorArg theta,
                                Vector& gradient) const {
  const auto n = static_cast<double>(features_->rows());
  double sum = 0;
  gradient.setZero(parameters());
  for (const Chunk& chunk : chunks) {
    sum += chunk.loss;
    gradient += chunk.gradient;
  }
  gradient = gradient / n + penalty_.cwiseProduct(theta);
  return sum / n + penalty_.dot(theta.cwiseAbs2()) / 2;
}

double Objective::gradient(VectorArg theta, Vector& gradient) const {
  return sum_gradients(evaluate_all(theta, Wanted::gradient), theta, gradient);
}

double Objective::derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const {
  const std::vector<Chunk> chunks = evaluate_all(theta, Wanted::derivatives);
  hessian = sum_hessians(chunks);
  return sum_gradients(chunks, theta, gradient);
}

Matrix Objective::hessian(VectorArg theta) const {
  return sum_hessians(evaluate_all(theta, Wanted::hessian));
}

Matrix Objective::majorant(VectorArg theta, const StepEllipsoid& steps) const {
  std::vector<Chunk> chunks;
  for (const RowChunk& rows : row_chunks(features_->rows())) chunks.push_back({rows});
  parallel_for("objective", chunks.size(), {.threads = threads_},
               [&](std::size_t i) { bend_above(chunks[i], theta, steps); });
  return sum_hessians(chunks);
}

}  // namespace ellice

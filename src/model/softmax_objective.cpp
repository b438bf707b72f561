#include "model/softmax_objective.hpp"

#include <algorithm>
#include <cmath>

#include "core/blas.hpp"
#include "core/double_double.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/loss_batch.hpp"
#include "model/row_chunks.hpp"

namespace ellice {

/// A run of consecutive rows and what they contribute.
struct SoftmaxObjective::Chunk : RowChunk {
  double loss = 0;       // Σ φ
  Matrix gradient = {};  // Σ x̃(p − e_y)ᵀ: one column per class
  std::vector<Matrix> hessian = {};  // Σ p_j(1−p_j)·x̃x̃ᵀ and Σ p_j·p_k·x̃x̃ᵀ, j > k; lower triangles
};

namespace {

/// Where the pair of classes j ≥ k stands.
std::size_t pair_place(Index j, Index k) {
  return static_cast<std::size_t>(j * (j + 1) / 2 + k);
}

}  // namespace

SoftmaxObjective::SoftmaxObjective(const LabelledRows& rows, Index classes, const Penalty& penalty,
                                   int threads)
    : features_(rows.features),
      labels_(rows.labels),
      weights_(mean_one_weights(rows)),
      classes_(classes),
      penalty_(penalty.diagonal(rows.features->cols(), classes)),
      threads_(threads) {
  require(features_->rows() > 0, "there are no rows");
  require(features_->rows() == static_cast<Index>(labels_->size()), "{} rows but {} labels",
          features_->rows(), labels_->size());
  require(classes >= 2, "found {} classes, expected at least two", classes);
  for (const int label : *labels_) {
    require(label >= 0 && label < classes, "label {} must be >= 0 and < {}", label, classes);
  }
}

void SoftmaxObjective::evaluate(Chunk& chunk, VectorArg theta, Wanted wanted) const {
  const Index d = features_->cols();
  const Eigen::Map<const Matrix> heads(theta.data(), d + 1, classes_);
  if (wanted != Wanted::loss) chunk.gradient.setZero(d + 1, classes_);
  if (wanted == Wanted::derivatives)
    chunk.hessian.assign(pair_place(classes_, 0), Matrix::Zero(d + 1, d + 1));
  SoftmaxBatch losses;
  RowMatrix scores;
  RowMatrix weighted(block_rows, d + 1);
  Vector root(block_rows);
  for (Index start = 0; start < chunk.count; start += block_rows) {
    check_stop();
    const Index n = std::min(block_rows, chunk.count - start);
    const auto rows = features_->middleRows(chunk.first + start, n);
    scores.resize(n, classes_);
    scores.noalias() = rows * heads.topRows(d);
    scores.rowwise() += heads.row(d);
    const double* weights = weights_.size() > 0 ? weights_.data() + chunk.first + start : nullptr;
    losses.evaluate(scores, labels_->data() + chunk.first + start, weights);
    chunk.loss += losses.sum();
    if (wanted == Wanted::loss) continue;
    chunk.gradient.topRows(d).noalias() += rows.transpose() * losses.slope();
    chunk.gradient.row(d) += losses.slope().colwise().sum();
    if (wanted != Wanted::derivatives) continue;
    const RowMatrix& p = losses.probabilities();
    for (Index j = 0; j < classes_; ++j) {
      for (Index k = 0; k <= j; ++k) {
        for (Index i = 0; i < n; ++i) {
          // 1 − p_j as the sum of the others: exact where p_j is close to 1.
          const double factor =
              k < j ? p(i, k) : p.row(i).head(j).sum() + p.row(i).tail(classes_ - j - 1).sum();
          const double curvature = p(i, j) * factor;
          root(i) = std::sqrt(weights == nullptr ? curvature : weights[i] * curvature);
        }
        weighted.topLeftCorner(n, d) = root.head(n).asDiagonal() * rows;
        weighted.col(d).head(n) = root.head(n);
        blas::add_gram(weighted.topRows(n), chunk.hessian[pair_place(j, k)]);
      }
    }
  }
}

std::vector<SoftmaxObjective::Chunk> SoftmaxObjective::evaluate_all(VectorArg theta,
                                                                    Wanted wanted) const {
  require(theta.size() == parameters(), "θ has {} entries, expected {}", theta.size(),
          parameters());
  std::vector<Chunk> chunks;
  for (const RowChunk& rows : row_chunks(features_->rows())) chunks.push_back({rows});
  parallel_for("objective", chunks.size(), {.threads = threads_},
               [&](std::size_t i) { evaluate(chunks[i], theta, wanted); });
  return chunks;
}

double SoftmaxObjective::loss(VectorArg theta) const {
  double sum = 0;
  for (const Chunk& chunk : evaluate_all(theta, Wanted::loss)) sum += chunk.loss;
  return sum / static_cast<double>(features_->rows());
}

double SoftmaxObjective::value(VectorArg theta) const {
  return loss(theta) + penalty_.dot(theta.cwiseAbs2()) / 2;
}

double SoftmaxObjective::sum_gradients(const std::vector<Chunk>& chunks, VectorArg theta,
                                       Vector& gradient) const {
  const auto n = static_cast<double>(features_->rows());
  double sum = 0;
  Matrix slopes = Matrix::Zero(features_->cols() + 1, classes_);
  for (const Chunk& chunk : chunks) {
    sum += chunk.loss;
    slopes += chunk.gradient;
  }
  gradient = Eigen::Map<const Vector>(slopes.data(), slopes.size()) / n;
  gradient += penalty_.cwiseProduct(theta);
  return sum / n + penalty_.dot(theta.cwiseAbs2()) / 2;
}

double SoftmaxObjective::gradient(VectorArg theta, Vector& gradient) const {
  return sum_gradients(evaluate_all(theta, Wanted::gradient), theta, gradient);
}

double SoftmaxObjective::derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const {
  const std::vector<Chunk> chunks = evaluate_all(theta, Wanted::derivatives);
  const auto n = static_cast<double>(features_->rows());
  const Index p = features_->cols() + 1;
  hessian.resize(parameters(), parameters());
  for (Index j = 0; j < classes_; ++j) {
    for (Index k = 0; k <= j; ++k) {
      Matrix lower = Matrix::Zero(p, p);
      for (const Chunk& chunk : chunks) lower += chunk.hessian[pair_place(j, k)];
      const Matrix block = lower.selfadjointView<Eigen::Lower>();
      hessian.block(j * p, k * p, p, p) = block * ((j == k ? 1 : -1) / n);
      hessian.block(k * p, j * p, p, p) = hessian.block(j * p, k * p, p, p);
    }
  }
  hessian.diagonal() += penalty_;
  return sum_gradients(chunks, theta, gradient);
}

Matrix SoftmaxObjective::hessian(VectorArg theta) const {
  Vector gradient;
  Matrix result;
  derivatives(theta, gradient, result);
  return result;
}

Matrix with_gauge(Matrix hessian, Index outputs) {
  if (outputs == 1) return hessian;
  const Index p = hessian.rows() / outputs;
  for (Index j = 0; j < outputs; ++j) {
    for (Index k = 0; k < outputs; ++k) {
      hessian.block(j * p, k * p, p, p).diagonal().array() += 1 / static_cast<double>(outputs);
    }
  }
  return hessian;
}

Matrix gauge_rest(MatrixArg hessian, Index outputs) {
  if (outputs == 1) return {};
  const Index size = hessian.rows();
  Matrix rest = Matrix::Zero(size, size);
  for (Index j = 0; j < size; ++j) {
    for (Index i = j % (size / outputs); i < size; i += size / outputs)
      rest(i, j) = DoubleDouble::exact_sum(hessian(i, j), 1 / static_cast<double>(outputs)).low();
  }
  return rest;
}

}  // namespace ellice

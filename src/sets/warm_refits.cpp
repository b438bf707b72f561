#include "sets/warm_refits.hpp"

#include "core/blas.hpp"
#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "model/loss_batch.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

constexpr std::uint64_t draw_seed = 330;
constexpr int newton_steps = 3;
constexpr int most_halvings = 12;

/// The objective of rows that are drawn several times or not at all.
class WeightedObjective {
 public:
  WeightedObjective(const Model& model, const StoredRows& rows, Random random)
      : kind_(model.training.loss_kind), count_(static_cast<double>(rows.encoded.rows())) {
    const Index n = rows.encoded.rows();
    const Index d = rows.encoded.cols();
    std::vector<double> times(static_cast<std::size_t>(n), 0.0);
    for (Index i = 0; i < n; ++i) ++times[random.below(static_cast<std::uint64_t>(n))];
    std::vector<Index> drawn;
    for (Index i = 0; i < n; ++i) {
      if (times[static_cast<std::size_t>(i)] > 0) drawn.push_back(i);
    }
    const auto size = static_cast<Index>(drawn.size());
    rows_.resize(size, d + 1);
    signs_.resize(size);
    times_.resize(size);
    for (Index k = 0; k < size; ++k) {
      const Index i = drawn[static_cast<std::size_t>(k)];
      rows_.row(k) << rows.encoded.row(i), 1.0;
      signs_(k) = 2.0 * rows.labels[static_cast<std::size_t>(i)] - 1.0;
      times_(k) = times[static_cast<std::size_t>(i)];
    }
    penalty_ = penalty_of(model.training).diagonal(d);
  }

  [[nodiscard]] double value(const Vector& theta) const {
    LossBatch losses;
    losses.evaluate(kind_, rows_ * theta, signs_);
    return losses.value().dot(times_) / count_ + theta.cwiseAbs2().dot(penalty_) / 2;
  }

  [[nodiscard]] Vector gradient(const Vector& theta, Matrix* hessian = nullptr) const {
    LossBatch losses;
    losses.evaluate(kind_, rows_ * theta, signs_);
    if (hessian != nullptr) {
      const Vector weights = losses.curvature().cwiseProduct(times_) / count_;
      const RowMatrix scaled = weights.cwiseSqrt().asDiagonal() * rows_;
      hessian->setZero(theta.size(), theta.size());
      blas::add_gram(scaled, *hessian);
      hessian->diagonal() += penalty_;
    }
    return rows_.transpose() * losses.slope().cwiseProduct(times_) / count_ +
           penalty_.cwiseProduct(theta);
  }

 private:
  LossKind kind_;
  double count_;
  RowMatrix rows_;  // with the constant 1
  Vector signs_, times_, penalty_;
};

Vector refitted(const WeightedObjective& objective, Vector theta, double shift) {
  Matrix hessian;
  double value = objective.value(theta);
  for (int step = 0; step < newton_steps; ++step) {
    const Vector gradient = objective.gradient(theta, &hessian);
    hessian.diagonal().array() += shift;
    const Vector move = hessian.selfadjointView<Eigen::Lower>().ldlt().solve(gradient);
    if (!move.allFinite()) break;
    double length = 1;
    double next = objective.value(theta - move);
    for (int k = 0; k < most_halvings && !(next <= value); ++k) {
      length /= 2;
      next = objective.value(theta - length * move);
    }
    if (!(next <= value)) break;
    theta -= length * move;
    value = next;
  }
  return theta;
}

}  // namespace

WarmRefits warm_refits(const Model& model, const StoredRows& rows, int count) {
  const Vector theta = model.network.head();
  require(rows.encoded.cols() + 1 == theta.size(), "the rows have {} columns, expected {}",
          rows.encoded.cols(), theta.size() - 1);
  const CholeskyFactor factor(model.curvature.hessian);
  WarmRefits result{.heads = Matrix(theta.size(), count), .twins = Matrix(theta.size(), count)};
  for (int b = 0; b < count; ++b) {
    const WeightedObjective objective(model, rows,
                                      Random(draw_seed).split(static_cast<std::uint64_t>(b)));
    result.twins.col(b) = theta - factor.solve(objective.gradient(theta));
    // A shift that makes H invertible also keeps draws without a row of some level solvable.
    result.heads.col(b) = refitted(objective, theta, model.curvature.shift);
  }
  return result;
}

}  // namespace ellice

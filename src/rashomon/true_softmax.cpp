#include "ellice/rashomon/true_softmax.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/true_set.hpp"

namespace ellice {

namespace {

constexpr int most_steps = 60;
constexpr double tolerance = 1e-10;
// As in the logistic true set: no step changes a score by more.
constexpr double longest_score_step = 3;
constexpr double rounding_of_objective = 1e-10;
constexpr double allowed_decrement = 0.01;

Vector flat(const Matrix& heads) {
  return Eigen::Map<const Vector>(heads.data(), heads.size());
}

Matrix folded(const Vector& parameters, Index classes) {
  return Eigen::Map<const Matrix>(parameters.data(), parameters.size() / classes, classes);
}

/// Probabilities of the classes from their scores, row by row; returns Σ log Σ exp.
double softmax_rows(RowMatrix& scores) {
  double sum = 0;
  for (Index i = 0; i < scores.rows(); ++i) {
    const double largest = scores.row(i).maxCoeff();
    scores.row(i) = (scores.row(i).array() - largest).exp();
    const double total = scores.row(i).sum();
    scores.row(i) /= total;
    sum += largest + std::log(total);
  }
  return sum;
}

/// c = (e_wanted − e_rival) ⊗ x̃: the margin is cᵀΘ.
Vector margin_direction(VectorArg x, Index wanted, Index rival, Index classes) {
  Matrix direction = Matrix::Zero(x.size(), classes);
  direction.col(wanted) = x;
  direction.col(rival) = -x;
  return flat(direction);
}

}  // namespace

TrueSoftmax::TrueSoftmax(RowMatrix features, std::vector<int> labels, Penalty penalty,
                         Matrix minimiser, double epsilon)
    : epsilon_(epsilon) {
  const Index d = features.cols();
  const Index k = minimiser.cols();
  require(minimiser.rows() == d + 1 && k >= 2,
          "the minimiser has {} parameters for each of {} classes, expected {} for at least 2",
          minimiser.rows(), k, d + 1);
  require(features.rows() > 0 && std::cmp_equal(labels.size(), features.rows()),
          "{} labels for {} rows", labels.size(), features.rows());
  require(std::all_of(labels.begin(), labels.end(),
                      [&](int label) { return label >= 0 && std::cmp_less(label, k); }),
          "a label is not a class between 0 and {}", k - 1);
  RowMatrix with_ones(features.rows(), d + 1);
  with_ones << features, Vector::Ones(features.rows());
  Rows rows{.features = std::move(with_ones),
            .labels = std::move(labels),
            .penalty = penalty,
            .minimiser = std::move(minimiser)};
  rows_ = std::make_shared<const Rows>(rows);
  Vector gradient;
  Matrix hessian;
  rows.optimum = derivatives(rows.minimiser, gradient, hessian);
  rows_ = std::make_shared<const Rows>(std::move(rows));
  const double smallest = rounding_of_objective * (1 + rows_->optimum);
  require(std::isfinite(epsilon) && epsilon >= smallest,
          "epsilon = {} must be finite and at least {:.2g} for the true set, which is as well as "
          "the objective itself is known",
          epsilon, smallest);
  const double decrement = gradient.dot(hessian.llt().solve(gradient)) / 2;
  require(decrement <= allowed_decrement * epsilon,
          "the model is {:.3g} above the minimum of its objective, which is not small against "
          "epsilon = {}: refit it first",
          decrement, epsilon);
}

double TrueSoftmax::rounding() const {
  return 1e-14 * (1 + rows_->optimum + epsilon_);
}

double TrueSoftmax::objective(MatrixArg heads) const {
  RowMatrix scores = rows_->features * heads;
  double sum = 0;
  for (Index i = 0; i < scores.rows(); ++i)
    sum -= scores(i, rows_->labels[static_cast<std::size_t>(i)]);
  sum += softmax_rows(scores);
  const Index penalized = heads.rows() - (rows_->penalty.penalize_bias ? 0 : 1);
  return sum / static_cast<double>(scores.rows()) +
         rows_->penalty.l2 / 2 * heads.topRows(penalized).squaredNorm();
}

double TrueSoftmax::derivatives(const Matrix& heads, Vector& gradient, Matrix& hessian) const {
  const RowMatrix& x = rows_->features;
  const Index p = heads.rows();
  const Index k = heads.cols();
  const auto n = static_cast<double>(x.rows());
  RowMatrix scores = x * heads;
  double sum = 0;
  for (Index i = 0; i < x.rows(); ++i) sum -= scores(i, rows_->labels[static_cast<std::size_t>(i)]);
  sum += softmax_rows(scores);
  const RowMatrix& shares = scores;

  Vector penalty = Vector::Constant(p, rows_->penalty.l2);
  if (!rows_->penalty.penalize_bias) penalty(p - 1) = 0;
  RowMatrix errors = shares;
  for (Index i = 0; i < x.rows(); ++i) errors(i, rows_->labels[static_cast<std::size_t>(i)]) -= 1;
  const Matrix slope = x.transpose() * errors / n + penalty.asDiagonal() * heads;
  gradient = flat(slope);

  hessian.resize(p * k, p * k);
  const double gauge = 1 / static_cast<double>(k);
  for (Index a = 0; a < k; ++a) {
    for (Index b = 0; b <= a; ++b) {
      Vector weights = -shares.col(a).cwiseProduct(shares.col(b)) / n;
      if (a == b) weights += shares.col(a) / n;
      Matrix block = x.transpose() * weights.asDiagonal() * x;
      block.diagonal().array() += gauge;
      if (a == b) block.diagonal() += penalty;
      hessian.block(a * p, b * p, p, p) = block;
      hessian.block(b * p, a * p, p, p) = block.transpose();
    }
  }
  return sum / n + heads.cwiseAbs2().rowwise().sum().dot(penalty) / 2;
}

/// A point (Θ, τ) of Newton's method on F = L + τ·cᵀΘ.
struct TrueSoftmax::Iterate {
  Vector theta = {};
  double tau = 0;
  double excess = 0;  // L(Θ) − L̂
  Vector gradient = {};
  Vector residual = {};  // r, the gradient of F
  Eigen::LLT<Matrix> hessian{};
  Vector newton = {};  // H⁻¹r
};

double TrueSoftmax::suboptimality(const Iterate& at) const {
  const Penalty& penalty = rows_->penalty;
  if (penalty.l2 > 0 && penalty.penalize_bias) return at.residual.squaredNorm() / (2 * penalty.l2);
  // Without a penalty on everything: self-concordance, in the largest difference of two classes'
  // scores that a step of unit length makes in any row.
  const Index k = classes();
  double reach = 0;
  for (Index i = 0; i < rows_->features.rows(); ++i) {
    for (Index a = 0; a < k; ++a) {
      for (Index b = 0; b < a; ++b) {
        const Vector direction = margin_direction(rows_->features.row(i).transpose(), a, b, k);
        reach = std::max(reach, direction.dot(at.hessian.solve(direction)));
      }
    }
  }
  const double square = at.residual.dot(at.newton);
  return std::sqrt(square * reach) <= 0.5 ? square : std::numeric_limits<double>::infinity();
}

TrueMargin TrueSoftmax::worst(VectorArg x_tilde, Index wanted, Index rival,
                              const TrueMargin* start) const {
  const Index k = classes();
  require(x_tilde.size() == rows_->minimiser.rows(), "x̃ has {} entries, expected {}",
          x_tilde.size(), rows_->minimiser.rows());
  require(wanted >= 0 && wanted < k && rival >= 0 && rival < k && wanted != rival,
          "a margin is of two different classes below {}, found {} and {}", k, wanted, rival);
  const Vector c = margin_direction(x_tilde, wanted, rival, k);
  const Vector optimum = flat(rows_->minimiser);
  const double target = std::sqrt(2 * epsilon_);
  const double accuracy = std::max(tolerance, rounding() / epsilon_);
  Iterate at;
  Matrix hessian;
  if (start != nullptr) {
    at.theta = flat(start->stationary);
    at.tau = start->multiplier;
  } else {
    (void)derivatives(rows_->minimiser, at.gradient, hessian);
    const Vector solved = hessian.llt().solve(c);
    at.tau = target / std::sqrt(c.dot(solved));
    at.theta = optimum - at.tau * solved;
  }
  TrueMargin result;
  while (true) {
    at.excess = derivatives(folded(at.theta, k), at.gradient, hessian) - rows_->optimum;
    at.hessian.compute(hessian);
    at.residual = at.gradient + at.tau * c;
    at.newton = at.hessian.solve(at.residual);
    const double h = std::sqrt(2 * std::max(at.excess, 0.0));
    const double stationarity = std::sqrt(std::max(at.residual.dot(at.newton), 0.0)) / target;
    const bool done = stationarity <= accuracy && std::abs(h - target) <= accuracy * target;
    if (done || result.iterations == most_steps) break;
    ++result.iterations;
    const Vector along = at.hessian.solve(c);
    double change = ((h - target) * h - at.gradient.dot(at.newton)) / at.gradient.dot(along);
    if (!std::isfinite(change)) change = 0;
    change = std::clamp(change, -0.7 * at.tau, 2 * at.tau);
    const Vector step = -at.newton - change * along;
    const double length = (rows_->features * folded(step, k)).cwiseAbs().maxCoeff();
    const double share = length > longest_score_step ? longest_score_step / length : 1;
    at.theta += share * step;
    at.tau += share * change;
  }
  // Every Θ of the set has τ·cᵀΘ ≥ min F − L(Θ) ≥ F(Θ₀) − δ − level.
  const double slack = at.excess - epsilon_ - suboptimality(at) - rounding();
  result.lower_bound =
      at.theta.dot(c) + slack / at.tau - 1e-15 * at.theta.cwiseProduct(c).cwiseAbs().sum();
  // Convexity brings a point that is a little outside back into the set.
  const double share = std::min(1.0, (epsilon_ - rounding()) / at.excess);
  const Vector inside = optimum + share * (at.theta - optimum);
  result.heads = folded(inside, k);
  result.attained = inside.dot(c);
  result.stationary = folded(at.theta, k);
  result.multiplier = at.tau;
  return result;
}

TrueSoftmax true_softmax(const Model& model, const StoredRows& rows, double epsilon) {
  require(model.network.outputs() > 1 && model.network.layers.size() == 1,
          "the true set of several classes is that of a softmax model without hidden layers");
  require_rows_of(model, rows);
  const TrainingRecord& training = model.training;
  return {rows.encoded,
          rows.labels,
          {.l2 = training.l2, .penalize_bias = training.penalize_bias},
          folded(model.network.head(), model.network.outputs()),
          epsilon};
}

}  // namespace ellice

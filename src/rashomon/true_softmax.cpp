#include "ellice/rashomon/true_softmax.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/model/softmax_objective.hpp"
#include "ellice/rashomon/true_set.hpp"
#include "ellice/solver/cholesky.hpp"
#include "true_rules.hpp"

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

/// Probabilities of the classes from their scores, row by row; returns the sum of the losses, in
/// which the scores cancel row by row and the many terms lose nothing.
double softmax_rows(RowMatrix& scores, const std::vector<int>& labels) {
  long double sum = 0;
  for (Index i = 0; i < scores.rows(); ++i) {
    const double largest = scores.row(i).maxCoeff();
    const double behind = largest - scores(i, labels[static_cast<std::size_t>(i)]);
    scores.row(i) = (scores.row(i).array() - largest).exp();
    const double total = scores.row(i).sum();
    scores.row(i) /= total;
    sum += behind + std::log(total);
  }
  return static_cast<double>(sum);
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
  rows.score_size =
      (rows.features.cwiseAbs() * rows.minimiser.cwiseAbs()).rowwise().maxCoeff().mean();
  rows_ = std::make_shared<const Rows>(rows);
  Vector gradient;
  Matrix hessian;
  rows.optimum = derivatives(rows.minimiser, gradient, hessian);
  const CholeskyFactor positive_definite(hessian);  // otherwise the set has no end
  rows.curvature.compute(hessian);
  rows.decrement = gradient.dot(rows.curvature.solve(gradient)) / 2;
  *this = TrueSoftmax(std::make_shared<const Rows>(std::move(rows)), epsilon);
}

TrueSoftmax::TrueSoftmax(std::shared_ptr<const Rows> rows, double epsilon)
    : rows_(std::move(rows)), epsilon_(epsilon) {
  const double smallest = known_epsilon();
  require(std::isfinite(epsilon) && epsilon >= smallest,
          "epsilon = {} must be finite and at least {:.2g} for the true set, which is as well as "
          "the objective itself is known",
          epsilon, smallest);
  require(rows_->decrement <= allowed_decrement * epsilon,
          "the model is {:.3g} above the minimum of its objective, which is not small against "
          "epsilon = {}: refit it first",
          rows_->decrement, epsilon);
}

TrueSoftmax TrueSoftmax::with_epsilon(double epsilon) const {
  return {rows_, epsilon};
}

double TrueSoftmax::smallest_epsilon() const {
  return std::max(known_epsilon(), rows_->decrement / allowed_decrement);
}

double TrueSoftmax::known_epsilon() const {
  constexpr double roundings = 1e4;
  return std::max(rounding_of_objective * (1 + rows_->optimum), roundings * rounding());
}

double TrueSoftmax::rounding() const {
  // A score of p terms is wrong by p·u of their sizes at most, and the mean loss by two scores' and
  // a few u of its own; twice that, since models of the set may have larger scores.
  const auto p = static_cast<double>(rows_->minimiser.rows());
  constexpr double unit = std::numeric_limits<double>::epsilon() / 2;
  return 4 * unit * (p * rows_->score_size + 8 * (1 + rows_->optimum));
}

Vector TrueSoftmax::margin_direction(VectorArg x_tilde, Index wanted, Index rival) const {
  const Index k = classes();
  require(x_tilde.size() == rows_->minimiser.rows(), "x̃ has {} entries, expected {}",
          x_tilde.size(), rows_->minimiser.rows());
  require(wanted >= 0 && wanted < k && rival >= 0 && rival < k && wanted != rival,
          "a margin is of two different classes below {}, found {} and {}", k, wanted, rival);
  Matrix direction = Matrix::Zero(x_tilde.size(), k);
  direction.col(wanted) = x_tilde;
  direction.col(rival) = -x_tilde;
  return flat(direction);
}

Matrix TrueSoftmax::hessian_at(const Matrix& heads) const {
  Vector gradient;
  Matrix hessian;
  (void)derivatives(heads, gradient, hessian);
  return hessian;
}

double TrueSoftmax::objective(MatrixArg heads) const {
  RowMatrix scores = rows_->features * heads;
  const double sum = softmax_rows(scores, rows_->labels);
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
  const double sum = softmax_rows(scores, rows_->labels);
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

struct TrueSoftmax::Iterate {
  Vector theta = {};
  double tau = 0;
  double excess = 0;  // L(Θ) − L̂
  Vector gradient = {};
  Vector residual = {};  // r, the gradient of F = L + τ·cᵀΘ
  Eigen::LLT<Matrix> hessian{};
  Vector newton = {};  // H⁻¹r
  Vector along = {};   // H⁻¹c
  int iterations = 0;
};

/// The rule says how far an iterate is from what is wanted beside r = 0 (relatively), and which
/// change of τ brings its linearisation there.
template <typename Rule>
TrueSoftmax::Iterate TrueSoftmax::newton(const Vector& c, Iterate at, const Rule& rule) const {
  const double accuracy = std::max(tolerance, rounding() / epsilon_);
  const double scale = std::sqrt(2 * epsilon_);
  Matrix hessian;
  while (true) {
    at.excess = derivatives(folded(at.theta, classes()), at.gradient, hessian) - rows_->optimum;
    at.hessian.compute(hessian);
    at.residual = at.gradient + at.tau * c;
    at.newton = at.hessian.solve(at.residual);
    at.along = at.hessian.solve(c);
    const double stationarity = std::sqrt(std::max(at.residual.dot(at.newton), 0.0)) / scale;
    if (std::max(stationarity, rule.error(at)) <= accuracy || at.iterations == most_steps)
      return at;
    ++at.iterations;
    double change = rule.change(at);
    if (!std::isfinite(change)) change = 0;
    change = std::clamp(change, -0.7 * at.tau, 2 * at.tau);
    const Vector step = -at.newton - change * at.along;
    const double length = (rows_->features * folded(step, classes())).cwiseAbs().maxCoeff();
    const double share = length > longest_score_step ? longest_score_step / length : 1;
    at.theta += share * step;
    at.tau += share * change;
  }
}

double TrueSoftmax::suboptimality(const Iterate& at) const {
  const Penalty& penalty = rows_->penalty;
  if (penalty.l2 > 0 && penalty.penalize_bias) return at.residual.squaredNorm() / (2 * penalty.l2);
  // Without a penalty on everything: self-concordance, in the largest difference of two classes'
  // scores that a step of unit length makes in any row.
  const Index p = rows_->minimiser.rows();
  const Index penalized = p - (penalty.penalize_bias ? 0 : 1);
  // What all classes have in common is in the penalty alone, and counts by itself.
  const Vector sum = folded(at.theta, classes()).rowwise().sum();
  const double common =
      penalty.l2 / 2 * sum.head(penalized).squaredNorm() / static_cast<double>(classes());
  Matrix own = folded(at.residual, classes());
  own.colwise() -= Vector(own.rowwise().mean());
  const Matrix inverse = at.hessian.solve(Matrix::Identity(at.theta.size(), at.theta.size()));
  double reach = 0;
  for (Index a = 0; a < classes(); ++a) {
    for (Index b = 0; b < a; ++b) {
      const Matrix form = inverse.block(a * p, a * p, p, p) + inverse.block(b * p, b * p, p, p) -
                          inverse.block(a * p, b * p, p, p) - inverse.block(b * p, a * p, p, p);
      const RowMatrix image = rows_->features * form;
      reach = std::max(reach, image.cwiseProduct(rows_->features).rowwise().sum().maxCoeff());
    }
  }
  const Vector residual = flat(own);
  const double square = residual.dot(at.hessian.solve(residual));
  return std::sqrt(square * reach) <= 0.5 ? square + common
                                          : std::numeric_limits<double>::infinity();
}

TrueMargin TrueSoftmax::worst(VectorArg x_tilde, Index wanted, Index rival,
                              const TrueMargin* start) const {
  const LevelRule rule{.target = std::sqrt(2 * epsilon_)};
  const Vector c = margin_direction(x_tilde, wanted, rival);
  const Vector optimum = flat(rows_->minimiser);
  Iterate at;
  if (start != nullptr) {
    at = newton(c, {.theta = flat(start->stationary), .tau = start->multiplier}, rule);
  } else {
    const Vector solved = rows_->curvature.solve(c);
    const double tau = rule.target / std::sqrt(c.dot(solved));
    at = newton(c, {.theta = optimum - tau * solved, .tau = tau}, rule);
  }
  TrueMargin result{.multiplier = at.tau, .iterations = at.iterations};
  // Every Θ of the set has τ·cᵀΘ ≥ min F − L(Θ) ≥ F(Θ₀) − δ − level.
  const double slack = at.excess - epsilon_ - suboptimality(at) - rounding();
  result.lower_bound =
      at.theta.dot(c) + slack / at.tau - 1e-15 * at.theta.cwiseProduct(c).cwiseAbs().sum();
  // Convexity brings a point that is a little outside back into the set.
  const double share = std::min(1.0, (epsilon_ - rounding()) / at.excess);
  const Vector inside = optimum + share * (at.theta - optimum);
  result.heads = folded(inside, classes());
  result.attained = inside.dot(c);
  result.stationary = folded(at.theta, classes());
  return result;
}

double TrueSoftmax::ellipsoid_spread(VectorArg x_tilde, Index wanted, Index rival) const {
  const Vector c = margin_direction(x_tilde, wanted, rival);
  return std::sqrt(c.dot(rows_->curvature.solve(c)));
}

double TrueSoftmax::robustness_radius(VectorArg x_tilde, Index wanted, Index rival,
                                      double threshold) const {
  const Vector c = margin_direction(x_tilde, wanted, rival);
  const Vector optimum = flat(rows_->minimiser);
  const double lead = optimum.dot(c) - threshold;
  if (lead <= 0) return 0;
  const Vector solved = rows_->curvature.solve(c);
  const double tau = lead / c.dot(solved);
  const Iterate at = newton(c, {.theta = optimum - tau * solved, .tau = tau},
                            ScoreRule{.c = &c, .threshold = threshold, .size = lead});
  // Where cᵀΘ ≤ t, L(Θ) ≥ L(Θ) + τ·(cᵀΘ − t) ≥ F(Θ₀) − δ − τt.
  return std::max(
      0.0, at.excess + at.tau * (at.theta.dot(c) - threshold) - suboptimality(at) - rounding());
}

TrueSoftmax true_softmax(const Model& model, const StoredRows& rows, double epsilon) {
  require(model.network.outputs() > 1, "the model has one logit: its true set is a TrueSet");
  require_rows_of(model, rows);
  const TrainingRecord& training = model.training;
  const Index classes = model.network.outputs();
  TrueSoftmax result(model.network.row_features(rows.encoded), rows.labels,
                     {.l2 = training.l2, .penalize_bias = training.penalize_bias},
                     folded(model.network.head(), classes), epsilon);
  const Matrix none = Matrix::Zero(model.network.head().size(), model.network.head().size());
  require_curvature_of(model, result.hessian_at(result.center()) - with_gauge(none, classes));
  return result;
}

double robustness_radius(const TrueSoftmax& set, const Contest& contest, VectorArg x_tilde,
                         double threshold) {
  double least = std::numeric_limits<double>::infinity();
  for (const Index rival : contest.rivals)
    least = std::min(least, set.robustness_radius(x_tilde, contest.winner, rival, threshold));
  return least;
}

}  // namespace ellice

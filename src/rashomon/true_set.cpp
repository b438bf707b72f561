#include "ellice/rashomon/true_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/model/network_objective.hpp"
#include "true_rules.hpp"

namespace ellice {

namespace {

constexpr int most_steps = 60;
constexpr double tolerance = 1e-10;
// No step changes a score by more: beyond that the second-order picture of the logistic loss is
// worthless.
constexpr double longest_score_step = 3;
// A step must bring the error to that share, or the next one gets a Hessian of its own.
constexpr double enough_progress = 0.1;
constexpr double rounding_of_objective = 1e-10;
// A minimiser may miss the minimum by this share of ε.
constexpr double allowed_decrement = 0.01;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TrueSet::Rows::Rows(RowMatrix given, std::vector<int> given_labels, LossKind given_kind,
                    Penalty given_penalty, Vector given_minimiser, int threads)
    : features(std::move(given)),
      kind(given_kind),
      penalty(given_penalty),
      objective(features, given_labels, given_kind, given_penalty, threads),
      minimiser(std::move(given_minimiser)) {
  require(minimiser.size() == objective.parameters(), "the minimiser has {} entries, expected {}",
          minimiser.size(), objective.parameters());
  Vector gradient;
  optimum = objective.derivatives(minimiser, gradient, hessian);
  factor = CholeskyFactor(hessian);
  const double norm = factor.inverse_norm(gradient);
  decrement = norm * norm / 2;
}

double TrueSet::Rows::rounding_epsilon() const {
  return rounding_of_objective * (1 + optimum);
}

bool TrueSet::Rows::bounds_by_residual() const {
  return kind == LossKind::squared || (penalty.l2 > 0 && penalty.penalize_bias);
}

double TrueSet::Rows::smallest_epsilon() const {
  return std::max(rounding_epsilon(), decrement / allowed_decrement);
}

TrueSet::TrueSet(RowMatrix features, std::vector<int> labels, LossKind kind, Penalty penalty,
                 Vector minimiser, double epsilon, int threads)
    : TrueSet(std::make_shared<const Rows>(std::move(features), std::move(labels), kind, penalty,
                                           std::move(minimiser), threads),
              epsilon) {}

TrueSet::TrueSet(std::shared_ptr<const Rows> rows, double epsilon)
    : rows_(std::move(rows)), epsilon_(epsilon) {
  require(std::isfinite(epsilon) && epsilon >= rows_->rounding_epsilon(),
          "epsilon = {} must be finite and at least {:.2g} for the true set, which is as well as "
          "the objective itself is known; for 0 use the set last-layer",
          epsilon, rows_->rounding_epsilon());
  require(rows_->decrement <= allowed_decrement * epsilon,
          "the model is {:.3g} above the minimum of its objective, which is not small against "
          "epsilon = {}: refit it first (--refit FILE, or train --refit)",
          rows_->decrement, epsilon);
}

TrueSet TrueSet::with_epsilon(double epsilon) const {
  return {rows_, epsilon};
}

double TrueSet::rounding() const {
  return 1e-14 * (1 + level());
}

/// F = L + τ·θᵀx̃ is least where the gradient r of F vanishes.
struct TrueSet::Iterate {
  Vector theta = {};
  double tau = 0;
  double excess = 0;  // L(θ) − L̂
  Vector gradient = {};
  Vector residual = {};                                    // r
  std::shared_ptr<const Eigen::LLT<Matrix>> hessian = {};  // of L, and of F, or one nearby
  Vector newton = {};                                      // H⁻¹r
  Vector along = {};                                       // H⁻¹x̃
  int iterations = 0;
};

/// The rule says how far an iterate is from what is wanted beside r = 0 (relatively), and which
/// change of τ brings its linearisation there. A Hessian costs many gradients, so that one is kept
/// as long as its steps bring enough (Shamanskii's method).
template <typename Rule>
TrueSet::Iterate TrueSet::newton(const Vector& x, Iterate at, const Rule& rule) const {
  const double accuracy = std::max(tolerance, rounding() / epsilon_);
  const double scale = std::sqrt(2 * epsilon_);
  const bool keeps = rows_->bounds_by_residual();
  if (!keeps) at.hessian.reset();
  Matrix hessian;
  double error = infinity;
  const auto judge = [&] {
    at.residual = at.gradient + at.tau * x;
    at.newton = at.hessian->solve(at.residual);
    at.along = at.hessian->solve(x);
    const double stationarity = std::sqrt(std::max(at.residual.dot(at.newton), 0.0)) / scale;
    return std::max(stationarity, rule.error(at));
  };
  while (true) {
    const double before = error;
    if (at.hessian && keeps) {
      at.excess = rows_->objective.gradient(at.theta, at.gradient) - rows_->optimum;
      error = judge();
    }
    const bool is_slow = error > enough_progress * before && error > accuracy;
    if (!at.hessian || !keeps || is_slow) {
      at.excess = rows_->objective.derivatives(at.theta, at.gradient, hessian) - rows_->optimum;
      at.hessian = std::make_shared<const Eigen::LLT<Matrix>>(hessian);
      error = judge();
    }
    if (error <= accuracy || at.iterations == most_steps) return at;
    ++at.iterations;
    double change = rule.change(at);
    if (!std::isfinite(change)) change = 0;
    change = std::clamp(change, -0.7 * at.tau, 2 * at.tau);
    const Vector step = -at.newton - change * at.along;
    const double length = largest_score_step(step);
    const double share = length > longest_score_step ? longest_score_step / length : 1;
    at.theta += share * step;
    at.tau += share * change;
  }
}

double TrueSet::suboptimality(const Iterate& at) const {
  const double square = at.residual.dot(at.newton);
  if (rows_->kind == LossKind::squared) return square / 2;  // H is the same everywhere
  if (rows_->bounds_by_residual()) return at.residual.squaredNorm() / (2 * rows_->penalty.l2);
  // Without a penalty on everything: self-concordance (theory.md, Result 21).
  Matrix columns(at.theta.size(), rows_->features.rows());
  columns.topRows(at.theta.size() - 1) = rows_->features.transpose();
  columns.bottomRows(1).setOnes();
  at.hessian->matrixL().solveInPlace(columns);
  const double reach = std::sqrt(square * columns.colwise().squaredNorm().maxCoeff());
  return reach <= 0.5 ? square : infinity;
}

double TrueSet::largest_score_step(const Vector& step) const {
  const Index d = rows_->features.cols();
  return ((rows_->features * step.head(d)).array() + step(d)).abs().maxCoeff();
}

TrueWorst TrueSet::worst(VectorArg x_tilde, const TrueWorst* start) const {
  require(x_tilde.size() == rows_->minimiser.size(), "x̃ has {} entries, expected {}",
          x_tilde.size(), rows_->minimiser.size());
  const LevelRule rule{.target = std::sqrt(2 * epsilon_)};
  const Vector x = x_tilde;
  Iterate at;
  if (start != nullptr) {
    at = newton(x,
                {.theta = start->stationary, .tau = start->multiplier, .hessian = start->curvature},
                rule);
  } else {
    const Vector solved = rows_->factor.solve(x);
    const double tau = rule.target / std::sqrt(x.dot(solved));
    at = newton(x, {.theta = rows_->minimiser - tau * solved, .tau = tau}, rule);
  }
  TrueWorst result{.multiplier = at.tau, .iterations = at.iterations};
  // Every θ of the set has τ·θᵀx̃ ≥ min F − L(θ) ≥ F(θ₀) − δ − level.
  const double slack = at.excess - epsilon_ - suboptimality(at) - rounding();
  result.lower_bound =
      at.theta.dot(x) + slack / at.tau - 1e-15 * at.theta.cwiseProduct(x).cwiseAbs().sum();
  // Convexity brings a model that is a little outside back into the set.
  const double share = std::min(1.0, (epsilon_ - rounding()) / at.excess);
  result.model = rows_->minimiser + share * (at.theta - rows_->minimiser);
  result.attained = result.model.dot(x);
  result.stationary = std::move(at.theta);
  result.curvature = std::move(at.hessian);
  return result;
}

double TrueSet::robustness_radius(VectorArg x_tilde, double threshold, const Vector* nearby) const {
  const Vector x = x_tilde;
  const double margin = rows_->minimiser.dot(x) - threshold;
  if (margin <= 0) return 0;
  const Vector solved = rows_->factor.solve(x);
  const double tau = margin / x.dot(solved);
  // The step in θ does not depend on τ, so that the ellipsoid's will do for any start.
  const Iterate at = newton(
      x, {.theta = nearby != nullptr ? *nearby : rows_->minimiser - tau * solved, .tau = tau},
      ScoreRule{.c = &x, .threshold = threshold, .size = margin});
  return std::max(
      0.0, at.excess + at.tau * (at.theta.dot(x) - threshold) - suboptimality(at) - rounding());
}

void require_rows_of(const Model& model, const StoredRows& rows) {
  const TrainingRecord& training = model.training;
  require_input(
      rows.encoded.rows() == training.rows && rows.encoded.cols() == model.encoder.columns(),
      "the rows are not those of the model: {} rows of {} columns, but it was fitted on {} "
      "of {}; give the data that it was trained on",
      rows.encoded.rows(), rows.encoded.cols(), training.rows, model.encoder.columns());
  NetworkObjective on_rows(
      {.features = &rows.encoded, .labels = &rows.labels, .classes = model.network.outputs()},
      training.loss_kind, {.l2 = training.l2, .penalize_bias = training.penalize_bias});
  const double loss = on_rows.loss(model.network);
  require_input(
      std::abs(loss - training.loss) <= 1e-9 * std::max(training.loss, 1e-6),
      "the rows are not those of the model: its mean loss on them is {}, in the model file "
      "it is {}; give the data that it was trained on",
      loss, training.loss);
  const double objective = on_rows.value(model.network);
  require_input(
      std::abs(objective - training.objective) <= 1e-9 * std::max(training.objective, 1e-6),
      "the model file contradicts itself: its training.objective is {}, but on the rows of its "
      "training the objective is {}; it was altered after training: train it again",
      training.objective, objective);
}

void require_curvature_of(const Model& model, Matrix on_rows) {
  on_rows.diagonal().array() += model.curvature.shift;
  const double difference = (on_rows - model.curvature.hessian).norm();
  require_input(difference <= 1e-9 * model.curvature.hessian.norm(),
                "the rows are not those of the model: the Hessian of its objective on them differs "
                "by {:.3g} from that in the model file; give the data that it was trained on",
                difference);
}

TrueSet true_set(const Model& model, const StoredRows& rows, double epsilon) {
  require_rows_of(model, rows);
  const TrainingRecord& training = model.training;
  TrueSet result(model.network.row_features(rows.encoded), rows.labels, training.loss_kind,
                 {.l2 = training.l2, .penalize_bias = training.penalize_bias}, model.network.head(),
                 epsilon);
  require_curvature_of(model, result.hessian());
  return result;
}

}  // namespace ellice

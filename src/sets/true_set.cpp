#include "sets/true_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/network_objective.hpp"
#include "model/softmax_objective.hpp"
#include "sets/true_rules.hpp"

namespace ellice {

namespace {

constexpr int most_steps = 60;
constexpr double tolerance = 1e-10;
// No step changes a score by more: beyond that the second-order picture of the losses is
// worthless.
constexpr double longest_score_step = 3;
// A step must bring the error to that share, or the next one gets a Hessian of its own.
constexpr double enough_progress = 0.1;
constexpr double rounding_of_objective = 1e-10;
// A minimiser may miss the minimum by this share of ε.
constexpr double allowed_decrement = 0.01;
// ε is at least so many times the rounding of the objective.
constexpr double roundings = 1e4;
// A start far away may cost Newton's method all its steps; then its bounds are this far apart, as a
// share of the penalty, and the ellipsoid's answer is a better start.
constexpr double loose = 1e-6;
// Scores at which the cheapest model is looked for, until it is this near to the border of the set.
constexpr int most_scores = 60;
constexpr double near_border = 1e-6;
constexpr double shortest_step = 1e-12;
// An ellipsoid that touches the border is made smaller by what rounding may do to it: p·u·κ for
// each solve and product with its matrix, of condition κ; beyond the last share it is of no use.
constexpr double touching_slack = 1e-7;
constexpr double solves = 4;
constexpr double most_lost = 1e-3;
// Parameters that are this small are at their corner, if they have one.
constexpr double at_corner = 1e-6;

/// What a score may be off by.
double score_rounding(const Vector& theta, const Vector& a) {
  return 1e-15 * theta.cwiseProduct(a).cwiseAbs().sum();
}

}  // namespace

TrueSet::Rows::Rows(RowMatrix given, std::vector<int> given_labels, Vector given_weights,
                    LossKind kind, Index outputs, const Penalty& penalty, Vector given_minimiser,
                    int threads)
    : features(std::move(given)),
      labels(std::move(given_labels)),
      weights(std::move(given_weights)),
      objective({.features = &features, .labels = &labels, .weights = &weights}, kind, outputs,
                penalty, threads),
      minimiser(std::move(given_minimiser)) {
  require(minimiser.size() == objective.parameters(), "the minimiser has {} entries, expected {}",
          minimiser.size(), objective.parameters());
  Vector gradient;
  optimum = objective.derivatives(minimiser, gradient, hessian);
  hessian = with_gauge(std::move(hessian), outputs);
  if (has_corners()) {
    shift = needed_shift(hessian);
    hessian.diagonal().array() += shift;
    // What the least subgradient leaves.
    for (Index j = 0; j < gradient.size(); ++j) {
      const double l = objective.corners()(j);
      const double pull =
          minimiser(j) == 0 ? std::clamp(-gradient(j), -l, l) : std::copysign(l, minimiser(j));
      gradient(j) += pull;
    }
  }
  factor = CholeskyFactor(hessian);  // otherwise the set has no end
  const double norm = factor.inverse_norm(gradient);
  decrement = norm * norm / 2;
  rounding = objective.rounding(minimiser);
  longest = std::sqrt(features.rowwise().squaredNorm().maxCoeff() + 1);
}

double TrueSet::Rows::known_epsilon() const {
  return std::max(rounding_of_objective * (1 + optimum), roundings * rounding);
}

double TrueSet::smallest_epsilon() const {
  return std::max(rows_->known_epsilon(), rows_->decrement / allowed_decrement);
}

TrueSet::TrueSet(RowMatrix features, std::vector<int> labels, LossKind kind, Index outputs,
                 const Penalty& penalty, Vector minimiser, double epsilon, int threads,
                 Vector weights)
    : TrueSet(
          std::make_shared<const Rows>(std::move(features), std::move(labels), std::move(weights),
                                       kind, outputs, penalty, std::move(minimiser), threads),
          epsilon) {}

TrueSet::TrueSet(std::shared_ptr<const Rows> rows, double epsilon)
    : rows_(std::move(rows)), epsilon_(epsilon) {
  const double smallest = rows_->known_epsilon();
  require(std::isfinite(epsilon) && epsilon >= smallest,
          "epsilon = {} must be finite and at least {:.2g} for the true set, which is as well as "
          "the objective itself is known; for 0 use the set last-layer",
          epsilon, smallest);
  require(rows_->decrement <= allowed_decrement * epsilon,
          "the model is {:.3g} above the minimum of its objective, which is not small against "
          "epsilon = {}: refit it first (`refit`, also when training)",
          rows_->decrement, epsilon);
}

std::shared_ptr<const HeadSet> TrueSet::with_epsilon(double epsilon) const {
  return std::make_shared<const TrueSet>(at(epsilon));
}

/// F = L + τ·aᵀθ is least where the gradient r of F vanishes.
struct TrueSet::Iterate {
  Vector theta = {};
  double tau = 0;
  double excess = 0;  // L(θ) − L̂
  Vector gradient = {};
  Vector residual = {};                                    // r
  std::shared_ptr<const Eigen::LLT<Matrix>> hessian = {};  // of L, and of F, or one nearby
  Vector newton = {};                                      // H⁻¹r
  Vector along = {};                                       // H⁻¹a
  int iterations = 0;
};

/// The rule says how far an iterate is from what is wanted beside r = 0 (relatively), and which
/// change of τ brings its linearisation there. A Hessian costs many gradients, so that one is kept
/// as long as its steps bring enough (Shamanskii's method).
template <typename Rule>
TrueSet::Iterate TrueSet::newton(const Vector& a, Iterate at, const Rule& rule,
                                 double share) const {
  const double accuracy = std::max({tolerance, rows_->rounding / epsilon_, share});
  const double scale = std::sqrt(2 * epsilon_);
  const bool keeps = rows_->objective.bounds_by_residual();
  if (!keeps) at.hessian.reset();
  Matrix hessian;
  double error = infinity;
  const auto judge = [&] {
    at.residual = at.gradient + at.tau * a;
    at.newton = at.hessian->solve(at.residual);
    at.along = at.hessian->solve(a);
    const double stationarity = std::sqrt(std::max(at.residual.dot(at.newton), 0.0)) / scale;
    return std::max(stationarity, rule.error(at));
  };
  while (true) {
    check_stop();
    const double before = error;
    if (at.hessian && keeps) {
      at.excess = rows_->objective.gradient(at.theta, at.gradient) - rows_->optimum;
      error = judge();
    }
    const bool is_slow = error > enough_progress * before && error > accuracy;
    if (!at.hessian || !keeps || is_slow) {
      at.excess = rows_->objective.derivatives(at.theta, at.gradient, hessian) - rows_->optimum;
      at.hessian = std::make_shared<const Eigen::LLT<Matrix>>(
          with_gauge(std::move(hessian), rows_->objective.outputs()));
      error = judge();
    }
    if (error <= accuracy || at.iterations == most_steps) return at;
    ++at.iterations;
    double change = rule.change(at);
    if (!std::isfinite(change)) change = 0;
    change = std::clamp(change, -0.7 * at.tau, 2 * at.tau);
    const Vector step = -at.newton - change * at.along;
    // Most steps are short by their norm alone, which costs nothing beside a product with all rows.
    double length = rows_->longest * step.norm();
    if (length > longest_score_step) length = rows_->objective.largest_score(step);
    const double part = length > longest_score_step ? longest_score_step / length : 1;
    // Where no row has a slope left, no Hessian leads on.
    if (!step.allFinite() || !std::isfinite(part)) return at;
    at.theta += part * step;
    at.tau += part * change;
  }
}

TrueSet::Iterate TrueSet::cheapest(const Vector& a, double score, Iterate at) const {
  Matrix hessian;
  const auto look = [&] {
    at.excess = rows_->objective.derivatives(at.theta, at.gradient, hessian) - rows_->optimum;
    at.hessian = std::make_shared<const Eigen::LLT<Matrix>>(
        with_gauge(std::move(hessian), rows_->objective.outputs()));
    at.along = at.hessian->solve(a);
    const Vector full = at.hessian->solve(at.gradient);
    at.tau = -full.dot(a) / at.along.dot(a);
    at.residual = at.gradient + at.tau * a;
    at.newton = full + at.tau * at.along;  // the score stays as it is
  };
  look();
  at.theta += (score - at.theta.dot(a)) / at.along.dot(a) * at.along;
  look();
  for (int step = 0; step < most_steps; ++step) {
    check_stop();
    const double decrease = at.residual.dot(at.newton);
    if (!(decrease > rows_->rounding)) break;
    const auto is_lower = [&](double length) {
      return rows_->objective.value(at.theta - length * at.newton) - rows_->optimum <=
             at.excess - 1e-4 * length * decrease;
    };
    double length = 1;
    while (length > shortest_step && !is_lower(length)) length /= 2;
    if (length <= shortest_step) break;
    at.theta -= length * at.newton;
    look();
  }
  return at;
}

TrueSet::Iterate TrueSet::lowest(const Vector& a) const {
  const LevelRule rule{.target = std::sqrt(2 * epsilon_)};
  const double at_center = rows_->minimiser.dot(a);
  double near = at_center;  // scores inside the set and outside
  double far = -infinity;
  double score = at_center - rule.target * rows_->factor.inverse_norm(a);
  Iterate at{.theta = rows_->minimiser};
  for (int round = 0; round < most_scores; ++round) {
    at = cheapest(a, score, std::move(at));
    if (rule.error(at) <= near_border) break;
    const double h = LevelRule::h(at);
    (h < rule.target ? near : far) = score;
    // Newton's method on h, which is nearly linear in the score; halves, or twice as far, where it
    // leads elsewhere.
    const double next = score + (h - rule.target) * h / at.tau;
    const double safe = std::isinf(far) ? 2 * near - at_center : (near + far) / 2;
    score = next < near && next > far ? next : safe;
  }
  return at;
}

double TrueSet::suboptimality(const Iterate& at) const {
  return rows_->objective.suboptimality(at.theta, at.residual, *at.hessian);
}

WorstHead TrueSet::worst_from(const Vector& a, Iterate start, double share) const {
  const LevelRule rule{.target = std::sqrt(2 * epsilon_)};
  if (start.theta.size() == 0) {
    const Vector solved = rows_->factor.solve(a);
    start.tau = rule.target / std::sqrt(a.dot(solved));
    start.theta = rows_->minimiser - start.tau * solved;
  }
  Iterate at = newton(a, std::move(start), rule, share);
  WorstHead result{.multiplier = at.tau, .iterations = at.iterations};
  // Every θ of the set has τ·aᵀθ ≥ min F − L(θ) ≥ F(θ₀) − δ − level.
  const double slack = at.excess - epsilon_ - suboptimality(at) - rows_->rounding;
  result.proved = at.theta.dot(a) + slack / at.tau - score_rounding(at.theta, a);
  // Which holds for multipliers above 0, and for numbers.
  if (!(at.tau > 0) || !std::isfinite(result.proved)) result.proved = -infinity;
  // Convexity brings a model that is a little outside back into the set.
  const double inside = epsilon_ - rows_->rounding;
  const double kept = at.excess > inside ? inside / at.excess : 1;
  result.model = rows_->minimiser + kept * (at.theta - rows_->minimiser);
  result.attained = result.model.dot(a);
  result.stationary = std::move(at.theta);
  result.curvature = std::move(at.hessian);
  return result;
}

Matrix TrueSet::curvature(const WorstHead& worst) const {
  return rows_->has_corners() ? cornered_curvature(rows_->cornered(), worst.stationary)
                              : rows_->objective.hessian(worst.model);
}

std::optional<InnerEllipsoid> TrueSet::touching(const WorstHead& worst) const {
  if (rows_->objective.outputs() > 1) return {};
  const Vector& model = worst.model;
  const Index p = model.size();
  Vector slopes;
  Matrix hessian;
  const double excess = rows_->objective.derivatives(model, slopes, hessian) - rows_->optimum;
  // Flat in parameters at a corner, which no parabola lies above; |θ| ≤ θ²/2a + a/2 elsewhere.
  std::vector<Index> free;
  Vector bends = Vector::Zero(p);
  for (Index j = 0; j < p; ++j) {
    const double corner = rows_->has_corners() ? rows_->objective.corners()(j) : 0;
    if (corner > 0 && std::abs(model(j)) <= at_corner) continue;
    free.push_back(j);
    if (corner == 0) continue;
    slopes(j) += std::copysign(corner, model(j));
    bends(j) = corner / std::abs(model(j));
  }
  hessian.diagonal() += bends;
  const Vector gradient = slopes(free);
  const Eigen::LLT<Matrix> factor(hessian(free, free));
  const double rounding = std::max(rows_->rounding, rows_->objective.rounding(model));
  const double room = 2 * (epsilon_ - rounding - excess);
  // With the curvature at the worst head alone the ellipsoid would be larger.
  const Vector newton = factor.solve(gradient);
  const double reach = std::sqrt(gradient.dot(newton) + std::max(0.0, room));
  if (factor.info() != Eigen::Success || !std::isfinite(reach)) return {};
  const auto size = static_cast<Index>(free.size());
  StepEllipsoid steps{.middle = Vector::Zero(p), .root = Matrix::Zero(size, p), .radius = reach};
  steps.middle(free) = -newton;
  Matrix root = Matrix::Identity(size, size);
  factor.matrixL().solveInPlace(root);
  steps.root(Eigen::all, free) = root;
  Matrix above = rows_->objective.majorant(model, steps);
  above.diagonal() += bends;
  const Matrix bent = above(free, free);
  const Eigen::LLT<Matrix> smaller(bent);
  if (smaller.info() != Eigen::Success) return {};
  const Matrix inverse = smaller.solve(Matrix::Identity(size, size));
  const Vector step = smaller.solve(gradient);
  const double lost = solves * static_cast<double>(size) * std::numeric_limits<double>::epsilon() *
                      bent.norm() * inverse.norm();
  const double radius =
      (1 - std::max(touching_slack, lost)) * std::sqrt(std::max(0.0, gradient.dot(step) + room));
  if (!(radius > 0) || !(lost < most_lost)) return {};
  InnerEllipsoid result{.center = model, .inverse = Matrix::Zero(p, p)};
  result.center(free) -= step;
  result.inverse(free, free) = radius * radius / (2 * epsilon_) * inverse;
  return result;
}

WorstHead TrueSet::worst(VectorArg a_given, const WorstHead* nearby, double share) const {
  require(a_given.size() == rows_->minimiser.size(), "a has {} entries, expected {}",
          a_given.size(), rows_->minimiser.size());
  const Vector a = a_given;
  if (rows_->has_corners()) return cornered_worst(rows_->cornered(), a, epsilon_, nearby);
  // Written so that a bound that is not a number counts as loose.
  const auto is_tight = [&](const WorstHead& found, double gap) {
    const double penalty = rows_->minimiser.dot(a) - found.attained;
    return found.attained - found.proved <= (gap + 4 * share) * penalty;
  };
  if (nearby != nullptr && nearby->stationary.size() > 0) {
    WorstHead found = worst_from(
        a, {.theta = nearby->stationary, .tau = nearby->multiplier, .hessian = nearby->curvature},
        share);
    if (is_tight(found, loose)) return found;
  }
  WorstHead found = worst_from(a, {}, share);
  if (is_tight(found, loose + 4 * rows_->rounding / epsilon_)) return found;
  Iterate start = lowest(a);
  if (!(start.tau > 0)) return found;  // bounds are for multipliers above 0
  WorstHead safe = worst_from(a, std::move(start));
  return found.proved >= safe.proved ? found : safe;
}

ExtendedWorst TrueSet::worst_extended(const LongVector& a, const WorstHead* nearby) const {
  const WorstHead found = worst(a.cast<double>(), nearby);
  return {.robust = found.proved, .model = found.model.cast<long double>()};
}

double TrueSet::radius(VectorArg a_given, double threshold, const Vector* nearby) const {
  const Vector a = a_given;
  const double margin = rows_->minimiser.dot(a) - threshold;
  if (margin <= 0) return 0;
  if (rows_->has_corners()) return cornered_radius(rows_->cornered(), a, threshold, nearby);
  const Vector solved = rows_->factor.solve(a);
  const double tau = margin / a.dot(solved);
  if (!(tau > 0)) return 0;
  // The step in θ does not depend on τ, so that the ellipsoid's will do for any start.
  const ScoreRule rule{.c = &a, .threshold = threshold, .size = margin};
  const Iterate at = newton(
      a, {.theta = nearby != nullptr ? *nearby : rows_->minimiser - tau * solved, .tau = tau},
      rule);
  const double proved = proved_excess(a, threshold, at);
  if (at.excess - proved <= loose * at.excess + 4 * rows_->rounding) return std::max(0.0, proved);
  Iterate start = cheapest(a, threshold, {.theta = rows_->minimiser});
  if (!(start.tau > 0)) return std::max(0.0, proved);  // the bound is for multipliers above 0
  const Iterate safe = newton(a, std::move(start), rule);
  return std::max({0.0, proved, proved_excess(a, threshold, safe)});
}

double TrueSet::proved_excess(const Vector& a, double threshold, const Iterate& at) const {
  // Where aᵀθ ≤ t, L(θ) ≥ L(θ) + τ·(aᵀθ − t) ≥ F(θ₀) − δ − τt.
  return at.excess + at.tau * (at.theta.dot(a) - threshold - score_rounding(at.theta, a)) -
         suboptimality(at) - rows_->rounding;
}

namespace {

void require_rows_of(const Model& model, const StoredRows& rows) {
  const TrainingRecord& training = model.training;
  require_input(
      rows.encoded.rows() == training.rows && rows.encoded.cols() == model.encoder.columns(),
      "the rows are not those of the model: {} rows of {} columns, but it was fitted on {} "
      "of {}; give the data that it was trained on",
      rows.encoded.rows(), rows.encoded.cols(), training.rows, model.encoder.columns());
  require_input(training.weights.has_value() == (rows.weights.size() > 0),
                "the rows are not those of the model: it was fitted on rows with{} weights, and "
                "these are with{}; give the data that it was trained on",
                training.weights ? "" : "out", rows.weights.size() > 0 ? "" : "out");
  LabelledRows view = labelled(rows);
  view.classes = model.network.outputs();
  NetworkObjective on_rows(view, training.loss_kind, penalty_of(training));
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
      "training the objective is {}; it was altered since: train or import it again",
      training.objective, objective);
}

void require_curvature_of(const Model& model, Matrix on_rows, double shift) {
  on_rows.diagonal().array() -= shift;
  on_rows.diagonal().array() += model.curvature.shift;
  const double difference = (on_rows - model.curvature.hessian).norm();
  require_input(difference <= 1e-9 * model.curvature.hessian.norm(),
                "the rows are not those of the model: the Hessian of its objective on them differs "
                "by {:.3g} from that in the model file; give the data that it was trained on",
                difference);
}

}  // namespace

TrueSet true_set(const Model& model, const StoredRows& rows, double epsilon) {
  require_rows_of(model, rows);
  const TrainingRecord& training = model.training;
  const Index outputs = model.network.outputs();
  TrueSet result(model.network.row_features(rows.encoded), rows.labels, training.loss_kind, outputs,
                 penalty_of(training), model.network.head(), epsilon, 1, rows.weights);
  const Index size = result.hessian().rows();
  const Matrix gauge = with_gauge(Matrix::Zero(size, size), outputs);
  require_curvature_of(model, result.hessian() - gauge, result.shift());
  return result;
}

}  // namespace ellice

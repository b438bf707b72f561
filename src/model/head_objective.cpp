#include "model/head_objective.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/model/network.hpp"
#include "model/row_chunks.hpp"
#include "solver/cholesky.hpp"
#include "solver/corner_newton.hpp"

namespace ellice {

namespace {

std::variant<Objective, SoftmaxObjective> make_objective(const LabelledRows& rows, LossKind kind,
                                                         Index outputs, const Penalty& penalty,
                                                         int threads) {
  if (kind == LossKind::softmax) return SoftmaxObjective(rows, outputs, penalty, threads);
  return Objective(rows, kind, penalty, threads);
}

[[noreturn]] void fail_without_minimiser(const std::string& source, Index outputs, bool complete) {
  fail(ErrorCode::input,
       "{}: the {}classes {} by {} and l2 = 0, so that the loss has no minimiser: "
       "parameters grow without end. Use `l2` with a number > 0, e.g. `l2: 0.001`",
       source, outputs == 1 ? "two " : "", complete ? "are separated" : "are separated up to ties",
       outputs == 1 ? "a plane" : "planes");
}

Vector corners_of(const Penalty& penalty, Index columns, Index outputs) {
  if (penalty.l1.size() == 0) return {};
  require(outputs == 1 && !penalty.penalize_bias,
          "an l1 penalty is for models with one score and a free intercept");
  require(penalty.l1.size() == columns,
          "the l1 penalty has {} entries, expected one for each of the {} columns",
          penalty.l1.size(), columns);
  for (Index j = 0; j < columns; ++j) {
    require(penalty.l1(j) >= 0 && std::isfinite(penalty.l1(j)),
            "entry {} of the l1 penalty is {}, expected a finite number >= 0", j, penalty.l1(j));
  }
  Vector result(columns + 1);
  result << penalty.l1, 0;
  return result;
}

}  // namespace

HeadObjective::HeadObjective(const LabelledRows& rows, LossKind kind, Index outputs,
                             const Penalty& penalty, int threads)
    : features_(rows.features),
      labels_(rows.labels),
      weights_(mean_one_weights(rows)),
      kind_(kind),
      outputs_(outputs),
      penalty_(penalty),
      corners_(corners_of(penalty, rows.features->cols(), outputs)),
      objective_(make_objective(rows, kind, outputs, penalty, threads)) {}

Index HeadObjective::parameters() const {
  return std::visit([](const auto& objective) { return objective.parameters(); }, objective_);
}

double HeadObjective::loss(VectorArg theta) const {
  return std::visit([&](const auto& objective) { return objective.loss(theta); }, objective_);
}

double HeadObjective::value(VectorArg theta) const {
  return corner_penalty(theta) +
         std::visit([&](const auto& objective) { return objective.value(theta); }, objective_);
}

double HeadObjective::derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const {
  return corner_penalty(theta) +
         std::visit(
             [&](const auto& objective) { return objective.derivatives(theta, gradient, hessian); },
             objective_);
}

double HeadObjective::gradient(VectorArg theta, Vector& gradient) const {
  return corner_penalty(theta) +
         std::visit([&](const auto& objective) { return objective.gradient(theta, gradient); },
                    objective_);
}

Matrix HeadObjective::hessian(VectorArg theta) const {
  return with_gauge(
      std::visit([&](const auto& objective) { return objective.hessian(theta); }, objective_),
      outputs_);
}

Matrix HeadObjective::majorant(VectorArg theta, const StepEllipsoid& steps) const {
  return std::get<Objective>(objective_).majorant(theta, steps);
}

bool HeadObjective::separates(VectorArg theta) const {
  if (outputs_ == 1) {
    const Vector scores = linear_network(theta).logits(*features_);
    for (Index i = 0; i < scores.size(); ++i) {
      const bool right =
          (*labels_)[static_cast<std::size_t>(i)] == 1 ? scores(i) > 0 : scores(i) < 0;
      if (!right) return false;
    }
    return true;
  }
  const RowMatrix scores = softmax_network(theta, outputs_).row_scores(*features_);
  for (Index i = 0; i < scores.rows(); ++i) {
    const Index own = (*labels_)[static_cast<std::size_t>(i)];
    for (Index k = 0; k < outputs_; ++k) {
      if (k != own && !(scores(i, own) > scores(i, k))) return false;
    }
  }
  return true;
}

NewtonResult HeadObjective::minimize(const NewtonOptions& options,
                                     const std::string& source) const {
  const SmoothFunction function{.value = [&](VectorArg theta) { return value(theta); },
                                .derivatives =
                                    [&](VectorArg theta, Vector& gradient, Matrix& hessian) {
                                      const double result = derivatives(theta, gradient, hessian);
                                      hessian = with_gauge(std::move(hessian), outputs_);
                                      return result;
                                    }};
  const Vector start = Vector::Zero(parameters());
  NewtonResult newton = corners_.size() > 0
                            ? minimize_with_corners(function, corners_, start, options)
                            : minimize_newton(function, start, options);
  const bool converged = newton.status == NewtonStatus::converged;
  const bool is_flat = newton.gradient_norm <= options.gradient_tolerance;

  // Without a penalty the loss of separable classes decreases for ever along the separating
  // direction; one strictly separating θ proves it.
  if (penalty_.l2 == 0 && corners_.size() == 0 && kind_ != LossKind::squared) {
    if (separates(newton.point)) fail_without_minimiser(source, outputs_, true);
    // Separable up to ties: the curvature along the separating direction dies out on the way from
    // 0, and Newton's steps along it do not.
    const Index full_rank = spectrum(hessian(Vector::Zero(parameters()))).rank;
    if ((is_flat && !converged) || spectrum(hessian(newton.point)).rank < full_rank) {
      fail_without_minimiser(source, outputs_, false);
    }
  }
  if (!converged) {
    fail(ErrorCode::input,
         "{}: training stopped after {} Newton steps with a gradient of {:.3g}, {}; raise {}`l2`, "
         "which is {}",
         source, newton.iterations, newton.gradient_norm,
         is_flat ? std::string("but its parameters still grow")
                 : fmt::format("above the tolerance of {:.3g}", options.gradient_tolerance),
         is_flat ? "" : "`max_iterations` or `gradient_tolerance`, or ", penalty_.l2);
  }
  return newton;
}

double HeadObjective::largest_score(VectorArg theta) const {
  const Index d = features_->cols();
  const Eigen::Map<const Matrix> heads(theta.data(), d + 1, outputs_);
  double largest = 0;
  for (Index k = 0; k < outputs_; ++k) {
    const auto scores = (*features_ * heads.col(k).head(d)).array() + heads(d, k);
    largest = std::max(largest, scores.abs().maxCoeff());
  }
  return largest;
}

bool HeadObjective::bounds_by_residual() const {
  const bool spares_none = penalty_.factors.size() == 0 || penalty_.factors.minCoeff() > 0;
  return kind_ == LossKind::squared || (penalty_.l2 > 0 && penalty_.penalize_bias && spares_none);
}

double HeadObjective::suboptimality(VectorArg theta, const Vector& residual,
                                    const Eigen::LLT<Matrix>& hessian) const {
  if (kind_ == LossKind::squared) return residual.dot(hessian.solve(residual)) / 2;
  if (bounds_by_residual()) {
    if (penalty_.factors.size() == 0) return residual.squaredNorm() / (2 * penalty_.l2);
    const Vector curvature = penalty_.diagonal(features_->cols(), outputs_);
    return residual.cwiseAbs2().cwiseQuotient(curvature).sum() / 2;
  }
  // Without a penalty on everything: self-concordance. What all classes have in common is in the
  // penalty alone, and counts by itself.
  Vector own = residual;
  double common = 0;
  if (outputs_ > 1) {
    const Index p = parameters() / outputs_;
    const auto classes = static_cast<double>(outputs_);
    Eigen::Map<Matrix> by_class(own.data(), p, outputs_);
    by_class.colwise() -= Vector(by_class.rowwise().mean());
    const Vector sum = Eigen::Map<const Matrix>(theta.data(), p, outputs_).rowwise().sum();
    if (penalty_.factors.size() == 0) {
      const Index penalized = p - (penalty_.penalize_bias ? 0 : 1);
      common = penalty_.l2 / 2 * sum.head(penalized).squaredNorm() / classes;
    } else {
      common = sum.cwiseAbs2().dot(penalty_.diagonal(p - 1)) / (2 * classes);
    }
  }
  const double square = own.dot(hessian.solve(own));
  return std::sqrt(square * largest_reach(hessian)) <= 0.5
             ? square + common
             : std::numeric_limits<double>::infinity();
}

double HeadObjective::cornered_suboptimality(VectorArg theta, const Vector& slopes,
                                             const Matrix* hessian, double level) const {
  constexpr double negligible = 1e-15;  // of the level
  const Vector curvature = penalty_.diagonal(features_->cols());
  Vector rest = slopes;  // what no subgradient of the corners takes away
  double spent = 0;      // by a subgradient that is not the one at θ
  double bounded = 0;    // Σ r²/(2λd), or by the size that the level leaves a parameter
  double share = 0;
  for (Index j = 0; j < theta.size(); ++j) {
    const double u = std::clamp(-slopes(j), -corners_(j), corners_(j));
    rest(j) = slopes(j) + u;
    spent += corners_(j) * std::abs(theta(j)) - u * theta(j);
    if (rest(j) == 0) continue;
    if (corners_(j) > 0) {
      share = std::max(share, std::abs(rest(j)) / corners_(j));
      bounded += std::abs(rest(j) * theta(j));
    } else {
      bounded += rest(j) * rest(j) / (2 * curvature(j));
    }
  }
  bounded += share * level;
  if (bounded <= negligible * level || hessian == nullptr) return spent + bounded;
  const Eigen::LLT<Matrix> factor(*hessian);
  const Vector pivots = factor.matrixLLT().diagonal();
  // A direction that only the corners hold has no curvature to go by.
  const bool is_definite =
      factor.info() == Eigen::Success && pivots.minCoeff() > 1e-6 * pivots.maxCoeff();
  if (!is_definite) return spent + bounded;
  return spent + std::min(bounded, suboptimality(theta, rest, factor));
}

double HeadObjective::largest_reach(const Eigen::LLT<Matrix>& hessian) const {
  const Index d = features_->cols();
  const Index p = d + 1;
  const Matrix inverse = hessian.solve(Matrix::Identity(parameters(), parameters()));
  double reach = 0;
  const auto consider = [&](const Matrix& form) {
    const RowMatrix image = *features_ * form.topLeftCorner(d, d);
    const Vector squares =
        image.cwiseProduct(*features_).rowwise().sum() + 2 * (*features_ * form.col(d).head(d));
    reach = std::max(reach, squares.maxCoeff() + form(d, d));
  };
  if (outputs_ == 1) consider(inverse);
  for (Index a = 0; a < outputs_; ++a) {
    for (Index b = 0; b < a; ++b) {
      consider(inverse.block(a * p, a * p, p, p) + inverse.block(b * p, b * p, p, p) -
               inverse.block(a * p, b * p, p, p) - inverse.block(b * p, a * p, p, p));
    }
  }
  return reach;
}

double HeadObjective::rounding(VectorArg theta) const {
  constexpr double unit = std::numeric_limits<double>::epsilon() / 2;
  const Index d = features_->cols();
  const Matrix sizes = Eigen::Map<const Matrix>(theta.data(), d + 1, outputs_).cwiseAbs();
  Matrix scores = features_->cwiseAbs() * sizes.topRows(d);
  scores.rowwise() += sizes.row(d);
  const Vector score_sizes = scores.rowwise().maxCoeff();
  const double score_size = weights_.size() == 0
                                ? score_sizes.mean()
                                : score_sizes.dot(weights_) / static_cast<double>(weights_.size());
  const double mean_loss = loss(theta);
  // |φ′| ≤ 1 for logistic and softmax losses; of squares it is √(2φ), whose mean is at most that of
  // the mean.
  const double slope = kind_ == LossKind::squared ? std::max(1.0, std::sqrt(2 * mean_loss)) : 1;
  const auto terms = static_cast<double>(d + 4);
  return 4 * unit *
         (terms * slope * score_size + (8 + summation_depth(features_->rows())) * mean_loss +
          terms * (value(theta) - mean_loss));
}

NewtonResult refit_head(Network& network, const LabelledRows& rows, LossKind kind,
                        const Penalty& penalty) {
  require(rows.features != nullptr && rows.labels != nullptr, "rows and labels are needed");
  const RowMatrix features = network.row_features(*rows.features);
  LabelledRows head_rows = rows;
  head_rows.features = &features;
  const HeadObjective objective(head_rows, kind, network.outputs(), penalty);
  NewtonResult optimum = objective.minimize({}, "refit");
  network.set_head(optimum.point);
  return optimum;
}

}  // namespace ellice

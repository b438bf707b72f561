#include "ellice/sets/retraining.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"
#include "ellice/solver/cholesky.hpp"

namespace ellice {

namespace {

/// σ²: the variance of a loss's slope in units of its curvature.
double noise_of(const Model& model) {
  return model.training.loss_kind == LossKind::squared ? 2 * model.training.loss : 1;
}

/// κσ²/(2n): what one squared standard deviation of a retrained logit is as an ε.
double epsilon_of_one_deviation(const Model& model, const Retraining& retraining) {
  const TrainingRecord& training = model.training;
  require(training.rows > 0, "a model fitted on {} rows has no sampling error", training.rows);
  return retraining.factor(training.rows) * noise_of(model) /
         (2 * static_cast<double>(training.rows));
}

}  // namespace

double Retraining::factor(Index rows) const {
  if (!fresh_rows) return 1;
  return 1 + static_cast<double>(rows) / static_cast<double>(*fresh_rows);
}

std::string Retraining::text() const {
  return fresh_rows ? fmt::format("fresh:{}", *fresh_rows) : "same";
}

Retraining parse_retraining(std::string_view text) {
  if (text == "same") return {};
  constexpr std::string_view prefix = "fresh:";
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    Index rows = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rows);
    if (error == std::errc() && rest == digits.data() + digits.size() && rows >= 1) {
      return {.fresh_rows = rows};
    }
  }
  fail(ErrorCode::argument,
       "`retrain`: found \"{}\", expected same, for as many rows drawn from the old ones, or "
       "fresh:N with N >= 1 rows, e.g. fresh:500",
       text);
}

std::string no_survival_reason(const Model& model, const SetChoice& set) {
  if (model.network.outputs() > 1) {
    return "survival under retraining is predicted for models with one logit, not for softmax "
           "models; give a number or a share of the objective, e.g. 5%";
  }
  // To second order the true set is the last-layer set, and ε means the same in both.
  const bool is_known = set.kind == SetKind::last_layer || set.kind == SetKind::true_set;
  if (!is_known) {
    return fmt::format(
        "survival under retraining is predicted for the sets last-layer and true, not for {}; run "
        "`ellice "
        "calibrate`, which measures it",
        enum_name(set.kind));
  }
  if (set.damping && *set.damping != model.training.l2) {
    return fmt::format(
        "survival under retraining is predicted for the objective's own l2 = {} in H, not for a "
        "damping of {}; leave out `damping`",
        model.training.l2, *set.damping);
  }
  return {};
}

double predicted_survival(const Model& model, double epsilon, const Retraining& retraining) {
  require(epsilon >= 0, "epsilon = {} must be >= 0", epsilon);
  return normal_cdf(std::sqrt(epsilon / epsilon_of_one_deviation(model, retraining)));
}

RetrainedHead::RetrainedHead(const Model& model)
    : factor_(std::make_shared<const CholeskyFactor>(model.curvature.hessian)),
      hessian_(model.curvature.hessian),
      penalty_(Vector::Constant(hessian_.rows(), model.training.l2 + model.curvature.shift)),
      noise_(noise_of(model)),
      rows_(model.training.rows) {
  require(model.network.layers.size() == 1,
          "what retraining does to a network moves its hidden layers as well: it is not predicted");
  require(rows_ > 0, "a model fitted on {} rows has no sampling error", rows_);
  if (!model.training.penalize_bias) penalty_(hessian_.rows() - 1) = model.curvature.shift;
}

double RetrainedHead::deviation(VectorArg x_tilde, const Retraining& retraining) const {
  const Vector solved = factor_->solve(x_tilde);
  // x̃ᵀH⁻¹(H − P)H⁻¹x̃; what is below 0 is rounding.
  const double variance = x_tilde.dot(solved) - solved.cwiseAbs2().dot(penalty_);
  return std::sqrt(retraining.factor(rows_) * noise_ * std::max(variance, 0.0) /
                   static_cast<double>(rows_));
}

double RetrainedHead::survival(VectorArg x_tilde, double margin, double shift,
                               const Retraining& retraining) const {
  const double left = margin - std::max(shift, 0.0);
  const double spread = deviation(x_tilde, retraining);
  if (spread > 0) return normal_cdf(left / spread);
  return left >= 0 ? 1 : 0;
}

Matrix RetrainedHead::covariance_factor() const {
  const Matrix data = hessian_ - Matrix(penalty_.asDiagonal());
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(data);
  // What is below 0 is rounding.
  const Vector roots = eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt();
  Matrix root = eigen.eigenvectors() * roots.asDiagonal();
  for (Index j = 0; j < root.cols(); ++j) root.col(j) = factor_->solve(root.col(j));
  return root * std::sqrt(noise_ / static_cast<double>(rows_));
}

double survival_epsilon(const Model& model, double survival, const Retraining& retraining) {
  require(survival > 0 && survival < 1,
          "a survival of {} cannot be asked for: it is a probability above 0 and below 1",
          survival);
  if (survival <= 0.5) return 0;
  const double z = normal_quantile(survival);
  return z * z * epsilon_of_one_deviation(model, retraining);
}

}  // namespace ellice

#include "ellice/sets/retraining.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"
#include "model/sampling_moments.hpp"
#include "sets/warm_refits.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

// Up to here the deviation that leave-one-out residuals give agrees with that of the residuals as
// they are, and the sandwich is enough for rows drawn again.
constexpr double sandwich_holds = 1.05;
constexpr int refit_count = 100;
// What the closed form is off where its three estimates agree.
constexpr double interval_allowance = 0.02;
constexpr double nine_of_ten = 1.6448536269514722;  // Φ⁻¹(0.95)

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
  if (model.training.weights) {
    return "survival under retraining is not known for models whose rows have weights; give a "
           "number or a share of the objective, e.g. 5%";
  }
  if (has_corners(model.training)) {
    return "survival under retraining is not known for models with an l1 penalty; give a number or "
           "a share of the objective, e.g. 5%";
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

struct RetrainedHead::State {
  const Model* model = nullptr;
  const StoredRows* rows = nullptr;
  Sampling computed = {};  // where the model has none of its own
  const Sampling* sampling = nullptr;
  CholeskyFactor factor;
  double count = 1;

  // Computed when first asked for.
  std::array<std::once_flag, Sampling::estimates> has_covariance;
  std::array<Matrix, Sampling::estimates> covariance;
  std::once_flag has_inverse, has_draws, has_refits;
  Matrix inverse;
  Draws draws;
  WarmRefits refits;

  /// x̃ᵀH⁻¹BH⁻¹x̃/n; what is below 0 is rounding.
  [[nodiscard]] double variance(VectorArg x_tilde, const Matrix& moments) const {
    const Vector solved = factor.solve(x_tilde);
    return std::max(solved.dot(moments * solved), 0.0) / count;
  }
};

std::string RetrainedHead::missing(const Model& model, const StoredRows* rows) {
  if (model.curvature.sampling || model.rows || rows != nullptr) return {};
  return "the model file does not say how its parameters vary from one sample of rows to the next; "
         "train the model again, or give its training rows";
}

RetrainedHead::RetrainedHead(const Model& model, const StoredRows* rows)
    : state_(std::make_shared<State>()) {
  require(model.network.is_linear(),
          "what retraining does to a network moves its hidden layers as well: it is not predicted");
  require(model.training.rows > 0, "a model fitted on {} rows has no sampling error",
          model.training.rows);
  require(!model.training.weights,
          "what retraining does is not known for models whose rows have weights");
  const std::string reason = missing(model, rows);
  require(reason.empty(), "{}", reason);
  state_->model = &model;
  state_->rows = rows != nullptr ? rows : model.rows ? &*model.rows : nullptr;
  if (!model.curvature.sampling) state_->computed = sampling_of(model, labelled(*state_->rows));
  state_->sampling = model.curvature.sampling ? &*model.curvature.sampling : &state_->computed;
  state_->factor = CholeskyFactor(model.curvature.hessian);
  state_->count = static_cast<double>(model.training.rows);
}

double RetrainedHead::deviation(VectorArg x_tilde, Sampling::Estimate estimate) const {
  return std::sqrt(state_->variance(x_tilde, state_->sampling->fresh[estimate].moments));
}

std::optional<Survival> RetrainedHead::drawn_again(VectorArg x_tilde, double margin) const {
  State& state = *state_;
  const double variance = state.variance(x_tilde, state.sampling->drawn_again);
  const double cautious =
      state.variance(x_tilde, state.sampling->fresh[Sampling::cautious].moments);
  if (!(variance > 0)) return Survival{.mean = margin >= 0 ? 1.0 : 0.0};
  if (cautious <= sandwich_holds * sandwich_holds * variance)
    return Survival{.mean = normal_cdf(margin / std::sqrt(variance))};
  if (state.rows == nullptr) return std::nullopt;
  std::call_once(state.has_refits,
                 [&] { state.refits = warm_refits(*state.model, *state.rows, refit_count); });
  const Vector real = state.refits.heads.transpose() * x_tilde;
  const Vector twin = state.refits.twins.transpose() * x_tilde;
  const double twin_deviation = (twin.array() - twin.mean()).matrix().norm();
  if (!(twin_deviation > 0)) return std::nullopt;
  const RefitCorrection refits{
      .shift = real.mean() - twin.mean(),
      .scale = (real.array() - real.mean()).matrix().norm() / twin_deviation};
  const double deviation = std::sqrt(variance) * refits.scale;
  const double left = margin + refits.shift;
  return Survival{.mean = deviation > 0 ? normal_cdf(left / deviation)
                          : left >= 0   ? 1.0
                                        : 0.0,
                  .refits = refits};
}

std::optional<Survival> RetrainedHead::fresh(VectorArg x_tilde, double margin,
                                             const SelectionShifts& shifts, Index rows) const {
  const Sampling& sampling = *state_->sampling;
  if (sampling.fresh[Sampling::middle].regression > 1) return std::nullopt;
  const double ratio = state_->count / static_cast<double>(rows);
  std::array<double, Sampling::estimates> scores = {};  // in standard deviations of θ̂'s own error
  for (const Sampling::Estimate k : {Sampling::bold, Sampling::middle, Sampling::cautious}) {
    const double deviation = this->deviation(x_tilde, k);
    const double left = margin - shifts[k];
    constexpr double certain = 40;  // Φ is 1 there
    scores[k] = std::clamp(deviation > 0 ? left / deviation
                           : left >= 0   ? certain
                                         : -certain,
                           -certain, certain);
  }
  const auto survival = [&](Sampling::Estimate k) {
    return normal_cdf(scores[k] / std::sqrt(1 + ratio));
  };
  const double one = survival(Sampling::bold);
  const double other = survival(Sampling::cautious);
  const double z = scores[Sampling::middle];
  return Survival{
      .mean = survival(Sampling::middle),
      .shift = shifts[Sampling::middle],
      .interval = Interval{.low = std::max(std::min(one, other) - interval_allowance, 0.0),
                           .high = std::min(std::max(one, other) + interval_allowance, 1.0)},
      .spread = Interval{.low = normal_cdf((z - nine_of_ten) / std::sqrt(ratio)),
                         .high = normal_cdf((z + nine_of_ten) / std::sqrt(ratio))}};
}

SelectionShifts RetrainedHead::person_shift(double logit) const {
  SelectionShifts shifts = {};
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    shifts[k] = state_->sampling->fresh[k].regression * (logit - state_->sampling->mean_logit);
  }
  return shifts;
}

const Matrix& RetrainedHead::inverse_hessian() const {
  State& state = *state_;
  std::call_once(state.has_inverse, [&] {
    const Index size = state.factor.size();
    state.inverse.resize(size, size);
    for (Index j = 0; j < size; ++j)
      state.inverse.col(j) = state.factor.solve(Vector::Unit(size, j));
  });
  return state.inverse;
}

const Matrix& RetrainedHead::covariance(Sampling::Estimate estimate) const {
  State& state = *state_;
  const Matrix& inverse = inverse_hessian();
  std::call_once(state.has_covariance[estimate], [&] {
    state.covariance[estimate] =
        inverse * state.sampling->fresh[estimate].moments * inverse.transpose() / state.count;
  });
  return state.covariance[estimate];
}

const RetrainedHead::Draws& RetrainedHead::draws() const {
  State& state = *state_;
  const Matrix& inverse = inverse_hessian();
  std::call_once(state.has_draws, [&] {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
        state.sampling->fresh[Sampling::middle].moments);
    // Directions without rows have no error; what is below is rounding.
    const double least = 1e-12 * eigen.eigenvalues().cwiseAbs().maxCoeff();
    Vector roots = eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt();
    Vector inverse_roots = Vector::Zero(roots.size());
    for (Index i = 0; i < roots.size(); ++i) {
      if (eigen.eigenvalues()(i) > least) inverse_roots(i) = 1 / roots(i);
    }
    const double scale = 1 / std::sqrt(state.count);
    state.draws.factor = scale * (inverse * eigen.eigenvectors() * roots.asDiagonal());
    for (std::size_t k = 0; k < Sampling::estimates; ++k) {
      state.draws.twins[k] = scale * (inverse * state.sampling->fresh[k].moments *
                                      eigen.eigenvectors() * inverse_roots.asDiagonal());
    }
  });
  return state.draws;
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

#include "head_objective.hpp"

#include "ellice/core/error.hpp"
#include "ellice/model/network.hpp"
#include "ellice/solver/cholesky.hpp"

namespace ellice {

namespace {

std::variant<Objective, SoftmaxObjective> make_objective(const RowMatrix& features,
                                                         const std::vector<int>& labels,
                                                         LossKind kind, Index outputs,
                                                         Penalty penalty, int threads) {
  if (kind == LossKind::softmax) {
    return SoftmaxObjective(features, labels, outputs, penalty, threads);
  }
  return Objective(features, labels, kind, penalty, threads);
}

[[noreturn]] void fail_without_minimiser(const std::string& source, Index outputs, bool complete) {
  fail(ErrorCode::input,
       "{}: the {}classes {} by {} and l2 = 0, so that the loss has no minimiser: "
       "parameters grow without end. Use --l2 with a number > 0, e.g. --l2 0.001",
       source, outputs == 1 ? "two " : "", complete ? "are separated" : "are separated up to ties",
       outputs == 1 ? "a plane" : "planes");
}

}  // namespace

HeadObjective::HeadObjective(const RowMatrix& features, const std::vector<int>& labels,
                             LossKind kind, Index outputs, Penalty penalty, int threads)
    : features_(&features),
      labels_(&labels),
      kind_(kind),
      outputs_(outputs),
      l2_(penalty.l2),
      objective_(make_objective(features, labels, kind, outputs, penalty, threads)) {}

Index HeadObjective::parameters() const {
  return std::visit([](const auto& objective) { return objective.parameters(); }, objective_);
}

double HeadObjective::loss(VectorArg theta) const {
  return std::visit([&](const auto& objective) { return objective.loss(theta); }, objective_);
}

double HeadObjective::value(VectorArg theta) const {
  return std::visit([&](const auto& objective) { return objective.value(theta); }, objective_);
}

double HeadObjective::derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const {
  return std::visit(
      [&](const auto& objective) { return objective.derivatives(theta, gradient, hessian); },
      objective_);
}

Matrix HeadObjective::hessian(VectorArg theta) const {
  return with_gauge(
      std::visit([&](const auto& objective) { return objective.hessian(theta); }, objective_),
      outputs_);
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
  NewtonResult newton =
      minimize_newton({.value = [&](VectorArg theta) { return value(theta); },
                       .derivatives =
                           [&](VectorArg theta, Vector& gradient, Matrix& hessian) {
                             const double result = derivatives(theta, gradient, hessian);
                             hessian = with_gauge(std::move(hessian), outputs_);
                             return result;
                           }},
                      Vector::Zero(parameters()), options);
  const bool converged = newton.status == NewtonStatus::converged;
  const bool is_flat = newton.gradient_norm <= options.gradient_tolerance;

  // Without a penalty the loss of separable classes decreases for ever along the separating
  // direction; one strictly separating θ proves it.
  if (l2_ == 0 && kind_ != LossKind::squared) {
    if (separates(newton.point)) fail_without_minimiser(source, outputs_, true);
    // Separable up to ties: the curvature along the separating direction dies out on the way from
    // 0, and Newton's steps along it do not.
    const Index full_rank = spectrum(hessian(Vector::Zero(parameters()))).rank;
    if ((is_flat && !converged) || spectrum(hessian(newton.point)).rank < full_rank) {
      fail_without_minimiser(source, outputs_, false);
    }
  }
  if (!converged) {
    fail(ErrorCode::internal,
         "{}: training stopped after {} Newton steps with a gradient of {:.3g}, {}; raise {}--l2, "
         "which is {}",
         source, newton.iterations, newton.gradient_norm,
         is_flat ? std::string("but its parameters still grow")
                 : fmt::format("above the tolerance of {:.3g}", options.gradient_tolerance),
         is_flat ? "" : "--max-iterations or --gradient-tolerance, or ", l2_);
  }
  return newton;
}

}  // namespace ellice

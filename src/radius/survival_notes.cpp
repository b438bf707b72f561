#include "radius/survival_notes.hpp"

#include <fmt/format.h>

#include "model/sampling_moments.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

constexpr double many_parameters = 0.1;
// Squared residuals in units of what coin flips with the fitted probabilities would have.
constexpr double separable = 0.5;

/// tr(H⁻¹B₀)/tr(H⁻¹(H − P)): 1 for labels that are drawn with the model's own probabilities.
double residual_share(const Model& model, const Sampling& sampling) {
  const CholeskyFactor factor(model.curvature.hessian);
  const Index size = model.curvature.hessian.rows();
  const Vector penalty = penalty_of(model.training).diagonal(size - 1);
  double found = 0;
  double expected = 0;
  for (Index j = 0; j < size; ++j) {
    const Vector column = factor.solve(Vector::Unit(size, j));  // of H⁻¹
    found += column.dot(sampling.drawn_again.col(j));
    expected += 1 - column(j) * (model.curvature.shift + penalty(j));
  }
  return expected > 0 ? found / expected : 1;
}

}  // namespace

std::vector<std::string> survival_notes(const Problem& problem) {
  const Model& model = *problem.model;
  if (!problem.retraining.fresh_rows || !no_survival_reason(problem).empty()) return {};
  std::vector<std::string> notes;
  const auto parameters = static_cast<double>(model.curvature.hessian.rows());
  const auto rows = static_cast<double>(model.training.rows);
  if (parameters > many_parameters * rows) {
    notes.push_back(fmt::format(
        "{} parameters for {} rows: the survival under fresh rows is known as an interval "
        "(survival_interval), whose lower end is the one to promise; `ellice epsilon --check` "
        "measures it",
        parameters, rows));
  }
  const StoredRows* at_hand = problem.fitted != nullptr ? problem.fitted
                              : model.rows              ? &*model.rows
                                                        : nullptr;
  const Sampling sampling =
      model.curvature.sampling ? *model.curvature.sampling : sampling_of(model, labelled(*at_hand));
  if (model.training.loss_kind == LossKind::logistic &&
      residual_share(model, sampling) < separable) {
    notes.emplace_back(
        "the training rows are nearly separable: few of them decide where the border lies, so that "
        "fresh rows may put it elsewhere, and the survival is known as an interval "
        "(survival_interval); `ellice epsilon --check` measures it");
  }
  return notes;
}

}  // namespace ellice

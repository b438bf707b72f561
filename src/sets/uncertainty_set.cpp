#include "sets/uncertainty_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "sets/full_set.hpp"

namespace ellice {

double RobustFunction::robust_logit(double kappa, VectorArg x) {
  double smallest = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < parts(); ++k) smallest = std::min(smallest, value(k, x).robust(kappa));
  return smallest;
}

RobustScore RobustFunction::robust_gradient(Index part, double kappa, VectorArg x,
                                            Vector& gradient) {
  Vector spread_gradient;
  const RobustScore score = this->gradient(part, x, gradient, spread_gradient);
  gradient -= kappa * spread_gradient;
  return score;
}

double RobustFunction::radius(Index part, VectorArg x, double threshold) {
  const RobustScore score = value(part, x);
  const double margin = score.logit - threshold;
  if (!(margin > 0)) return 0;
  const double kappa = margin / score.spread;
  return kappa * kappa / 2;
}

double RobustFunction::radius(VectorArg x, double threshold) {
  double smallest = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < parts(); ++k) smallest = std::min(smallest, radius(k, x, threshold));
  return smallest;
}

std::unique_ptr<UncertaintySet> make_set(const Model& model, const SetChoice& choice,
                                         double epsilon) {
  validate(choice, model);
  if (choice.kind == SetKind::full) {
    const GaussNewton& curvature = *model.curvature.full;
    return make_full_set(model.network, curvature, choice.damping.value_or(curvature.damping));
  }
  if (choice.kind == SetKind::isotropic) return make_full_set(model.network, {}, 1);
  return make_set(Question(model, choice, epsilon, 0));
}

Vector robust_logits(const UncertaintySet& set, double epsilon, RowMatrixArg rows,
                     const Execution& execution) {
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
  constexpr Index block_rows = 64;
  const double kappa = std::sqrt(2 * epsilon);
  Vector result(rows.rows());
  const auto blocks = static_cast<std::size_t>((rows.rows() + block_rows - 1) / block_rows);
  parallel_for("robust logits", blocks, execution, [&](std::size_t block) {
    const std::unique_ptr<RobustFunction> function = set.function();
    const Index first = static_cast<Index>(block) * block_rows;
    const Index last = std::min(first + block_rows, rows.rows());
    for (Index i = first; i < last; ++i) {
      result(i) = function->robust_logit(kappa, rows.row(i).transpose());
    }
  });
  return result;
}

}  // namespace ellice

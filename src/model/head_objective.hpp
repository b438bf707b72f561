#pragma once

#include <variant>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/objective.hpp"
#include "ellice/model/softmax_objective.hpp"
#include "ellice/solver/newton.hpp"

namespace ellice {

/// The objective of a head on fixed features, with one output or with one per class, as training
/// sees it.
class HeadObjective {
 public:
  /// Keeps references to both.
  HeadObjective(const RowMatrix& features, const std::vector<int>& labels, LossKind kind,
                Index outputs, Penalty penalty, int threads = 1);

  [[nodiscard]] double loss(VectorArg theta) const;
  /// The minimiser. Throws Error{input} when the classes can be separated and l2 = 0, as there is
  /// none, Error{internal} when Newton stops short of its tolerance. `source` names the data.
  [[nodiscard]] NewtonResult minimize(const NewtonOptions& options,
                                      const std::string& source) const;
  /// Loss, gradient and Hessian, the latter without the gauge term.
  double derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const;

 private:
  [[nodiscard]] Index parameters() const;
  [[nodiscard]] double value(VectorArg theta) const;
  [[nodiscard]] Matrix hessian(VectorArg theta) const;  // with the gauge term
  /// Every row gets its own class, strictly.
  [[nodiscard]] bool separates(VectorArg theta) const;

  const RowMatrix* features_;
  const std::vector<int>* labels_;
  LossKind kind_;
  Index outputs_;
  double l2_;
  std::variant<Objective, SoftmaxObjective> objective_;
};

}  // namespace ellice

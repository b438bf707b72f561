#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/rashomon/certificate.hpp"

namespace ellice {

class EliminatedHessian;

/// What an independent look at a certificate found.
struct Verification {
  double logit = 0;                        // recomputed
  double robust_logit = 0;                 // recomputed; of an ensemble the smallest
  std::vector<std::string> failures = {};  // empty: the certificate holds
  [[nodiscard]] bool holds() const { return failures.empty(); }
};

/// Re-checks certificates of one model from the model file and the point alone. No computation here
/// is shared with the code that issues them (only the wording of the claim is): the point is
/// encoded again from the schema and goes through the hidden layers in loops of its own. For
/// last-layer sets H is factored by Gaussian elimination with full pivoting in extended precision
/// instead of Cholesky in double, and the worst model is additionally proved to be the worst by its
/// optimality conditions, which need no factor at all (theory.md, Proposition 3). For first-order
/// sets the worst parameters are formed one by one and the real network is evaluated there. The
/// models must outlive the verifier.
class Verifier {
 public:
  /// The members are the other models of ensembles; any order.
  explicit Verifier(const Model& model, std::vector<const Model*> members = {});

  /// Recomputes everything: each stored number must agree to 1e-9 relative, and g ≥ t. Throws
  /// Error{argument} when the certificate is not one of this model, or is one of an ensemble whose
  /// models are not all given.
  [[nodiscard]] Verification verify(const Certificate& certificate) const;

 private:
  const Model* model_;
  std::vector<const Model*> members_;
  std::shared_ptr<const EliminatedHessian> eliminated_;  // the model's own H, most often wanted
};

}  // namespace ellice

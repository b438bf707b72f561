#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ellice/certificate/certificate.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

class EliminatedHessian;
class PlainObjective;

namespace verification {
struct Recomputed;
struct Stated;
}  // namespace verification

/// What an independent look at a certificate found.
struct Verification {
  double logit = 0;                        // recomputed
  double robust_logit = 0;                 // recomputed; of an ensemble the smallest
  std::vector<std::string> failures = {};  // empty: the certificate holds
  /// True set: a model of it that rejects the row, where one was found.
  std::optional<Vector> breaking_model = {};
  [[nodiscard]] bool holds() const { return failures.empty(); }
};

/// Re-checks certificates of one model from the model file and the point alone. No computation here
/// is shared with the code that issues them (only the wording of the claim is): the point is
/// encoded again from the schema and goes through the hidden layers in loops of its own. For
/// last-layer sets H is factored by Gaussian elimination with full pivoting in extended precision
/// instead of Cholesky in double, and the worst model is additionally proved to be the worst by its
/// optimality conditions, which need no factor at all (theory.md, Proposition 5). For first-order
/// sets the worst parameters are formed one by one and the real network is evaluated there. For the
/// true set the objective is summed up row by row in extended precision, and the bound is proved
/// again from the stored worst model alone (theory.md, Result 28). The models must outlive the
/// verifier.
class Verifier {
 public:
  /// The members are the other models of ensembles; any order.
  /// `rows`: the training rows, for the true set, where the model file holds none; they must
  /// outlive the verifier. Throws Error{input} where they are not those of the model: then its
  /// curvature is not the one that its loss has on them.
  explicit Verifier(const Model& model, std::vector<const Model*> members = {},
                    const StoredRows* rows = nullptr);

  /// Recomputes everything: each stored number must agree to 1e-9 relative, and g ≥ t. Throws
  /// Error{argument} when the certificate is not one of this model, or is one of an ensemble whose
  /// models are not all given, or of the true set without rows.
  [[nodiscard]] Verification verify(const Certificate& certificate) const;

 private:
  /// The set that it speaks of. Throws as verify() does.
  [[nodiscard]] SetChoice choice_of(const Certificate& certificate) const;
  /// The scores of the row `z`, by the set's own means.
  [[nodiscard]] verification::Recomputed check_scores(const Certificate& certificate,
                                                      const SetChoice& choice, const Vector& z,
                                                      const verification::Stated& stated,
                                                      Verification& result) const;

  const Model* model_;
  std::vector<const Model*> members_;
  const StoredRows* rows_;
  std::shared_ptr<const EliminatedHessian> eliminated_;  // the model's own H, most often wanted
  std::shared_ptr<const PlainObjective> objective_;      // where there are rows
};

}  // namespace ellice

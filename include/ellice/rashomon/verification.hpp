#pragma once

#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/rashomon/certificate.hpp"

namespace ellice {

/// What an independent look at a certificate found.
struct Verification {
  double logit = 0;                        // recomputed
  double robust_logit = 0;                 // recomputed
  std::vector<std::string> failures = {};  // empty: the certificate holds
  [[nodiscard]] bool holds() const { return failures.empty(); }
};

/// Re-checks certificates of one model from the model file and the point alone. No computation here
/// is shared with the code that issues them (only the wording of the claim is): the point is
/// encoded again from the schema, H is factored by Gaussian elimination with full pivoting in
/// extended precision instead of Cholesky in double, and the worst model is additionally proved to
/// be the worst by its optimality conditions, which need no factor at all (theory.md, Proposition
/// 3). The model must outlive the verifier.
class Verifier {
 public:
  explicit Verifier(const Model& model);

  /// Recomputes everything: each stored number must agree to 1e-9 relative, and g ≥ t. Throws
  /// Error{argument} when the certificate is not one of this model.
  [[nodiscard]] Verification verify(const Certificate& certificate) const;

 private:
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

  [[nodiscard]] Vector encode(const RawRow& point) const;
  [[nodiscard]] LongVector eliminate(const LongVector& b) const;  // with the factors alone
  [[nodiscard]] LongVector solve(const LongVector& b) const;      // refined by residuals

  const Model* model_;
  LongVector theta_;
  LongMatrix hessian_;
  LongMatrix lu_;  // of the row- and column-permuted H
  std::vector<Index> row_order_;
  std::vector<Index> column_order_;
};

}  // namespace ellice

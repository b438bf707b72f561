#pragma once

// The only claim that a counterfactual makes. Issued here from the ellipsoid's factor, checked in
// verification.hpp by computations that share nothing with it.

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/model.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/rashomon/uncertainty_set.hpp"

namespace ellice {

/// What an ensemble's certificate says of one of the other models.
struct MemberCertificate {
  std::string model_sha256 = {};
  double logit = 0;
  double robust_logit = 0;
  Vector worst_model = {};
};

struct Certificate {
  std::string model_sha256 = {};
  SetKind set = SetKind::last_layer;
  double epsilon = 0;
  double threshold = 0;
  RawRow point = {};        // original units
  Vector encoded = {};      // model space
  double logit = 0;         // of the base model
  double robust_logit = 0;  // of the worst model of the set
  /// λ of the set: always for full, otherwise only where it is not the model's own l2.
  std::optional<double> damping = {};
  /// last-layer and ensemble: head parameters [w; b] that attain robust_logit (that of the model
  /// itself, for an ensemble).
  Vector worst_model = {};
  /// full and isotropic: the logit that the real network gives at the parameters that are worst for
  /// its linearisation; robust_logit is what the linearisation predicts there.
  std::optional<double> real_logit = {};
  std::vector<MemberCertificate> members = {};  // ensemble: the other models
  std::string claim = {};                       // what is proved and what is not
};

/// Issues certificates for one model, which must outlive it, ε and threshold; factors H once.
class Certifier {
 public:
  Certifier(const Model& model, double epsilon, double threshold);

  /// A certificate for this row, or nothing when its robust logit g does not reach the threshold:
  /// g ≥ t + 1e-12·(Σ|θᵢx̃ᵢ| + penalty + |t|), a margin above the rounding of g itself, so that a
  /// checker with other rounding agrees. The row is certified as it is written: values are written
  /// so that they read back identically. Numbers are correct to the last digits for any condition
  /// of H (one solve, refined by residuals of twice the precision).
  [[nodiscard]] std::optional<Certificate> certify(const RawRow& point) const;

 private:
  const Model* model_;
  RashomonEllipsoid set_;
  double threshold_;
  std::string claim_;  // the same for every point
};

/// The sentence that goes with a set, an ε and a threshold for this model.
[[nodiscard]] std::string claim_text(const Model& model, SetKind set, double epsilon,
                                     double threshold);

[[nodiscard]] Json to_json(const Certificate& certificate, const Schema& schema);

/// Checks form, not truth; that is what verify() is for. A certificate for another model is an
/// error.
[[nodiscard]] Certificate certificate_from_json(const Json& value, const Model& model,
                                                const std::string& source,
                                                const std::string& path = {});

}  // namespace ellice

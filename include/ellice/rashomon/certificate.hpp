#pragma once

// The only claim that a counterfactual makes. Issued here from the ellipsoid's factor, checked in
// verification.hpp by computations that share nothing with it.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/model.hpp"
#include "ellice/rashomon/ellipsoid.hpp"

namespace ellice {

/// For which models an answer is robust.
enum class SetKind {
  last_layer,  // the ellipsoid over the head's parameters
};
template <>
struct EnumNames<SetKind> {
  static constexpr std::array<std::string_view, 1> names = {"last-layer"};
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
  Vector worst_model = {};  // head parameters [w; b] that attain it
  std::string claim = {};   // what is proved and what is not
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

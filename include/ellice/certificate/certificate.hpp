#pragma once

// The only claim that a counterfactual makes. Issued by a Certifier from the ellipsoid's factor,
// checked in verification.hpp by computations that share nothing with it.

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// What an ensemble's certificate says of one of the other models.
struct MemberCertificate {
  std::string model_sha256 = {};
  double logit = 0;
  double robust_logit = 0;
  Vector worst_model = {};
};

/// What the certificate of a model with many classes says of one that must not win.
struct RivalCertificate {
  std::string name = {};    // of the class
  double logit = 0;         // the winner's score minus the rival's
  double robust_logit = 0;  // its smallest value over the set
  Vector worst_model = {};  // a model of the set that attains it: the parameters of all classes
};

struct Certificate {
  std::string model_sha256 = {};
  SetKind set = SetKind::last_layer;
  double epsilon = 0;
  double threshold = 0;
  RawRow point = {};    // original units
  Vector encoded = {};  // model space
  double logit = 0;     // of the base model; with many classes the smallest of its margins
  /// Of the worst model of the set; for the true set a proved lower bound of it.
  double robust_logit = 0;
  /// Many classes: the one that wins, by a margin of at least `threshold`.
  std::string target = {};
  std::vector<std::string> acceptable = {};   // and those beside which it may be, if any
  std::vector<RivalCertificate> rivals = {};  // all others
  /// λ of the set: always for full, otherwise only where it is not the model's own l2.
  std::optional<double> damping = {};
  /// last-layer and ensemble: head parameters [w; b] that attain robust_logit (that of the model
  /// itself, for an ensemble). true: a model of the set whose score is robust_logit, up to
  /// rounding.
  Vector worst_model = {};
  /// full and isotropic: the logit that the real network gives at the parameters that are worst for
  /// its linearisation; robust_logit is what the linearisation predicts there.
  std::optional<double> real_logit = {};
  std::vector<MemberCertificate> members = {};  // ensemble: the other models
  std::string claim = {};                       // what is proved and what is not
};

/// A point's numbers, whether or not they suffice for a certificate.
struct Evaluation {
  double logit = 0;                       // of the base model
  double robust_logit = 0;                // for an ensemble the smallest of its models
  std::optional<double> real_logit = {};  // as in Certificate
};

/// The sentences that go with a set, an ε and a threshold for this model: what is proved and what
/// is not. Says of the true set alone that it is all the near-optimal heads.
[[nodiscard]] std::string claim_text(const Model& model, const SetChoice& choice, double epsilon,
                                     double threshold);

/// The choice with its damping as certificates state it: always for the full set, otherwise only
/// where it differs from a model's own l2.
[[nodiscard]] SetChoice with_stated_damping(const SetChoice& choice, const Model& model);

[[nodiscard]] Json to_json(const Certificate& certificate, const Schema& schema);

/// Checks form, not truth; that is what verify() is for. A certificate for another model is an
/// error.
[[nodiscard]] Certificate certificate_from_json(const Json& value, const Model& model,
                                                const std::string& source,
                                                const std::string& path = {});

}  // namespace ellice

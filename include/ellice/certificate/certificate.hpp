#pragma once

// The only claim that a counterfactual makes. Issued here from the ellipsoid's factor, checked in
// verification.hpp by computations that share nothing with it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

class Question;
struct WorstHead;

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

/// Issues certificates for one model, which must outlive it, a set of models around it, ε and
/// threshold; factors H once.
class Certifier {
 public:
  /// Of the last-layer set.
  Certifier(const Model& model, double epsilon, double threshold);
  /// Throws like validate().
  Certifier(const Model& model, const SetChoice& choice, double epsilon, double threshold);

  /// A certificate for this row, or nothing when its robust logit g does not reach the threshold:
  /// g ≥ t + 1e-12·(Σ|θᵢh̃ᵢ| + penalty + |t|), a margin above the rounding of g itself, so that a
  /// checker with other rounding agrees. In the first-order sets the real network's logit must
  /// reach it as well, and no unit may sit on its kink, where g jumps; in an ensemble each model's
  /// g must. The row is certified as it is written: values are written so that they read back
  /// identically. Numbers are correct to the last digits for any condition of H (one solve, refined
  /// by residuals of twice the precision).
  /// For the true set g is the proved lower bound, and the worst head at a point nearby saves most
  /// of the work where the question has one part.
  [[nodiscard]] std::optional<Certificate> certify(const RawRow& point,
                                                   const WorstHead* nearby = nullptr) const;

  /// The numbers that certify() would judge.
  [[nodiscard]] Evaluation evaluate(const RawRow& point) const;

  /// What is asked of points; none for first-order sets.
  [[nodiscard]] const Question* question() const { return question_.get(); }

 private:
  /// A certificate of which the numbers are missing.
  [[nodiscard]] Certificate blank(const RawRow& point) const;
  [[nodiscard]] std::optional<Certificate> certify_parts(const RawRow& point,
                                                         const WorstHead* nearby) const;
  [[nodiscard]] std::optional<Certificate> certify_first_order(const RawRow& point) const;
  [[nodiscard]] bool reaches(long double logit, long double scale) const;

  const Model* model_;
  SetChoice choice_;                          // damping as certificates state it
  std::shared_ptr<const Question> question_;  // none for first-order sets
  double epsilon_;
  double threshold_;
  std::string claim_;  // the same for every point
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

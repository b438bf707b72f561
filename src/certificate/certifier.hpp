#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ellice/certificate/certificate.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

class Question;
struct WorstHead;

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
  /// The same, of a row that is encoded already.
  [[nodiscard]] std::optional<Certificate> certify(const RawRow& point, const Vector& encoded,
                                                   const WorstHead* nearby = nullptr) const;

  /// The numbers that certify() would judge.
  [[nodiscard]] Evaluation evaluate(const RawRow& point) const;

  /// What is asked of points; none for first-order sets.
  [[nodiscard]] const Question* question() const { return question_.get(); }

 private:
  /// A certificate of which the numbers are missing.
  [[nodiscard]] Certificate blank(const RawRow& point, const Vector& encoded) const;
  [[nodiscard]] std::optional<Certificate> certify_parts(const RawRow& point, const Vector& encoded,
                                                         const WorstHead* nearby) const;
  [[nodiscard]] std::optional<Certificate> certify_first_order(const RawRow& point,
                                                               const Vector& encoded) const;
  /// Whether the parameters of a model that decide elsewhere reach a threshold, whatever their
  /// arithmetic (docs/theory.md, Result 57).
  [[nodiscard]] static bool accepts_deployed(const Model& model, const Vector& encoded,
                                             double threshold);
  [[nodiscard]] bool reaches(long double logit, long double scale) const {
    return reaches(logit, scale, threshold_);
  }
  [[nodiscard]] static bool reaches(long double logit, long double scale, long double threshold);

  const Model* model_;
  SetChoice choice_;                          // damping as certificates state it
  std::shared_ptr<const Question> question_;  // none for first-order sets
  double epsilon_;
  double threshold_;
  std::string claim_;  // the same for every point
};

}  // namespace ellice

#pragma once

// Models of the true set that are nearly worst at a point, in a few passes over the rows.

#include <optional>

#include "audit/audit_true_set.hpp"

namespace ellice::audit {

class NearlyWorst {
 public:
  /// Around a model that is worst somewhere; `lift` as that of a Cone. The set must outlive it, and
  /// have no corners.
  NearlyWorst(const TrueModels& models, LongVector around, LongMatrix lift, double epsilon);

  /// θ over x̃ of a model that belongs to the set (theory.md, Result 31): its objective says so,
  /// however it was found. Nothing where none was found.
  [[nodiscard]] std::optional<LongVector> at(const LongVector& x_tilde) const;

 private:
  /// A model and the objective there.
  struct Seen {
    LongVector model = {};
    PlainObjective::Value value = {};
  };
  [[nodiscard]] Seen see(LongVector model) const;
  /// The worst model of the quadratic with the objective's value and slope there.
  [[nodiscard]] LongVector worst_of_picture(const Seen& seen, const LongVector& c) const;

  const TrueModels* models_;
  LongMatrix lift_;
  long double level_;   // of the objective, just below what the set admits
  LongMatrix inverse_;  // of its curvature around the model
  Seen around_;
};

}  // namespace ellice::audit

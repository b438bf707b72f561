#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/head_set.hpp"

namespace ellice {

/// A linear functional aᵀθ of the heads of a set, which a row decides: the score of one output,
/// a = h̃(x), or the lead of a class over a rival, a = (e_w − e_r) ⊗ h̃(x) (theory.md, Result 38).
struct Part {
  const Model* model = nullptr;             // whose encoder and hidden layers see the row
  std::shared_ptr<const HeadSet> set = {};  // of heads of all outputs
  Index winner = 0;
  std::optional<Index> rival = {};
  /// The set's second-order picture as a set of the functional's own coefficients θ_w − θ_r, of the
  /// size of h̃; what the set itself amounts to, where it is an ellipsoid.
  std::shared_ptr<const Ellipsoid> picture = {};
  /// The way from the first model's space to that of `model`, x ↦ stretch∘x + offset; empty where
  /// they are the same.
  Vector stretch = {};
  Vector offset = {};

  /// A point of the first model's space in that of `model`.
  [[nodiscard]] Vector moved(VectorArg x) const;
  /// h̃ of a point of the first model's space.
  [[nodiscard]] Vector features(VectorArg x) const;
  /// a for the features h̃.
  [[nodiscard]] Vector direction(VectorArg features) const;
  [[nodiscard]] LongVector direction_extended(const LongVector& features) const;
  /// Of a linear model: the picture over the columns of the first model's space.
  [[nodiscard]] Ellipsoid linear_picture() const;
  /// A head's coefficients of the functional: θ itself, or θ_w − θ_r.
  [[nodiscard]] Vector coefficients(VectorArg head) const;
  /// HeadSet::radius of the functional at the features h̃.
  [[nodiscard]] double radius(VectorArg features, double threshold,
                              const Vector* nearby = nullptr) const;
};

/// What is asked of every row: that each part's functional is at least the threshold for every head
/// of its set. One logit has one part, a class one per rival, an ensemble one per model; who asks
/// need not know which.
class Question {
 public:
  /// Of a choice that is no first-order set. The models and rows must outlive it. Throws like
  /// validate(), and like TrueSet.
  Question(const Model& model, const SetChoice& choice, double epsilon, double threshold);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const Part& front() const { return parts_.front(); }
  [[nodiscard]] double epsilon() const { return parts_.front().set->epsilon(); }
  [[nodiscard]] double threshold() const { return threshold_; }
  /// Whether the worst score of every part is that of an ellipsoid: a cone, for a linear model.
  [[nodiscard]] bool is_conic() const { return parts_.front().set->is_ellipsoid(); }
  /// Whether what is asked is about one functional of one set.
  [[nodiscard]] bool is_single() const { return parts_.size() == 1; }
  [[nodiscard]] Question with_epsilon(double epsilon) const;

 private:
  std::vector<Part> parts_;
  double threshold_;
};

/// Whether all models of a choice are without hidden layers: the functionals are then linear in the
/// row as well.
[[nodiscard]] bool is_linear(const Model& model, const SetChoice& choice);

}  // namespace ellice

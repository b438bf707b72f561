#pragma once

#include <string>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/recourse/recourse.hpp"

namespace ellice {

/// How the models judge one row.
struct Standing {
  double logit = 0;    // of the base model
  double penalty = 0;  // √(2ε·x̃ᵀH⁻¹x̃)
  [[nodiscard]] double robust_logit() const { return logit - penalty; }
};

/// How much of a move Δx̃ lies along the leading eigenvectors of H, the directions in which
/// near-optimal models agree most: shares of ‖Δx̃‖².
struct Alignment {
  double top_one = 0;
  double top_three = 0;
};

/// Says how a model and its set judge the rows of answers; prepared once for a batch.
class Appraiser {
 public:
  /// The model must outlive the appraiser. Throws Error{argument} unless 0 ≤ ε < ∞.
  Appraiser(const Model& model, double epsilon, double threshold);

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const Schema& schema() const { return model_->schema(); }
  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] double threshold() const { return threshold_; }

  /// The ε that an answer is about: its certificate's, else the one that was asked for.
  [[nodiscard]] double epsilon_of(const Recourse& answer) const;
  /// The query's standing. The answer must have a query.
  [[nodiscard]] Standing before(const Recourse& answer) const;
  /// The counterfactual's standing, from the numbers that the answer carries.
  [[nodiscard]] Standing after(const Recourse& answer) const;

  /// What a logit is called and how it is shown: as a probability for the logistic loss, which
  /// models one, as it is for others.
  [[nodiscard]] bool has_probabilities() const;
  [[nodiscard]] std::string scale_name() const;
  [[nodiscard]] std::string display_score(double logit) const;

 private:
  const Model* model_;
  double epsilon_;
  double threshold_;
  RashomonEllipsoid unit_set_;  // of ε = ½, whose penalty is √(x̃ᵀH⁻¹x̃)
};

/// Eigenvectors of H, found once for a batch.
class AlignmentMeter {
 public:
  explicit AlignmentMeter(const Model& model);
  /// Nothing moved: nothing to share out, both 0.
  [[nodiscard]] Alignment of(const RawRow& from, const RawRow& to) const;
  /// What a direction picked at random has along k eigenvectors, on average: k / parameters.
  [[nodiscard]] double by_chance(int k) const;

 private:
  const Encoder* encoder_;
  Matrix leading_;  // parameters × up to 3, by falling eigenvalue
};

}  // namespace ellice

#pragma once

#include <memory>
#include <vector>

#include "request/problem.hpp"
#include "sets/question.hpp"
#include "solver/box_projection.hpp"
#include "solver/cone_intersection.hpp"
#include "solver/robust_oracle.hpp"

namespace ellice {

/// The question of a problem whose models are linear, so that its functionals are linear in the
/// row, too: concave functions of the first model's space, with a cone for each part that equals it
/// or is its second-order picture. Const; threads share it.
class LinearQuestion {
 public:
  /// Throws Error{argument} for networks and first-order sets, saying which method to use.
  explicit LinearQuestion(const Problem& problem);

  [[nodiscard]] const Question& question() const { return question_; }
  [[nodiscard]] double epsilon() const { return question_.epsilon(); }
  [[nodiscard]] double threshold() const { return question_.threshold(); }
  [[nodiscard]] bool is_single() const { return question_.is_single(); }
  [[nodiscard]] bool is_conic() const { return question_.is_conic(); }
  /// By part.
  [[nodiscard]] const std::vector<BoxFactor>& cones() const { return cones_; }
  /// The curvature of the first part's cone.
  [[nodiscard]] const Matrix& hessian() const { return hessian_; }

  /// By part: cones that say the same of rows and less of mixtures of levels; made when first asked
  /// for (theory.md, Result 69).
  [[nodiscard]] const std::vector<BoxFactor>& level_cones() const;

  /// What double precision may lose of the ellipsoids' extent x̃ᵀH⁻¹x̃, relatively (theory.md, Result
  /// 51); 0 where that is less than what answers are stated to.
  [[nodiscard]] double lost() const { return lost_; }
  /// ε less that: what is found to have no answer there has none at ε.
  [[nodiscard]] double sure_epsilon() const { return epsilon() * (1 - lost_); }
  /// The same at that ε.
  [[nodiscard]] LinearQuestion surely() const { return with_epsilon(sure_epsilon()); }

  /// For one thread; must not outlive this.
  [[nodiscard]] std::unique_ptr<RobustOracle> oracle() const;
  /// The same at another ε.
  [[nodiscard]] LinearQuestion with_epsilon(double epsilon) const;

  /// The smallest worst score of a point of model space, proved.
  [[nodiscard]] double robust_logit(VectorArg z) const;
  /// The largest ε at which a point is robust.
  [[nodiscard]] double radius(VectorArg z) const;

 private:
  Question question_;
  std::vector<BoxFactor> cones_;
  Matrix hessian_;
  double lost_ = 0;
  struct Levels;
  std::shared_ptr<Levels> levels_;  // of every ε
};

/// Why the exact search cannot take a problem; empty where it can.
[[nodiscard]] std::string why_not_exact(const Problem& problem);

/// What a box, the cones and a feasible set's rules leave; query and cost are the caller's.
[[nodiscard]] IntersectionProblem intersection(const LinearQuestion& question,
                                               const FeasibleSet& feasible, const Box& box);

}  // namespace ellice

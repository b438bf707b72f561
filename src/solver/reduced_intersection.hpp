#pragma once

// An intersection of cones in the coordinates that may move.

#include <vector>

#include "solver/box_cost.hpp"
#include "solver/cone_intersection.hpp"
#include "solver/robust_logit.hpp"
#include "solver/worst_model.hpp"

namespace ellice {

/// The problem without the coordinates that its box holds.
class ReducedIntersection {
 public:
  explicit ReducedIntersection(const IntersectionProblem& problem);
  ReducedIntersection(const ReducedIntersection&) = delete;
  ReducedIntersection& operator=(const ReducedIntersection&) = delete;

  [[nodiscard]] Index size() const { return static_cast<Index>(columns_.size()); }
  [[nodiscard]] const BoxCost& cost() const { return cost_; }
  [[nodiscard]] const std::vector<BoxFactor>& factors() const { return factors_; }
  [[nodiscard]] const std::vector<RobustLogit>& logits() const { return logits_; }
  [[nodiscard]] const std::vector<LinearRule>& rules() const { return rules_; }
  [[nodiscard]] double threshold(std::size_t k) const { return problem_->cones[k].threshold; }
  [[nodiscard]] double epsilon(std::size_t k) const { return problem_->cones[k].epsilon; }
  [[nodiscard]] double margin() const { return problem_->margin; }
  /// What the held coordinates cost.
  [[nodiscard]] double paid() const { return paid_; }
  [[nodiscard]] SeparableCost separable() const {
    return {.quadratic = cost_.d, .absolute = cost_.c};
  }

  [[nodiscard]] Vector full(const Vector& reduced) const;
  /// Weights whose models have the reduced columns only, made models of the whole ellipsoids.
  [[nodiscard]] ConeWeights full(const ConeWeights& reduced) const;

  [[nodiscard]] RobustLogit::State evaluate(std::size_t k, const Vector& x) const;
  [[nodiscard]] Vector worst_model(std::size_t k, const RobustLogit::State& state) const {
    return ellice::worst_model(logits_[k], state);
  }
  /// The value that a cone's g must have at a point.
  [[nodiscard]] double target(std::size_t k, const RobustLogit::State& state) const;
  /// The worst models at a point, with multipliers.
  [[nodiscard]] ConeWeights weights_at(const std::vector<RobustLogit::State>& states,
                                       const Vector& multipliers, const Vector& rules) const;
  [[nodiscard]] Vector combined(const ConeWeights& weights) const;
  [[nodiscard]] double maximum(const ConeWeights& weights) const;
  /// A lower bound on the cost, that of held coordinates left out.
  [[nodiscard]] double lower_bound(const ConeWeights& weights) const;
  [[nodiscard]] bool is_feasible(const Vector& x) const;

 private:
  const IntersectionProblem* problem_;
  std::vector<Index> columns_;
  Vector base_;
  double paid_ = 0;
  BoxCost cost_;
  std::vector<BoxFactor> factors_;
  std::vector<RobustLogit> logits_;
  std::vector<LinearRule> rules_;
};

}  // namespace ellice

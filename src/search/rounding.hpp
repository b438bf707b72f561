#pragma once

#include <optional>

#include "request/problem.hpp"

namespace ellice {

/// What rounding asks of a method, points in model space. One thread works with it.
class RoundingGuide {
 public:
  virtual ~RoundingGuide() = default;
  /// g − t less what a certificate asks for: robust where ≥ 0.
  [[nodiscard]] virtual double margin(VectorArg z) = 0;
  /// ∇g.
  [[nodiscard]] virtual Vector slope(VectorArg z) = 0;
  /// The nearest robust point of a part of the box, if one is found; `start` lies in it.
  [[nodiscard]] virtual std::optional<Vector> solve(const Box& part, VectorArg start) = 0;
  /// Whether margins are cheap enough to try pairs of steps.
  [[nodiscard]] virtual bool tries_exchanges() const { return true; }
};

/// Moves a robust point (model space) of `box` onto the grids of its feasible set, as cheaply as a
/// local search finds, and gives raw numbers that are robust with the given margin, or nothing.
/// Grid features are first rounded to the side on which the robust logit grows, then stepped back
/// towards the query while the point stays robust, in strides that fit the way that is left, so
/// that a grid may be as fine as it likes; features without a grid are solved again, within the
/// box, with the others at their grid values.
[[nodiscard]] std::optional<Vector> round_to_grid(const Problem& problem, RoundingGuide& guide,
                                                  const FeasibleSet& feasible, const Box& box,
                                                  VectorArg point);

}  // namespace ellice

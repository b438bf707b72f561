#pragma once

// What an answer claims about all other points: that none is much cheaper, and up to which ε there
// is one. Recomputed here by methods that share nothing with those that find answers.

#include <functional>
#include <optional>
#include <vector>

#include "ellice/certificate/certificate.hpp"
#include "ellice/request/cost.hpp"
#include "request/feasible_set.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

/// Σ qᵢ(xᵢ−x0ᵢ)² + cᵢ|xᵢ−x0ᵢ| on columns.
struct ColumnCost {
  Vector squares = {};    // q
  Vector absolutes = {};  // c; where q = 0, positive
};

/// The worst model of a convex set of models at x̃, or another model of the set.
using WorstModel = std::function<Vector(const Vector& x_tilde)>;

/// A lower bound on the cost of the points of the boxes with a robust logit of at least t, or on
/// `enough` if that is smaller: it stops as soon as the bound reaches it.
///
/// Any model θ of the set bounds the cost from below by that of the half-space θᵀx̃ ≥ t within the
/// box, which is a matter of one multiplier (theory.md, Result 6). `worst` is the first θ: that of
/// an optimal answer gives its own cost. Where it does not, θ moves towards the worst model at the
/// cheapest point of the half-space (Frank and Wolfe, 1956): on the segment between the two the
/// bound can only grow, and the set is convex.
[[nodiscard]] double cost_lower_bound(const WorstModel& worst_at, double threshold, VectorArg query,
                                      const std::vector<Box>& boxes, const ColumnCost& cost,
                                      VectorArg worst, double enough);

/// A changed feature that can go back to the query's value, or by a step of its grid, while at most
/// one other takes a step of its own, in a row that is allowed, certified and costs less than
/// `claimed`; nothing if there is none.
[[nodiscard]] std::optional<std::size_t> beaten_by_retreat(
    const Model& model, const Certifier& certifier, const Cost& cost, const FeasibleSet& feasible,
    const RawRow& counterfactual, double claimed);

/// A point of the box that is robust up to as large an ε as cyclic maximisation over its columns
/// finds (theory.md, Result 8: λ is quasi-concave, so that this ends at the maximum); infinite
/// bounds are cut at ±1e7.
[[nodiscard]] Vector most_robust_point(const Ellipsoid& set, double threshold, const Box& box);

/// max θᵀx̃ over the box.
[[nodiscard]] double maximum_over(const Box& box, const Vector& theta);

/// An ε of the set beyond which no point of the box is robust: `top` is the box's most robust point
/// and `attained` the set of the ε that it attains. Brought below the threshold everywhere, the
/// worst model there shows that no larger set than the one which then holds it has an answer.
[[nodiscard]] double admitted_epsilon(const Ellipsoid& set, const Ellipsoid& attained,
                                      double threshold, const Box& box, const Vector& top);

}  // namespace ellice

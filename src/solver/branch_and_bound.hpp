#pragma once

// The cheapest robust point when some coordinates are whole numbers, grid values or categories.

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "ellice/core/types.hpp"
#include "solver/box_projection.hpp"
#include "solver/cone_intersection.hpp"

namespace ellice {

class RobustOracle;

/// Columns of a group take these values together, at this price.
struct MixedOption {
  Vector values = {};
  double cost = 0;
};

/// Something that changes as a whole, or keeps the query's value, unless `stays` is false.
/// A number: one column, in [lower, upper], which need not contain the query's value; any number of
/// it, multiples offset + k·step, or listed values. It costs ½D·Δ² + c·|Δ|, and `charge` if it
/// changes. A group: `width` columns that take one of the options, for the option's cost.
struct MixedUnit {
  Index column = 0;
  Index width = 1;
  std::vector<MixedOption> options = {};  // of a group

  double lower = 0;
  double upper = 0;
  std::optional<double> step = {};
  double offset = 0;
  std::vector<double> values = {};  // sorted
  double quadratic = 0;  // D ≥ 0 and c ≥ 0, not both zero; D > 0 for all numbers or none
  double absolute = 0;
  double charge = 0;
  bool stays = true;  // the query's value is allowed, also where the range does not contain it

  [[nodiscard]] bool is_group() const { return !options.empty(); }
  [[nodiscard]] bool has_grid() const { return step.has_value() || !values.empty(); }
};

/// min cost subject to x in the units' domains, g(x) ≥ threshold for every cone and the rules.
/// Columns that belong to no unit keep the query's values.
struct MixedProblem {
  Vector query = {};
  std::vector<MixedUnit> units = {};
  double epsilon = 0;
  double threshold = 0;
  /// A solution satisfies g ≥ t + margin·(Σ|θᵢx̃ᵢ| + s + |t|).
  double margin = 1.1e-12;
  std::vector<LinearRule> rules = {};
  /// At most so many units change.
  std::optional<std::size_t> max_changes = {};
  /// A solution's set of changed units contains none of these sets.
  std::vector<std::vector<std::size_t>> forbidden = {};
  double cutoff = std::numeric_limits<double>::infinity();  // only solutions that cost less count
  std::size_t node_limit = 1000000;
  std::optional<double> time_limit = {};  // seconds
};

enum class MixedStatus {
  optimal,     // the point is the cheapest, to 1e-10
  infeasible,  // no point satisfies the constraints below the cutoff: the tree is ruled out
  limit,       // the search ended early; see found and lower_bound
};

struct MixedResult {
  MixedStatus status = MixedStatus::limit;
  bool found = false;
  Vector point = {};
  double objective = 0;
  double lower_bound = 0;  // no solution costs less; ∞ if infeasible
  std::size_t nodes = 0;
};

/// Throws Error{argument} for a problem that cannot be.
void check(const std::vector<const BoxFactor*>& factors, const MixedProblem& problem);

/// One cone: a depth-first search that fixes values, what is coarse first, solves a relaxation at
/// every node and enumerates lattice points where few are left (theory.md, Result 18 to Result 22);
/// a node of the limit then stands for 4 000 units of work of some 25 ns. Several cones, or none:
/// best-first branch and bound (Result 11 to Result 13 and Result 16). The bound of a node is
/// Lagrange's: g is replaced by a model of the ellipsoid, or cones and rules by one half-space that
/// contains them, and what then remains falls apart into one small problem per unit, solved over
/// the unit's own values, discrete ones included. Where all that is discrete is decided, BoxFactor
/// solves the rest, or intersect_cones where there are rules or several cones. Infinite ranges are
/// searched to 10⁷ on either side. Deterministic, unless the time limit ends it.
[[nodiscard]] MixedResult solve_mixed(const std::vector<BoxFactor>& cones,
                                      const MixedProblem& problem);
/// The same for any concave functions. One that is no cone but has a cone which touches it from
/// above is searched depth first with that (theory.md, Result 73); where there is none, or that
/// does not settle it, half-spaces of worst models bound the nodes, and decided parts are solved
/// with corrected cones and cutting planes (Result 31).
[[nodiscard]] MixedResult solve_mixed(RobustOracle& oracle, const MixedProblem& problem);
[[nodiscard]] MixedResult solve_mixed(const BoxFactor& factor, const MixedProblem& problem);

}  // namespace ellice

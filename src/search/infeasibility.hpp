#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "request/problem.hpp"
#include "search/linear_question.hpp"
#include "search/row_reach.hpp"

namespace ellice {

/// What can be said of everybody at once where nobody has an answer: the constraints of single
/// people (immutable and locked features, directions, implications) left out, ranges, lists and
/// rules leave no robust row (theory.md, Result 48). It depends on the problem alone.
struct CommonGround {
  std::vector<ReachPlane> planes = {};  // which show that; empty where it is not so
  Reached best = {};                    // the most robust row
  Vector last = {};                     // raw numbers: that of the largest ε that has one
  double reached = 0;                   // that ε
  double limit = std::numeric_limits<double>::infinity();  // ε that was shown to have none
  std::vector<ReachPlane> limit_planes = {};               // which show that

  std::vector<FeatureRange> ranges = {};  // of everybody

  /// Whether everything that a set holds is allowed to somebody; its rules are the schema's.
  [[nodiscard]] bool holds(const FeasibleSet& feasible) const;
  /// No row of a set has a larger smallest score, by the half-spaces.
  [[nodiscard]] double bound(const FeasibleSet& feasible) const;
  /// Whether a set has no robust row, since everybody's has none or by the half-spaces.
  [[nodiscard]] bool rules_out(const FeasibleSet& feasible, double threshold) const;
};
[[nodiscard]] CommonGround common_ground(const Problem& problem, const LinearQuestion& question,
                                         const Assembler& assembler);

/// Why a query has no answer under its constraints: the proof, the largest ε that would have one, a
/// minimal set of constraints, rules and the limit of changes among them, that block it, and the
/// most robust row that is allowed (theory.md, Result 48). Where no weights of models prove it, a
/// search of all that is discrete may (request/enumeration.hpp), also that of the caller who has
/// `is_exhausted` every allowed row. Nothing if there is no proof: some allowed point may be
/// robust. The assembler and the common ground are those of the problem.
[[nodiscard]] std::optional<Infeasibility> explain_infeasibility(
    const Problem& problem, const LinearQuestion& question, const Assembler& assembler,
    const FeasibleSet& feasible, std::optional<std::size_t> most_changes,
    const CommonGround& common = {}, bool is_exhausted = false);

/// Whether it is proved that a query has no answer at the question's ε.
[[nodiscard]] bool is_proved_unreachable(const Problem& problem, const LinearQuestion& question,
                                         const FeasibleSet& feasible);

}  // namespace ellice

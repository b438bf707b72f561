#pragma once

// Whether points that a cone lets pass satisfy what the cone stands in for.

#include <vector>

#include "solver/branch_and_bound.hpp"
#include "solver/robust_oracle.hpp"

namespace ellice {

/// Of one function that is no cone. Half-spaces of models that refused a point are asked first: a
/// product of vectors, where a worst model takes passes over all training rows.
class PointJudge {
 public:
  /// Both must outlive it.
  PointJudge(RobustOracle& oracle, const MixedProblem& problem);

  struct Verdict {
    double missing = 0;       // of what a solution must have; at most 0 where it has that
    bool is_refused = false;  // by a model of the set; where neither holds, nothing is proved
    bool is_asked = false;    // the oracle was
  };
  [[nodiscard]] Verdict judge(const Vector& x);
  [[nodiscard]] RobustOracle& oracle() const { return *oracle_; }

 private:
  RobustOracle* oracle_;
  const MixedProblem* problem_;
  std::vector<Vector> models_;  // [w; b], what refused last first
};

}  // namespace ellice

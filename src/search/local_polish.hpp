#pragma once

#include <vector>

#include "search/local_search.hpp"
#include "search/local_steps.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

/// The nearest certified row of one query for a set whose worst scores are searched for: rows that
/// its second-order picture answers at several radii, each brought to the border of the set itself.
class LocalPolish {
 public:
  struct Level {
    double radius = 1;  // of the picture, as a multiple of the set's
    const LocalSteps* steps = nullptr;
  };
  /// All must outlive it. `levels` by rising radius, the `plain`th with radius 1.
  LocalPolish(const Problem& problem, const Assembler& assembler, const LocalSearchOptions& options,
              const std::vector<Level>& levels, std::size_t plain);

  [[nodiscard]] Answer nearest(const Query& query, const FeasibleSet& feasible);

 private:
  [[nodiscard]] Vector encode(const Vector& row) const;
  /// Rows near the query that may be robust; `blank` learns what the searches held.
  [[nodiscard]] std::vector<Vector> candidates(const Query& query, const FeasibleSet& feasible,
                                               Answer& blank);
  /// How far the set moves the score of the part that has least, as a multiple of its picture.
  [[nodiscard]] double extent(const Vector& x);
  /// Makes the nearest certified row around a candidate the answer; false if there is none.
  [[nodiscard]] bool polish(Answer& offered, const Vector& row, const FeasibleSet& feasible);
  /// Takes changes back, wholly or by a step of their grid, as long as the row stays robust.
  [[nodiscard]] Vector retreat(Vector row, const FeasibleSet& feasible);
  /// The candidate that is certified for the largest ε.
  void reduce(Answer& result, const std::vector<Vector>& rows, const FeasibleSet& feasible);

  const Problem* problem_;
  const Assembler* assembler_;
  const LocalSearchOptions* options_;
  const std::vector<Level>* levels_;
  std::size_t plain_;
  std::unique_ptr<RobustFunction> function_;
  double kappa_;
  Vector weights_;
};

}  // namespace ellice

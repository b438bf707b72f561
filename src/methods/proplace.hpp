#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"
#include "ellice/sets/variant.hpp"
#include "methods/interval_robustness.hpp"
#include "search/generator.hpp"
#include "solver/nearest.hpp"

namespace ellice {

/// PROPLACE (Jiang et al., 2023): the l1-nearest point of a plausible region, the convex hull of
/// the nearest Δ-robust training rows, that no network of the box |Θ−Θ̂| ≤ δ rejects. For linear
/// models and relu networks of one or two hidden layers; by CBC.
///
/// corrected: one linear or mixed-integer program for at most one hidden layer, exact (theory.md,
/// Result 44); for two a cutting set with the exact adversary, to a gap of 1e-6, and when time is
/// up the nearest robust point that was seen, whose message says so. The query's ranges and fixed
/// features are bounds of the program; grids, whole numbers and levels are rounded to afterwards,
/// and the row as it is written must be robust, else the margin is raised (three times at most).
/// not_found otherwise; a query that is robust itself stays as it is.
/// published: a cutting set as the paper's authors ran it: unsound choice of corners, no query
/// among them, no answer with fewer than `hull_rows` of them, and for linear models the wrong sign.
/// Where it finds nothing it returns the query. Unlike theirs it forgets the models of other
/// queries.
///
/// Knows nothing of the set of models: rows are judged afterwards, certified or uncertified.
class Proplace final : public Generator {
 public:
  /// `rows` as in Dataset::raw. `problem` must outlive the generator. Throws Error{argument} for
  /// other networks, and without CBC.
  Proplace(const Problem& problem, RowMatrixArg rows, const ProplaceOptions& options = {},
           const Execution& execution = {});
  /// With known largest_deltas (delta_rows.hpp) of the rows.
  Proplace(const Problem& problem, RowMatrixArg rows, const Vector& largest,
           const ProplaceOptions& options);
  ~Proplace() override;

  /// The nearest robust rows to a point (model space): corners of the region of its answer.
  [[nodiscard]] RowMatrix corners(VectorArg query) const;

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  struct Attempt {
    std::optional<Vector> point = {};  // model space
    std::string failure = {};          // why there is none
    std::string doubt = {};            // why a nearer one may exist
  };
  [[nodiscard]] std::optional<Vector> run_published(const FeasibleSet& feasible) const;
  void run_corrected(Answer& answer, const FeasibleSet& feasible) const;
  [[nodiscard]] bool has_query_corner() const;
  /// All corners, the query among them where it is to be.
  [[nodiscard]] RowMatrix region(const FeasibleSet& feasible) const;
  [[nodiscard]] Attempt one_program(const RowMatrix& hull, const FeasibleSet& feasible,
                                    double margin) const;
  [[nodiscard]] Attempt cutting_set(const RowMatrix& hull, const FeasibleSet& feasible,
                                    double margin) const;
  [[nodiscard]] std::optional<WorstInBox> published_adversary(const Vector& point) const;

  const Problem* problem_;
  ProplaceOptions options_;
  Assembler assembler_;
  IntervalRobustness check_;  // corrected, whatever the variant
  Network network_;           // the threshold taken off its last bias
  Index all_ = 0;
  Index robust_ = 0;
  double widest_ = 0;
  std::optional<NearestRows> search_;  // among the robust rows; none without any
};

/// Why this program cannot run it: CBC is not built in; empty where it can.
[[nodiscard]] std::string why_not_proplace();

}  // namespace ellice

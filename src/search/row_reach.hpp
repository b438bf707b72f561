#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "request/problem.hpp"
#include "search/linear_question.hpp"
#include "search/row_domain.hpp"
#include "solver/corrected_search.hpp"

namespace ellice {

/// A half-space that holds every row whose scores all reach t and that keeps the rules: models of
/// the sets and rules, weighed (theory.md, Result 16). It holds at every larger ε, too.
struct ReachPlane {
  Vector coefficients = {};  // [v; c]: vᵀx + c ≥ weight·t
  double weight = 0;         // of the models; 0 where the rules alone say it
  Vector cones = {};         // weights of the models, one per part
  std::vector<Vector> models = {};
  std::vector<Vector> heads = {};        // the models as sets that are searched know them
  std::vector<WeightedRule> rules = {};  // those that take part
  /// That a category has one level takes part: no proof by models.
  bool weighs_levels = false;
};

/// How robust the rows of a feasible set can be.
struct Reached {
  enum class Status {
    found,    // the row is what was asked for
    none,     // proved: no row is
    unknown,  // neither within the limits
  };
  Status status = Status::unknown;
  Vector row = {};  // the best that was met, raw numbers; empty if none was
  double value = -std::numeric_limits<double>::infinity();  // its smallest score
  double bound = std::numeric_limits<double>::infinity();   // no row has more
  std::size_t parts = 0;                                    // that were looked at
};

/// Which rows of feasible sets reach a score, at one ε: branch and bound over what is discrete,
/// with half-spaces that are kept from one search to the next, since what rules out one set often
/// rules out a larger one (theory.md, Result 48). For one thread.
class RowReach {
 public:
  /// Both must outlive it. Rows count if they exceed the threshold by what a certificate asks for.
  RowReach(const Problem& problem, const LinearQuestion& question);

  struct Goal {
    double floor = -std::numeric_limits<double>::infinity();  // rows below it do not matter
    double enough =
        std::numeric_limits<double>::infinity();  // a row that reaches it ends the search
    std::optional<std::size_t> most_changes = {};
    bool climbs = false;  // to the best row at hand, not to the first that is enough
    std::optional<std::size_t> most_parts = {};  // that are looked at; as many as usual if nothing
  };
  [[nodiscard]] Reached search(const FeasibleSet& feasible, const Goal& goal);
  /// Whether some row is robust.
  [[nodiscard]] Reached robust_row(const FeasibleSet& feasible,
                                   std::optional<std::size_t> most_changes);

  /// Where nothing discrete binds, categories as shares of their levels: about the ε of the point
  /// of a branch whose smallest score is largest; nothing where that goes on for ever.
  [[nodiscard]] std::optional<double> relaxed_radius(const FeasibleSet& branch);

  /// Whether the half-spaces met so far show that a part holds nothing robust.
  [[nodiscard]] bool rules_out(const RowDomain& domain) const;
  /// The half-spaces met so far.
  [[nodiscard]] const std::vector<ReachPlane>& planes() const { return planes_; }
  void add(ReachPlane plane);
  /// No row of a part has more than this as its smallest score, if that reaches t.
  [[nodiscard]] static double bound(const RowDomain& domain, const ReachPlane& plane);
  /// Whether a plane holds for sets with these rules.
  [[nodiscard]] static bool applies(const ReachPlane& plane, const FeasibleSet& branch);

  /// Of the weights that a solver found for a branch, whose rules come first.
  [[nodiscard]] ReachPlane plane_of(ConeWeights weights, std::vector<Vector> heads,
                                    const FeasibleSet& branch) const;

  /// The smallest score of a row (raw numbers), proved, and how much of it a certificate asks for
  /// beyond the threshold.
  struct Score {
    double value = 0;
    double margin = 0;
  };
  [[nodiscard]] Score score(VectorArg raw);

 private:
  struct Node {
    std::size_t branch = 0;
    RowDomain domain;
    double bound = std::numeric_limits<double>::infinity();
    std::size_t judged = 0;  // half-spaces that the bound has met, of all that were ever added
  };
  struct Relaxed {
    bool is_empty = false;  // proved: nothing of the node reaches what is asked for
    Vector point = {};
    std::optional<Vector> ray = {};  // along which scores grow for ever
  };
  class Run;

  [[nodiscard]] bool is_plain(const RowDomain& domain) const;
  /// Those that are smaller between levels, where a part has several.
  [[nodiscard]] const std::vector<BoxFactor>& cones_of(const RowDomain& domain) const;
  [[nodiscard]] Relaxed relax(const RowDomain& domain, double level, bool climbs);
  [[nodiscard]] Relaxed relax_cone(const RowDomain& domain);
  [[nodiscard]] Relaxed relax_cones(const RowDomain& domain, double level);
  [[nodiscard]] Relaxed relax_searched(const RowDomain& domain, double level, bool climbs);
  /// Of a part that is infinite: a point above the level, not farther than needed, or a proof that
  /// there is none; neither where the point is empty.
  [[nodiscard]] Relaxed relax_far(const RowDomain& domain, OracleProblem asked, double level);
  /// That of a model near the worst one at a point which ignores the columns whose infinite sides
  /// it would meet (theory.md, Result 48); nothing where the set has none.
  [[nodiscard]] std::optional<ReachPlane> plane_ignoring(const RowDomain& domain,
                                                         const Support& at) const;
  /// The same of models of ellipsoids, weighed, that rule out what is near.
  [[nodiscard]] std::optional<ReachPlane> plane_ignoring(const RowDomain& domain,
                                                         const ConeWeights& found) const;
  [[nodiscard]] Relaxed relax_far_cones(const RowDomain& domain, IntersectionProblem whole,
                                        double level);
  [[nodiscard]] double least(VectorArg point);

  const Problem* problem_;
  const LinearQuestion* question_;
  std::unique_ptr<RobustOracle> oracle_;
  std::vector<ReachPlane> planes_;  // the most useful last
  std::size_t added_ = 0;           // of which the last are there
  Vector start_;                    // where the last relaxation ended
};

}  // namespace ellice

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "request/problem.hpp"
#include "search/local_search.hpp"
#include "search/robust_constraints.hpp"
#include "search/row_starts.hpp"
#include "solver/sequential_quadratic.hpp"

namespace ellice {

/// What the searches for one query share.
struct QueryContext {
  const Problem* problem = nullptr;
  const LocalSearchOptions* options = nullptr;
  const UncertaintySet* set = nullptr;
  const RowStarts* rows = nullptr;  // may be absent
  const Vector* weights = nullptr;  // by column
  const FeasibleSet* feasible = nullptr;
  std::size_t index = 0;  // of the query

  /// The same for a part of the feasible set, which must outlive it.
  [[nodiscard]] QueryContext with(const FeasibleSet& part) const {
    QueryContext result = *this;
    result.feasible = &part;
    return result;
  }
};

/// The searches for one query: points in model space, grids left to the rounding.
class LocalQuery {
 public:
  /// What `context` points to must outlive this.
  explicit LocalQuery(const QueryContext& context);

  struct Candidate {
    Vector point = {};
    const Box* box = nullptr;  // in which it lies
    double objective = 0;
  };

  /// The constraint of all that follows: robust at κ with a relative margin.
  void set_radius(double kappa, double margin);

  /// Local answers from all starts, the nearest first; empty if none was found.
  [[nodiscard]] std::vector<Candidate> search();
  /// The same, with the points of other candidates as starts.
  [[nodiscard]] std::vector<Candidate> search_from(const std::vector<Candidate>& starts);

  /// A point as a candidate of every box, brought into it.
  [[nodiscard]] std::vector<Candidate> candidates_at(const Vector& point) const;

  /// A point with the largest κ that was found, to 5e-4 of itself, at most `kappa`;
  /// nothing where no point is accepted even at κ = 0.
  struct Widest {
    Candidate candidate = {};
    double kappa = 0;
  };
  [[nodiscard]] std::optional<Widest> widest(double kappa);

  /// The candidate in raw numbers, on its grids; nothing where no robust row was found on them.
  [[nodiscard]] std::optional<Vector> to_row(const Candidate& candidate);
  /// The largest κ for which a row is robust.
  [[nodiscard]] double radius_of(const Vector& raw);

 private:
  class Guide;
  struct Piece {  // one box and its solver
    const Box* box = nullptr;
    NearestPoint problem = {};
    std::unique_ptr<SequentialQuadratic> solver = {};
    std::vector<Vector> ends = {};     // of searches for the present κ
    std::vector<Widest> tops = {};     // of climbs to the largest κ
    std::vector<Vector> widened = {};  // where these began
  };
  /// What search() found at a radius, and from where: whoever asks for the same again, as the
  /// search for the largest κ does first, has it.
  struct Searched {
    double kappa = 0;
    double margin = 0;
    std::vector<std::vector<Vector>> starts = {};  // by piece
    std::vector<Candidate> found = {};
  };
  [[nodiscard]] const Searched& searched();
  [[nodiscard]] std::vector<Vector> starts(const Piece& piece, Index most_rows);
  void solve(Piece& piece, const Vector& start, std::vector<Candidate>& found);
  /// Whether g is concave wherever no kink is crossed, and all kinks are known.
  [[nodiscard]] bool knows_regions() const;
  /// The starts for κ and what is found from them, those with the largest κ of their own first.
  [[nodiscard]] std::vector<Widest> starts_at(double kappa);
  [[nodiscard]] Piece& piece_of(const Box* box);
  /// Whether no kink lies between the point of the last gradients and this one.
  [[nodiscard]] bool is_in_region(VectorArg from, VectorArg to);
  void widen_from(std::vector<Widest> pool, double kappa, std::optional<Widest>& best);
  /// Climbs to a local maximum of κ, at most to `kappa`, several times; false where the function
  /// has no curvature to climb with, or several parts.
  [[nodiscard]] bool climb_radius(Widest& widest, double kappa);
  [[nodiscard]] bool climb_radius(Widest& widest, double kappa, double damping);
  /// Moves to a point that is robust at κ, if one is found near by.
  [[nodiscard]] bool widen(Widest& widest, double kappa);
  /// As far as that goes, at most to κ.
  void widen_locally(Widest& widest, double kappa);
  [[nodiscard]] SequentialQuadraticOptions solver_options() const;

  QueryContext context_;
  std::unique_ptr<RobustFunction> function_;
  RobustConstraints constraints_;
  double kappa_ = 0;
  double margin_ = 0;
  std::vector<Piece> pieces_;
  std::vector<Index> crossed_;
  std::optional<Searched> searched_;
};

}  // namespace ellice

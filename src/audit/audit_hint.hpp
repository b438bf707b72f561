#pragma once

// Where the worst model of a part of the tree is to be looked for. A hint may be bad, and proves
// nothing: the bound is that of the model which is worst at its point, whatever that is.

#include <optional>
#include <vector>

#include "audit/audit_units.hpp"

namespace ellice::audit {

struct Hint {
  std::size_t cone = 0;
  Vector point = {};                     // model space
  double price = 0;                      // m
  std::optional<std::size_t> unit = {};  // to decide next, if that does not close the part
  std::vector<Vector> shares = {};       // of levels, where the point lies between them
};

/// Minimises the cost of a part over the convex hulls of what its features may be, where one cone
/// just accepts: column by column, in double precision.
class Relaxation {
 public:
  /// All must outlive this.
  Relaxation(const Units& units, const Cone& cone, std::size_t number, double epsilon);

  /// `from` is that of a part that holds this one, if any. Ends as soon as it closes the part.
  [[nodiscard]] Hint solve(const Decisions& decisions, const Hint* from);

 private:
  void begin(const Decisions& decisions, const Hint* from);
  void sweep(const Decisions& decisions, double price);
  void move_number(std::size_t unit, double price);
  void move_shares(std::size_t unit, double price);
  void shift(const Unit& unit, const Vector& by);  // of its columns
  [[nodiscard]] double margin() const;
  [[nodiscard]] double slope_of_cost(std::size_t unit, double move) const;
  [[nodiscard]] double spread_of(std::size_t unit) const;
  [[nodiscard]] std::optional<std::size_t> widest(const Decisions& decisions) const;
  [[nodiscard]] bool consider(const Decisions& decisions, double price);

  const Units* units_;
  const Cone* cone_;
  double epsilon_;
  Matrix metric_;  // 2εS
  Vector center_;
  double threshold_;
  struct Listed {
    std::vector<double> moves = {};  // increasing
    std::vector<double> costs = {};
  };
  std::vector<Listed> lists_;  // of ordered units
  Vector point_;               // x̃
  Vector image_;               // 2εSx̃
  double square_ = 0;          // x̃ᵀ2εSx̃
  std::vector<Vector> shares_;
  Hint best_;
  long double best_bound_ = 0;
};

}  // namespace ellice::audit

#pragma once

// Where the worst model of a part of all rows is to be looked for. A hint may be bad, and proves
// nothing: the bound is that of the model which is worst at its point, whatever that is.

#include <optional>
#include <vector>

#include "audit/audit_unit_bound.hpp"

namespace ellice::audit {

struct Hint {
  std::size_t cone = 0;
  Vector point = {};                // model space
  double price = 0;                 // m
  double charge = 0;                // for a change, where only so many are allowed
  std::vector<Vector> shares = {};  // of levels, where the point lies between them
  /// What to divide if that does not close the part: a unit, and of an order the last of its values
  /// below the point.
  std::optional<std::size_t> unit = {};
  int place = 0;
  bool is_single = false;  // or that value by itself, those below and those above it
};

/// Minimises the cost of a part over the convex hulls of what its features may be, where one cone
/// just accepts; where no cost is asked for, goes where it accepts most. Column by column, in
/// double precision (theory.md, Result 22).
class Relaxation {
 public:
  /// All must outlive this.
  Relaxation(const Units& units, const Cone& cone, std::size_t number, double epsilon);

  /// `from` is that of a part that holds this one, if any. Ends as soon as it seems to close the
  /// part.
  [[nodiscard]] Hint solve(const Part& part, const Hint* from);

 private:
  void begin(const Part& part, const Hint* from);
  void sweep(const Part& part);
  void set_ends(const Part& part);
  void move_number(std::size_t unit);
  void move_shares(std::size_t unit, const Part& part);
  /// To where the cone just accepts, on the way between what too low and too high a price gave.
  void go_between();
  void shift(const Unit& unit, const Vector& by);  // of its columns
  void shift(Index column, double by);
  /// Of the hull's cost on the way from one value to the next, or within the range.
  [[nodiscard]] double slope_of_cost(std::size_t unit, double move) const;
  [[nodiscard]] double spread_of(std::size_t unit, const Part& part) const;
  /// How far the next value is.
  [[nodiscard]] double coarseness_of(std::size_t unit, const Part& part) const;
  [[nodiscard]] int nearest(std::size_t unit, const Choice& choice) const;
  void choose_unit(const Part& part, long double missing, Hint& hint) const;

  const Units* units_;
  const Cone* cone_;
  std::size_t number_;
  double epsilon_;
  bool counts_cost_;
  Matrix metric_;  // 2εS
  Vector center_;
  double threshold_;
  Vector point_;       // x̃
  Vector image_;       // 2εSx̃
  double square_ = 0;  // x̃ᵀ2εSx̃
  double price_ = 0;
  double charge_ = 0;
  std::vector<Vector> shares_;
  struct Side {
    double price = 0;
    Vector point = {};
    Vector image = {};
    std::vector<Vector> shares = {};
  };
  Side low_;   // not accepted
  Side high_;  // accepted
  /// Of an ordered unit: how far it may move, and where the cost of moving begins to exceed that of
  /// the straight way from staying, on either side.
  struct Ends {
    double lower = 0;
    double upper = 0;
    bool is_hull = false;  // it may stay, and a change counts
    double slope_below = 0;
    double slope_above = 0;
    double touch_below = 0;
    double touch_above = 0;
  };
  std::vector<Ends> ends_;
};

}  // namespace ellice::audit

#pragma once

#include <cstdint>
#include <vector>

#include "ellice/core/types.hpp"
#include "solver/row_multipliers.hpp"

namespace ellice {

/// min ½pᵀBp + rᵀp subject to c + Gᵀp ≥ 0 and lower ≤ p ≤ upper, for B ≻ 0 and a handful of rows c,
/// some of which may be kinks of others (theory.md, Result 75), in as many unknowns as B's root and
/// c have rows (Result 76): coordinates are fixed at the bounds that the last pass wanted to leave,
/// and freed where it did not. Where that goes round, each is freed at most once more. Where no p
/// satisfies the rows, p goes as far as the box lets it. Owns its storage: solve() does not
/// allocate where roots and rows are no more than they were.
class BoxedQuadratic {
 public:
  BoxedQuadratic(Index variables, Index rows);

  // The problem, filled in by the caller. B = D + RᵀR, which a root of few rows makes cheap to
  // solve with, however many variables there are.
  Vector diagonal;      // D, positive
  Matrix root;          // R; without rows B is D
  Vector linear;        // r
  Vector constants;     // c
  Matrix normals;       // G, one column per row of the problem
  Vector lower, upper;  // contain 0

  /// No kinks, as at first.
  void clear_kinks();
  /// Appends a constant to c and a column to G, which the caller fills in, for the row of a kink.
  void add_kink(const KinkRow& kink, double distance);

  /// Coordinates that the last solve fixed, and that now stand at a bound, can begin there.
  void solve(bool knows_bounds = false);
  /// The same problem with kinks that were added since: begins where the last solve ended.
  void solve_again();

  [[nodiscard]] const Vector& step() const { return step_; }
  /// Of the rows, then of the kinks.
  [[nodiscard]] const Vector& multipliers() const { return multipliers_; }

 private:
  enum class Place : std::uint8_t { free, low, high };  // of a coordinate

  /// Whether systems have a row for each coordinate rather than for each row of R.
  [[nodiscard]] bool is_whole() const { return 2 * root.rows() > linear.size(); }
  void make_whole();
  // Where they do not: with y = D^½p a variable has one column, R·D^{−½}, then r and G scaled in
  // the same way.
  void fill_columns();
  /// The entries of the rows from `first` on.
  void fill_rows(Index first);
  void collect();
  /// Adds a variable to gram_ so many times.
  void add_to_gram(Index variable, double times);

  /// Fixes and frees coordinates until all is well.
  void settle();
  /// Solves for all but the multipliers, whose problem is left in dual_ and slack_.
  void eliminate();
  void eliminate_few();
  void eliminate_whole();
  void find_multipliers();
  /// What every coordinate would be without its own bounds.
  void find_wanted();
  void find_wanted_few();
  void find_wanted_whole();
  /// Lᵀ(result) = L⁻¹(right-hand side), both reduced_'s.
  void solve_back(Index pivots, Vector& result) const;
  [[nodiscard]] bool exchange(bool at_will);
  void fix(Index variable, Place place);
  void release(Index variable);
  /// Whether a fixed coordinate would rather be free.
  [[nodiscard]] bool is_wrong(Index variable) const;
  void write_step();

  [[nodiscard]] const double* column(Index variable) const {
    return columns_.data() + variable * columns_.rows();
  }
  [[nodiscard]] bool is_free(Index variable) const {
    return places_[static_cast<std::size_t>(variable)] == Place::free;
  }
  /// Of y, or of p where systems are whole.
  [[nodiscard]] double bound(Index variable, Place place) const {
    return place == Place::low ? lowest_[variable] : highest_[variable];
  }

  Vector step_, multipliers_, slack_;
  Vector scale_;             // D^{−½}
  Vector lowest_, highest_;  // bounds of y
  Matrix columns_;           // rows up to whole blocks
  Index height_ = 0;         // rows of columns_ that are used
  Index width_ = 0;          // the same, up to whole blocks
  Matrix gram_;              // of the rows, over the free coordinates: its lower triangle
  Vector held_;              // of the others: columns times where they stand
  Matrix whole_;             // B
  std::vector<Index> free_;
  Vector fixed_step_, slope_;
  Matrix reduced_;       // what is eliminated, and what that leaves
  Vector coefficients_;  // of the rows in what coordinates want
  Vector wanted_;        // y without bounds
  Vector lengths_;       // of the rows of G over all coordinates, squared
  Index unserved_ = -1;  // a row that misses 0 and that no free coordinate moves
  Matrix dual_;
  Index rows_;  // that are no kinks
  std::vector<KinkRow> kinks_;
  RowMultipliers row_multipliers_;
  std::vector<Place> places_;
  std::vector<bool> was_freed_;
};

}  // namespace ellice

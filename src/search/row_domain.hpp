#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "request/feasible_set.hpp"

namespace ellice {

/// The values that a part of a search leaves to every feature of a branch of a feasible set: its
/// own, and others between two of them. Linear functions have their maximum over such a part in
/// closed form, discrete values and a limit of changes included (theory.md, Result 11).
class RowDomain {
 public:
  /// The branch must outlive this. At most so many features change.
  RowDomain(const FeasibleSet& branch, std::optional<std::size_t> most_changes);

  [[nodiscard]] const FeasibleSet& branch() const { return *branch_; }
  /// The same with another range of a feature.
  [[nodiscard]] RowDomain with_range(std::size_t feature, const FeatureRange& range) const;
  /// Around it, in model space: 0/1 columns of a category between 0 and 1.
  [[nodiscard]] Box box() const;
  /// That the columns of each category with several levels left add up to 1.
  [[nodiscard]] std::vector<LinearRule> level_rules() const;
  /// No row of this part gives [w; b]ᵀx̃ more, rounding counted in.
  [[nodiscard]] double maximum(VectorArg plane) const;

  /// A row (raw numbers) near a point of the box: on grids, where the plane rises; of changes that
  /// are too many those with the largest gain.
  [[nodiscard]] Vector row(VectorArg point, VectorArg plane) const;
  /// Everything discrete, and everything that may not change beside it, as in a row; numbers that
  /// may change stay free.
  [[nodiscard]] RowDomain holding(VectorArg row) const;
  [[nodiscard]] bool has_free_numbers() const;
  [[nodiscard]] bool is_empty() const;

  /// Two parts that cover this one, where the row near a point of the box differs most from it, in
  /// units of the plane; nothing where it does not differ.
  [[nodiscard]] std::optional<std::pair<RowDomain, RowDomain>> split(VectorArg point,
                                                                     VectorArg plane) const;

 private:
  struct Cell {
    std::size_t feature = 0;
    Index column = 0;
    Index width = 1;
    bool stays = true;         // the query's own value is left
    bool counted = false;      // among the changes, whatever it does
    FeatureRange others = {};  // without own value where that is none of them; keeps is false
    std::vector<double> levels = {};  // of a category, the own among them if it stays
    /// Of a binned feature: the number that stands for each value here, which is the index of a bin
    /// or, where bins have values, what the model sees of it.
    std::vector<std::pair<double, double>> numbers = {};
    /// Of a number that moves: the ends of the others in model space. What planes are summed from.
    double z_lower = 0;
    double z_upper = 0;
    bool is_movable = false;  // moves(), known once
    [[nodiscard]] bool is_category() const { return width > 1; }
    [[nodiscard]] bool moves() const;
    /// The own value lies outside the others, or between two of them.
    [[nodiscard]] bool is_apart() const {
      return stays && moves() && !others.contains(others.query);
    }
  };

  /// Nothing for a feature that can only stay.
  void add_cell(std::size_t feature, const FeatureRange& range);
  void take_bins(Cell& cell, const FeatureRange& range) const;
  /// To be called of each cell whose others have changed.
  void settle(Cell& cell) const;
  void settle_rest();
  /// A raw number as it stands in a cell.
  [[nodiscard]] static double in_cell(const Cell& cell, double raw);
  [[nodiscard]] static double from_cell(const Cell& cell, double value);
  [[nodiscard]] static bool is_free_number(const Cell& cell);
  [[nodiscard]] double coordinate(const Cell& cell, double raw) const;
  /// Of the plane's terms: at the query's value, and the largest that is left.
  struct Terms {
    double own = 0;
    double best = 0;
  };
  [[nodiscard]] Terms terms(const Cell& cell, VectorArg plane) const;
  [[nodiscard]] double value_near(const Cell& cell, double z, double slope) const;
  [[nodiscard]] std::size_t counted() const;
  [[nodiscard]] std::pair<RowDomain, RowDomain> split_cell(std::size_t place,
                                                           VectorArg point) const;
  [[nodiscard]] RowDomain with(std::size_t place, Cell cell) const;

  const FeasibleSet* branch_;
  std::optional<std::size_t> most_changes_;
  std::vector<Cell> cells_;
  Vector fixed_;  // the query, in model space
  Vector rest_;   // the same, 0 where there is a cell
};

}  // namespace ellice

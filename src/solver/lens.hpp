#pragma once

// The quadratic under the cost of robust points, around the centre of a frame of numbers.

#include <optional>
#include <vector>

#include "solver/number_relaxation.hpp"

namespace ellice {

/// Every x of the frame that is robust, keeps the rules and costs less than `enough` beyond what is
/// paid costs at least
///
///     floor + Σ_j term_j(x_j) + |R·(x − centre)|²,    term_j ≥ 0
///
/// (theory.md, Result 18 to Result 20). R is triangular in an order that puts coarse grids on top,
/// level size − 1, and numbers without grid at the bottom; row i involves i and the levels above.
class Lens {
 public:
  explicit Lens(const SearchLayout& layout);

  /// `enough` infinite: no bound on s is known, and R gives an order only. `kept` is the number
  /// that goes on top, if it is not to be chosen.
  void build(const NumberFrame& frame, double enough, std::optional<std::size_t> kept = {});

  /// The lens as the number on top sees it.
  struct Top {
    std::size_t index = 0;  // in the frame
    double floor = 0;
    double slope = 0;
    double absolute = 0;
    double loss = 0;
    double centre = 0;
    double factor = 0;
    double lowest = 0;
    double lower = 0;
    double upper = 0;

    /// What a move costs at least; convex.
    [[nodiscard]] double worth(double move) const;
  };
  [[nodiscard]] Top top() const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double floor() const { return floor_; }
  [[nodiscard]] std::size_t at(std::size_t level) const { return order_[level]; }
  [[nodiscard]] double factor(std::size_t level, std::size_t above) const {
    return factor_[level * size_ + above];
  }
  [[nodiscard]] const double* row(std::size_t level) const {
    return factor_.data() + level * size_;
  }
  /// term_j at a move of the number at a level.
  [[nodiscard]] double term(std::size_t level, double move) const;
  /// Where term + (R_ii·(move − centre) + shift)² is least, without regard to the grid.
  [[nodiscard]] double lowest(std::size_t level, double shift) const;
  [[nodiscard]] double centre(std::size_t level) const { return centre_[level]; }
  [[nodiscard]] double lower(std::size_t level) const { return lower_[level]; }
  [[nodiscard]] double upper(std::size_t level) const { return upper_[level]; }
  [[nodiscard]] const NumberUnit& unit(std::size_t level) const { return *units_[level]; }
  /// About how many points an enumeration meets (the volume of the lens over that of a cell).
  [[nodiscard]] double estimate(double room) const;

 private:
  void set_terms(const NumberFrame& frame, double enough);
  void bound_root(const NumberFrame& frame, double enough);
  void fill(const NumberFrame& frame, double curvature);
  [[nodiscard]] bool factorise(bool in_order, std::size_t top);

  const SearchLayout* layout_;
  std::size_t size_ = 0;
  double floor_ = 0;
  double largest_root_ = 0;  // s of what counts is at most this
  std::vector<std::size_t> order_;
  std::vector<double> matrix_, factor_;
  std::vector<double> slope_, loss_, absolute_, centre_, lower_, upper_;
  std::vector<double> by_number_;  // scratch
  std::vector<const NumberUnit*> units_;
  std::vector<double> low_, high_, lost_;  // by number of the frame
};

}  // namespace ellice

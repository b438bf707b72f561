#pragma once

// A mixed problem as the depth-first search reads it: every value is a move from the query.

#include <cstdint>
#include <vector>

#include "solver/mixed_domain.hpp"
#include "solver/robust_logit.hpp"

namespace ellice {

/// A unit that is searched option by option: a category, listed values, or a grid with few values.
/// Staying, where it is allowed, is one of the options.
struct ListUnit {
  std::size_t unit = 0;
  Index column = 0;
  Index width = 1;
  std::size_t first = 0;  // its options: [first, last)
  std::size_t last = 0;
  std::size_t moves = 0;  // where the moves of its first option begin
};

/// A unit that is searched as a number: on a fine grid, or without one.
struct NumberUnit {
  std::size_t unit = 0;
  Index column = 0;
  bool has_grid = false;
  double step = 0;  // grid: moves first + k·step, k whole; first = 0 if the query is on it
  double first = 0;
  double origin = 0;  // grid: move k is the value offset + (origin + k)·step
  double lower = 0;   // the moves of a change
  double upper = 0;
  double quadratic = 0;
  double absolute = 0;
  double charge = 0;
  bool stays = false;
  bool is_joined = false;  // the query's value continues the range: no gap, no grid of its own
  bool skips_own = false;  // the query's value lies on the grid within the range and is not allowed
  bool is_named = false;   // a forbidden set names it

  [[nodiscard]] double cost(double move) const {
    return 0.5 * quadratic * move * move + absolute * std::abs(move);
  }
  [[nodiscard]] double at_or_below(double move) const;
  [[nodiscard]] double at_or_above(double move) const;
};

class SearchLayout {
 public:
  SearchLayout(const BoxFactor& factor, const MixedProblem& problem);

  [[nodiscard]] const MixedProblem& problem() const { return *problem_; }
  [[nodiscard]] Index columns() const { return problem_->query.size(); }
  [[nodiscard]] bool is_impossible() const { return is_impossible_; }
  [[nodiscard]] const std::vector<ListUnit>& lists() const { return lists_; }
  [[nodiscard]] const std::vector<NumberUnit>& numbers() const { return numbers_; }
  [[nodiscard]] std::size_t options() const { return option_costs_.size(); }
  [[nodiscard]] double option_cost(std::size_t option) const { return option_costs_[option]; }
  [[nodiscard]] bool changes(std::size_t option) const { return option_changes_[option] != 0; }
  [[nodiscard]] const double* moves(const ListUnit& list, std::size_t option) const {
    return option_moves_.data() + list.moves +
           (option - list.first) * static_cast<std::size_t>(list.width);
  }
  /// The columns that units have, in order.
  [[nodiscard]] const std::vector<Index>& movable() const { return movable_; }

  [[nodiscard]] const RobustLogit& logit() const { return logit_; }
  [[nodiscard]] const Matrix& matrix() const { return matrix_; }  // M = 2εH⁻¹
  [[nodiscard]] const Vector& theta() const { return logit_.theta(); }
  [[nodiscard]] const Vector& image() const { return image_; }  // Mx̃ at the query
  [[nodiscard]] double square() const { return square_; }       // x̃ᵀMx̃ at the query
  [[nodiscard]] double excess() const { return excess_; }       // θᵀx̃ − t at the query

  [[nodiscard]] const std::vector<LinearRule>& rules() const { return problem_->rules; }
  [[nodiscard]] double activity(std::size_t rule) const { return activities_[rule]; }  // aᵀ·query

  /// Writes what an option or a number's move means.
  void place_option(Vector& x, std::size_t list, std::size_t option) const;
  void place_number(Vector& x, std::size_t number, double move) const;
  /// What a point costs, and which units it changes.
  [[nodiscard]] double cost_of(const Vector& x, std::vector<std::uint8_t>& changed) const;

 private:
  void add_group(std::size_t unit, bool stays);
  void add_values(std::size_t unit, const UnitView& view, const std::vector<double>& values);
  void add_number(std::size_t unit, const UnitView& view, const Domain& domain);
  void open_list(std::size_t unit, Index width);
  void add_option(const Vector& values, double cost, bool changes);

  const MixedProblem* problem_;
  RobustLogit logit_;
  Matrix matrix_;
  Vector image_;
  double square_ = 0;
  double excess_ = 0;
  std::vector<double> activities_;
  std::vector<UnitView> views_;
  std::vector<ListUnit> lists_;
  std::vector<NumberUnit> numbers_;
  std::vector<double> option_costs_;
  std::vector<std::uint8_t> option_changes_;
  std::vector<double> option_moves_;
  std::vector<Vector> option_values_;
  std::vector<Index> movable_;
  bool is_impossible_ = false;
};

}  // namespace ellice

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "search/local_query.hpp"

namespace ellice {

/// Values of the held features (whole numbers and levels) that bring one query to a robust point
/// cheaply, with the continuous solver inside. Levels are never relaxed: best first over
/// assignments that differ in one level from one that was solved, ranked by what the solved one
/// says of their cost. Whole numbers and ordinal levels are relaxed there and then rounded by
/// branching, both sides of a value, for the cheapest assignments. Deterministic, bounded by a
/// number of solves, and proves nothing.
class DiscreteSearch {
 public:
  /// What `context` points to must outlive this; its feasible set holds at the query's values.
  explicit DiscreteSearch(const QueryContext& context);

  struct Choice {
    Vector row = {};    // raw numbers; held features at allowed values
    Vector point = {};  // model space, with the same held values
    double cost = 0;    // of the point
    double kappa = 0;   // largest for which the point is robust
  };
  struct Outcome {
    std::vector<Choice> robust = {};  // the cheapest first, different in their held values
    std::vector<Choice> widest = {};  // where none is robust: by falling κ
  };
  /// Choices robust at κ that cost less than `limit`. `starts` are points in model space from which
  /// to begin, with whatever values they have.
  [[nodiscard]] Outcome search(double kappa, const std::vector<Vector>& starts, double limit);

 private:
  struct Category {
    std::size_t feature = 0;
    std::vector<double> levels = {};
  };
  struct Whole {
    std::size_t feature = 0;
    Index column = 0;
    bool coarse = false;  // a step of its grid is worth a branch
  };
  using Levels = std::vector<double>;  // one per category
  struct Solved {
    Levels levels = {};
    Vector point = {};
    bool found = false;
    double square = 0;
  };
  struct Move {
    double estimate = 0;
    Levels levels = {};
    std::size_t parent = 0;  // whose point is the start
  };

  [[nodiscard]] std::vector<Vector> row_points(double kappa) const;
  [[nodiscard]] Levels levels_of(const Vector& z) const;
  void apply(const Levels& levels, Vector& z) const;
  /// The cost in a form that adds up: squares, and the charges of categories.
  [[nodiscard]] double square_of(const Vector& z) const;
  [[nodiscard]] double charge_of(const Levels& levels) const;
  [[nodiscard]] Box box_of(const Levels& levels) const;
  [[nodiscard]] Solved solve(const Levels& levels, const Vector& start);
  /// The nearest robust point of a box, if one is found.
  [[nodiscard]] std::optional<Vector> nearest(const Box& box, const Vector& start);
  void search_levels(const std::vector<Vector>& starts);
  void expand(std::size_t parent, std::vector<Move>& queue);
  void branch(const Solved& root);
  /// Rounds what is not on its grid, coarse grids first, and solves the rest again each time.
  void finish(Box box, Vector point, const Levels& levels);
  void offer(const Vector& candidate);
  [[nodiscard]] Vector slope(const Vector& z);
  /// The coarse feature farthest from its grid and its values on both sides, in model space.
  struct Split {
    Index column = 0;
    std::optional<double> below = {};
    std::optional<double> above = {};
    double distance = 0;
  };
  [[nodiscard]] std::optional<Split> split_of(const Vector& z) const;

  QueryContext context_;
  std::unique_ptr<RobustFunction> function_;
  RobustConstraints constraints_;
  std::vector<Category> categories_;
  std::vector<Whole> wholes_;
  std::vector<Solved> solved_;
  std::vector<Choice> choices_;
  double kappa_ = 0;
  double best_square_ = 0;  // of the cheapest choice, or the limit
  int nodes_ = 0;           // solves so far
};

}  // namespace ellice

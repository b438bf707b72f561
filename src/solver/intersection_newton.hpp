#pragma once

// Newton's method on the optimality conditions of an intersection of cones, from a point at which
// it is known which constraints bind.

#include <vector>

#include "solver/intersection_program.hpp"

namespace ellice {

class IntersectionNewton {
 public:
  explicit IntersectionNewton(const ReducedIntersection& problem);

  /// Where to begin, and what binds there.
  struct Start {
    Vector point = {};
    ConeWeights weights = {};
    std::vector<IntersectionProgram::Place> places = {};
    std::vector<bool> cones = {};
    std::vector<int> rules = {};  // the side that binds: −1, 0 or +1
  };

  /// Steps until the gap between the best feasible point and the best bound is rounding, changing
  /// its mind about what binds where multipliers or values tell it to.
  void run(const Start& start);

  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] const Vector& point() const { return best_; }
  [[nodiscard]] double objective() const { return best_cost_; }
  [[nodiscard]] double lower_bound() const { return bound_; }
  [[nodiscard]] const ConeWeights& weights() const { return bound_weights_; }
  [[nodiscard]] int iterations() const { return iterations_; }

  /// Takes note of a point and of weights from elsewhere.
  void offer(const Vector& x);
  void offer(const ConeWeights& weights);
  /// Moves a point as little as possible until all cones and rules hold, and offers it.
  void restore(Vector x);

 private:
  bool step();
  void evaluate();
  void pin_leavers();
  bool revise();
  [[nodiscard]] Vector slope() const;
  [[nodiscard]] double side(Index i) const;

  const ReducedIntersection* problem_;
  Vector x_, multipliers_, rule_multipliers_;
  std::vector<IntersectionProgram::Place> places_;
  std::vector<bool> cones_;
  std::vector<int> rules_;
  std::vector<RobustLogit::State> states_;
  int iterations_ = 0;

  bool found_ = false;
  Vector best_;
  double best_cost_ = 0;
  double bound_ = 0;
  ConeWeights bound_weights_;
};

}  // namespace ellice

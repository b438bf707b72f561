#pragma once

// min cost(x) on a box subject to g(x) ≥ t, for a cost with d > 0 (theory.md, Result 6).

#include <optional>

#include "solver/box_cost.hpp"
#include "solver/projected_newton.hpp"
#include "solver/robust_logit.hpp"

namespace ellice {

class BoxSearch {
 public:
  /// What the next run is about; both are pointed to. Storage is kept, so that a run allocates
  /// nothing where the one before had as many coordinates.
  void prepare(const RobustLogit& logit, const BoxCost& cost, double threshold);

  enum class Outcome { converged, infeasible, stuck };

  /// From a point, best one of the box or a minimiser without it, and a multiplier ≥ 0.
  Outcome run(VectorArg start, double multiplier);

  [[nodiscard]] const RobustLogit::State& state() const { return state_; }
  [[nodiscard]] double multiplier() const { return multiplier_; }
  [[nodiscard]] int iterations() const { return iterations_; }
  [[nodiscard]] int factorisations() const {
    return factorisations_ + (descent_ ? descent_->factorisations() : 0);
  }

 private:
  [[nodiscard]] double residual(const RobustLogit::State& state, double multiplier) const;
  [[nodiscard]] double stationarity(const RobustLogit::State& state, double multiplier) const;
  [[nodiscard]] bool proved_infeasible(const RobustLogit::State& state) const;
  Outcome linear_steps();
  Outcome newton();
  bool newton_step(double residual);
  Outcome follow_path(double accuracy);

  const RobustLogit* logit_ = nullptr;
  const BoxCost* cost_ = nullptr;
  double threshold_ = 0;
  RobustLogit::State state_;
  RobustLogit::State other_;  // a trial, or the best so far
  double multiplier_ = 0;     // μ
  double nu_ = 0;             // of newton(): on its way to μ/s
  bool is_inside_ = true;     // the box holds state_.x
  NewtonMatrix matrix_ = NewtonMatrix(0);
  std::vector<Index> factored_;  // the free coordinates of matrix_, and its ν
  double factored_nu_ = 0;
  std::optional<ProjectedNewton> descent_;  // where Newton's method alone does not do
  std::vector<Index> free_, pinned_;
  Vector diagonal_;  // of M
  Vector change_, sign_, slope_, coupling_;
  Vector defect_, step_, per_mu_, per_nu_, image_;  // of the free coordinates
  int iterations_ = 0;
  int factorisations_ = 0;
};

}  // namespace ellice

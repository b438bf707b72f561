#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/stopwatch.hpp"
#include "solver/branch_and_bound.hpp"
#include "solver/mixed_domain.hpp"
#include "solver/robust_logit.hpp"
#include "solver/support_cut.hpp"

namespace ellice {

/// Goes through the sets of a given number of units, depth first (theory.md, Result 14).
class SupportSearch {
 public:
  SupportSearch(const BoxFactor& factor, const MixedProblem& problem);

  /// Whether the relaxation already shows that nothing is robust.
  [[nodiscard]] bool is_impossible() const { return is_impossible_; }
  /// The cheapest solution with so many changes.
  [[nodiscard]] MixedResult run(std::size_t changes);
  [[nodiscard]] std::size_t units() const { return units_.size(); }

 private:
  struct Chosen {
    std::size_t place = 0;  // in the order of the search
    std::size_t option = 0;
    bool is_option = false;
  };

  void relax();
  [[nodiscard]] SupportCut make_cut(const RobustLogit::State& state) const;
  void prepare(SupportCut& cut) const;
  void add_cut(const RobustLogit::State& state);
  [[nodiscard]] SupportCut::Level after(const SupportCut& cut, const Chosen& chosen,
                                        const SupportCut::Level& before) const;

  void visit(std::size_t first);
  void choose(const Chosen& chosen, double cost);
  [[nodiscard]] bool is_ruled_out(std::size_t first);
  [[nodiscard]] bool completes_forbidden() const;
  [[nodiscard]] bool is_over();

  void solve_leaf();
  void solve_numbers(const std::vector<std::size_t>& numbers);
  void solve_grid_number(std::size_t unit, double relaxed);
  void solve_grids(const std::vector<std::size_t>& numbers, const std::vector<Index>& columns,
                   const BoxFactor& factor);
  void leave_open(double bound) {
    if (bound < enough()) unresolved_ = std::min(unresolved_, bound);
  }
  /// Lifts the solution until it keeps the margin in the full logit.
  void lift(const BoxFactor& factor, BoxProblem box, BoxProjection solved,
            const std::vector<Index>& columns, double charges);

  [[nodiscard]] RobustLogit::State evaluate(const Vector& x) const {
    RobustLogit::State state;
    state.x = x;
    logit_.evaluate(state);
    return state;
  }
  [[nodiscard]] double scale(const RobustLogit::State& state) const {
    return state.scale + std::abs(problem_->threshold);
  }
  [[nodiscard]] double missing(const RobustLogit::State& state) const {
    return problem_->threshold + problem_->margin * scale(state) - state.value;
  }
  /// Takes a point that keeps the margin; gives its cost.
  void offer(const RobustLogit::State& state, double cost);
  [[nodiscard]] double enough() const { return best_cost_ * (1 - 1e-10); }

  const BoxFactor* factor_;
  const MixedProblem* problem_;
  RobustLogit logit_;
  std::vector<UnitView> units_;
  std::vector<Domain> domains_;
  std::vector<std::size_t> order_;  // units by falling gain
  bool is_impossible_ = false;
  std::vector<std::unique_ptr<SupportCut>> cuts_;  // the most useful first

  Stopwatch watch_;
  std::size_t sets_ = 0;
  bool is_over_ = false;
  std::size_t changes_ = 0;
  std::vector<Chosen> chosen_;
  Vector point_;  // the query with the chosen options
  double paid_ = 0;
  Vector best_;
  double best_cost_ = std::numeric_limits<double>::infinity();
  double unresolved_ = std::numeric_limits<double>::infinity();  // bound of leaves left open
};

}  // namespace ellice

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/stopwatch.hpp"
#include "solver/mixed_bound.hpp"
#include "solver/robust_oracle.hpp"

namespace ellice {

/// A part of the search: the domains left to it, and what is known to bound its cost.
struct MixedNode {
  double bound = 0;
  double multiplier = 0;  // of the parent's bound: where the search for this node's begins
  std::size_t sequence = 0;
  std::vector<Domain> domains = {};
};

/// Best first: for functions that are no cones and for several of them, and where a search over the
/// values of one cone (ValueSearch) has left numbers only.
class MixedSearch {
 public:
  MixedSearch(RobustOracle& oracle, const MixedProblem& problem);
  [[nodiscard]] MixedResult run();

 private:
  /// A point, the part that has the least score there, and how much of what a solution must have it
  /// misses, over all parts.
  struct Judged {
    Support worst = {};
    double missing = 0;
  };

  /// Where the functions are no cones: offers what cones answer, their pictures first, then cones
  /// corrected at the answer before (theory.md, Result 29), so that the search begins with an
  /// answer that costs no more than any of theirs which passes, and with half-spaces where they
  /// matter.
  void seed();
  /// Where one function is no cone, but has one that is nowhere less (Result 73): the depth-first
  /// search with that, each point judged by the function itself. True where that settles it; what
  /// it found and proved counts in any case.
  [[nodiscard]] bool search_touching(MixedResult& result);
  [[nodiscard]] bool has_choices() const;
  /// What a node's domains amount to: how many units may still change, and whether that limits
  /// anything.
  struct Room {
    std::size_t slots = 0;
    bool limited = false;
  };

  void process(MixedNode& node);
  [[nodiscard]] bool prepare(MixedNode& node, Room& room) const;
  [[nodiscard]] bool breaks_rules(const std::vector<Domain>& domains) const;
  [[nodiscard]] bool satisfies_rules(VectorArg x) const;
  [[nodiscard]] bool is_charged(std::size_t u, const Domain& domain, const Room& room) const;
  [[nodiscard]] bool is_leaf(const MixedNode& node, const Room& room) const;
  /// The best bound of the cuts; false if it rules the node out.
  [[nodiscard]] bool bound_by_pool(MixedNode& node, const Room& room, DualBound& bound);
  [[nodiscard]] bool improve(MixedNode& node, const Room& room, DualBound& bound);

  struct Leaf {
    bool infeasible = false;
    double lower_bound = 0;
    double missing = 0;  // infeasible: how much of g
  };
  /// Solves what is left when everything discrete is decided; the solution is offered as incumbent.
  Leaf solve_leaf(const std::vector<Domain>& domains);
  Leaf solve_numbers(Vector x, const std::vector<Domain>& domains,
                     const std::vector<std::size_t>& numbers, double paid);
  /// The same where the functions are no cones.
  Leaf solve_corrected(const Vector& x, const std::vector<Domain>& domains,
                       const std::vector<std::size_t>& numbers, double paid);
  /// The same under several cones or rules.
  Leaf solve_intersection(const Vector& x, const std::vector<Domain>& domains,
                          const std::vector<std::size_t>& numbers, double paid);
  /// Offers the points near a bound, each once.
  void try_choices(const MixedNode& node, const Room& room, const DualBound& bound);
  /// How much of g the point misses; 0 also where it was tried before.
  double try_point(const MixedNode& node, const Room& room, const std::vector<Choice>& choices);
  void offer(const Vector& x);

  void branch(MixedNode& node, const Room& room, const DualBound& bound);
  bool branch_on_forbidden(const MixedNode& node);
  void split(const MixedNode& node, std::size_t u, const Choice& below, const Choice& above);
  void push(const MixedNode& parent, std::size_t u, Domain domain);

  [[nodiscard]] Judged evaluate(VectorArg x);
  [[nodiscard]] Cut make_cut(const Support& at) const;
  /// The half-space gradientᵀ(x − query) ≥ need.
  [[nodiscard]] Cut make_cut(Vector gradient, double need) const;
  [[nodiscard]] std::optional<Cut> make_cut(const IntersectionProblem& box,
                                            const ConeWeights& weights, double& size) const;
  /// The cut of what the point misses by most; nothing where it satisfies all.
  [[nodiscard]] std::optional<Cut> violated_cut(VectorArg x);
  void add_cut(Cut cut);
  /// The cut at the cheapest point of the box around the node.
  void add_relaxed_cut(MixedNode& node);
  [[nodiscard]] BoxProblem relaxed_box(const MixedNode& node) const;
  /// The box of what is left when everything discrete is decided, around x.
  [[nodiscard]] BoxProblem number_box(const Vector& x, const std::vector<Domain>& domains,
                                      const std::vector<std::size_t>& numbers) const;
  [[nodiscard]] IntersectionProblem intersection(const BoxProblem& box) const;
  [[nodiscard]] Vector point_of(const std::vector<Choice>& choices) const;
  void place(Vector& x, std::size_t u, const Choice& choice) const;
  [[nodiscard]] double cost_of(const Vector& x) const;
  [[nodiscard]] double scale(const Support& at) const {
    return at.scale + std::abs(problem_->threshold);
  }
  /// How much of what a solution must have a part misses.
  [[nodiscard]] double missing(const Support& at) const {
    return problem_->threshold + problem_->margin * scale(at) - at.proved;
  }
  [[nodiscard]] double enough() const { return best_cost_ * (1 - 1e-10); }

  RobustOracle* oracle_;
  const MixedProblem* problem_;
  bool is_plain_;                  // one function and no rule
  bool mixes_ = false;             // more than one constraint was seen to bind
  std::vector<Support> supports_;  // of all parts, where one was evaluated last
  std::vector<UnitView> units_;
  bool has_numbers_ = false;  // without grid
  bool relaxes_well_ = true;  // numbers and grids under squared costs only
  DualSolver dual_;
  std::vector<Cut> cuts_;  // the most useful first
  Cut node_cut_;           // the best for the node in work
  std::vector<MixedNode> open_;
  std::unordered_set<std::uint64_t> tried_;
  std::size_t sequence_ = 0;

  bool found_ = false;
  Vector best_;
  double best_cost_;  // the cutoff until something is found
  double unresolved_ = std::numeric_limits<double>::infinity();  // bound of leaves left open
  double touched_bound_ = 0;                                     // of all, by search_touching()
};

}  // namespace ellice

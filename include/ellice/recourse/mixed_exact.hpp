#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/recourse/problem.hpp"
#include "ellice/solver/branch_and_bound.hpp"

namespace ellice {

constexpr int default_nodes = 5000;

struct ExactOptions {
  std::optional<int> max_changes = {};
  bool sparse = false;
  bool trade_off = false;
  int plans = 1;
  std::optional<int> node_limit = {};  // none: default_nodes, or fewer where each takes long
  std::optional<double> time_limit = {};

  static void fields(auto& self, auto&& visit) {
    visit("max_changes", self.max_changes, at_least(1),
          "no answer changes more features than this");
    visit("sparse", self.sparse, any_value(), "the fewest changes, then the nearest of these");
    visit("trade_off", self.trade_off, any_value(),
          "one answer per number of changes, from the fewest on, as long as more make it cheaper");
    visit("plans", self.plans, at_least(1),
          "different answers per query: none changes all that an earlier one changes");
    visit("node_limit", self.node_limit, at_least(1),
          "parts into which a search may split before it states its gap instead; 5000 where not "
          "given, over the true set 1000");
    visit("time_limit", self.time_limit, greater_than(0),
          "seconds per search after which it states its gap; answers then depend on the machine");
  }
  bool operator==(const ExactOptions&) const = default;
};

/// The nearest certified row of one query under a linear model when whole numbers, levels,
/// categories, grids, charges per change or a limit of changes take part: found by branch and
/// bound, with proof. Threads may share it.
class MixedExact {
 public:
  /// Solves the problems that it makes; solve_mixed() with the factor, unless another set is meant.
  using Solver = std::function<MixedResult(const MixedProblem&)>;
  /// All must outlive it.
  MixedExact(const Problem& problem, const Assembler& assembler,
             const std::vector<BoxFactor>& cones, const ExactOptions& options);
  MixedExact(const Problem& problem, const Assembler& assembler, Solver solver,
             const ExactOptions& options);

  /// Whether a query needs this search: something discrete may change, changes are counted, there
  /// are rules or several cones.
  [[nodiscard]] bool is_needed(const FeasibleSet& feasible) const;

  /// Sets of features, each the changes of an earlier plan.
  using Plans = std::vector<std::vector<std::size_t>>;

  enum class Outcome {
    answered,
    impossible,  // proved by the search: no row passes
    blocked,     // the search ended, or what it found did not pass as a row; see the message
  };
  /// Fills in the nearest row that changes no earlier plan's whole set.
  [[nodiscard]] Outcome answer(Recourse& result, const FeasibleSet& feasible,
                               const Plans& earlier) const;

 private:
  struct Layout;
  struct Found;
  [[nodiscard]] Layout lay_out(const FeasibleSet& feasible, bool display_grids) const;
  [[nodiscard]] MixedProblem problem_for(const Layout& layout, const FeasibleSet& feasible,
                                         const Plans& earlier, double margin) const;
  /// The best of the feasible set's branches.
  [[nodiscard]] Found search(const FeasibleSet& feasible, const Plans& earlier,
                             double margin) const;
  [[nodiscard]] Found search_branch(const FeasibleSet& feasible, const Plans& earlier,
                                    double margin) const;
  [[nodiscard]] Found fewest(MixedProblem mixed) const;
  [[nodiscard]] Vector row(const Layout& layout, const FeasibleSet& feasible,
                           const Vector& point) const;

  const Problem* problem_;
  const Assembler* assembler_;
  const std::vector<BoxFactor>* cones_ = nullptr;  // none where a solver was given
  Solver solver_;
  ExactOptions options_;
};

}  // namespace ellice

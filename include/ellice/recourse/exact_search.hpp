#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/recourse/generator.hpp"

namespace ellice {

struct ExactOptions {
  std::optional<int> max_changes = {};
  bool sparse = false;
  bool trade_off = false;
  int plans = 1;
  std::optional<int> node_limit = {};  // none: 5000, or fewer where each takes long
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

class LinearQuestion;
class MixedExact;
class NumberSearch;
struct ConeProjection;

/// The nearest certified row for linear models, proved, for every set of heads: ellipsoids, the
/// true set, ensembles, several classes. For one ellipsoid and the cost l2 a whole block of queries
/// is first projected without its ranges (two matrix products around scalar solves); where the
/// answer leaves a query's box the box is solved (NumberSearch). Whole numbers, levels, categories,
/// grids, rules, limits of changes and several parts are left to branch and bound (MixedExact). The
/// answer is checked and certified like any other.
///
/// Statuses: optimal when the certified gap is at most 1e-9; certified with its gap otherwise,
/// where the search ended early or numbers were rounded for display; infeasible when even the
/// relaxation without grids and with categories in parts is, with the proof; not_found with a
/// message when only the discrete values or limits rule everything out, since that is proved by
/// exhausting the search, which no file can show.
class ExactSearch final : public Generator {
 public:
  /// `problem` must outlive the generator. Throws Error{argument} for what this method does not do.
  explicit ExactSearch(const Problem& problem, const ExactOptions& options = {});
  ~ExactSearch() override;

  /// Up to `plans` answers per query, in the order of the queries, plans counted from 0.
  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  /// `free`: the projection without ranges, where it was made.
  [[nodiscard]] std::vector<Recourse> answer(const Query& query, const FeasibleSet& feasible,
                                             const ConeProjection* free) const;
  void answer_numbers(Recourse& result, const FeasibleSet& feasible,
                      const ConeProjection* free) const;
  void answer_mixed(Recourse& result, const FeasibleSet& feasible) const;
  /// On very fine grids the tree ends early, while rounding the continuous optimum is nearly
  /// optimal: the cheaper of both, with the tree's bound.
  void prefer_rounded(Recourse& result, Recourse candidate, const FeasibleSet& feasible) const;
  void explain_no_answer(Recourse& result, const FeasibleSet& feasible) const;
  void add_plans(std::vector<Recourse>& plans, const Query& query,
                 const FeasibleSet& feasible) const;
  /// One answer per further number of changes, as long as that makes it cheaper.
  void add_trade_off(std::vector<Recourse>& plans, const Query& query, const FeasibleSet& feasible,
                     const ConeProjection* free) const;

  const Problem* problem_;
  ExactOptions options_;
  Assembler assembler_;
  std::unique_ptr<const LinearQuestion> question_;
  std::unique_ptr<const MixedExact> mixed_;
  std::unique_ptr<const NumberSearch> numbers_;
};

/// Why the exact search cannot take a problem; empty where it can.
[[nodiscard]] std::string why_not_exact(const Problem& problem);

}  // namespace ellice

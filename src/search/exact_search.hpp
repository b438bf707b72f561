#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"
#include "search/generator.hpp"

namespace ellice {

class LinearQuestion;
class MixedExact;
class NumberSearch;
struct CommonGround;
struct ConeProjection;
struct NumberScratch;

/// What people without an answer are told. The reasons take much longer than the search: where only
/// answers count, such people are `not_found`.
enum class NoAnswer { explained, stated };

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
  explicit ExactSearch(const Problem& problem, const ExactOptions& options = {},
                       NoAnswer without = NoAnswer::explained);
  ~ExactSearch() override;
  ExactSearch(const ExactSearch&) = delete;
  ExactSearch& operator=(const ExactSearch&) = delete;

  /// Up to `plans` answers per query, in the order of the queries, plans counted from 0.
  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  /// The nearest answer. `free`: the projection without ranges, where it was made.
  void answer(Answer& result, const FeasibleSet& feasible, const ConeProjection* free,
              NumberScratch& scratch) const;
  [[nodiscard]] bool has_further() const { return options_.trade_off || options_.plans > 1; }
  /// Those that come with it, it being the first.
  [[nodiscard]] std::vector<Answer> with_further(Answer first, const Query& query,
                                                 const FeasibleSet& feasible,
                                                 const ConeProjection* free,
                                                 NumberScratch& scratch) const;
  void answer_numbers(Answer& result, const FeasibleSet& feasible, const ConeProjection* free,
                      NumberScratch& scratch) const;
  void answer_mixed(Answer& result, const FeasibleSet& feasible, NumberScratch& scratch) const;
  /// On very fine grids the tree ends early, while rounding the continuous optimum is nearly
  /// optimal: the cheaper of both, with the tree's bound.
  void prefer_rounded(Answer& result, Answer candidate, const FeasibleSet& feasible,
                      NumberScratch& scratch) const;
  void explain_no_answer(Answer& result, const FeasibleSet& feasible,
                         bool is_exhausted = false) const;
  /// What can be said of everybody, found when it is first asked for.
  [[nodiscard]] const CommonGround& ground() const;
  /// Whether that alone says that there is no allowed row.
  [[nodiscard]] bool is_ruled_out(const CommonGround& common, const FeasibleSet& feasible) const;
  /// Whether it is known of everybody, and said of this one, that there is no answer.
  [[nodiscard]] bool is_out_of_reach(Answer& result, const FeasibleSet& feasible) const;
  void add_plans(std::vector<Answer>& plans, const Query& query, const FeasibleSet& feasible) const;
  /// One answer per further number of changes, as long as that makes it cheaper.
  void add_trade_off(std::vector<Answer>& plans, const Query& query, const FeasibleSet& feasible,
                     const ConeProjection* free, NumberScratch& scratch) const;

  const Problem* problem_;
  ExactOptions options_;
  NoAnswer without_;
  Assembler assembler_;
  std::unique_ptr<const LinearQuestion> question_;
  std::unique_ptr<const MixedExact> mixed_;
  std::unique_ptr<const NumberSearch> numbers_;
  struct Common;
  std::unique_ptr<Common> common_;
};

/// Why the exact search cannot take a problem; empty where it can.
[[nodiscard]] std::string why_not_exact(const Problem& problem);
/// The same, and why these options do not go together or not with the problem.
[[nodiscard]] std::string why_not_exact(const Problem& problem, const ExactOptions& options);

/// The parts into which a search may split where no limit is asked for.
[[nodiscard]] int usual_node_limit(const Problem& problem);

}  // namespace ellice

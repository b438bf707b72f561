#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/model/model.hpp"
#include "ellice/recourse/generator.hpp"
#include "ellice/recourse/gradient.hpp"

namespace ellice {

struct NetworkSearchOptions {
  int row_starts = 2;
  int random_starts = 4;
  int max_iterations = 25;
  int discrete_nodes = 200;
  std::optional<int> max_changes = {};
  bool sparse = false;
  int plans = 1;
  std::uint64_t seed = 1;

  static void fields(auto& self, auto&& visit) {
    visit("row_starts", self.row_starts, at_least(0), "robust training rows to start from");
    visit("random_starts", self.random_starts, at_least(0),
          "random points to start from where there are no training rows");
    visit("max_iterations", self.max_iterations, at_least(1), "quadratic steps per start");
    visit("discrete_nodes", self.discrete_nodes, at_least(0),
          "solves that choose whole numbers and levels; 0 keeps the query's");
    visit("max_changes", self.max_changes, at_least(1),
          "no answer changes more features than this");
    visit("sparse", self.sparse, any_value(), "few changes, then the nearest of these");
    visit("plans", self.plans, at_least(1),
          "different answers per query: none changes all that an earlier one changes");
    visit("seed", self.seed, any_value(), "of the random points");
  }
  bool operator==(const NetworkSearchOptions&) const = default;
};

class RowStarts;
struct QueryContext;

/// Near certified points for networks and every set of models: sequential quadratic steps from
/// several starts (the query, a descent from it, the centre of class 1, the nearest robust training
/// rows), the shortest answer that is certified as it is written. Works for linear models too.
/// Grid features are rounded to the side on which the robust logit grows, the others solved again.
/// Whole numbers and levels are first kept at the query's values and then chosen by a bounded,
/// deterministic search with the same steps inside, which also begins at the nearest robust
/// training rows with the levels they have; categories are never fractional.
///
/// Few changes: which features may change is chosen by a beam over sets of them (FewFeatures), and
/// each set that leads somewhere is searched as above with the other features locked. Several plans
/// come from locking, in turn, one feature of every plan that a new one must not contain. Neither
/// proves that nothing better exists.
///
/// Statuses: certified, without a gap, since the problem is not convex and nothing is proved of
/// shorter answers; already_robust; reduced, where the ε asked for is not reached, with the largest
/// one that is (to 1e-3, by bisection) and a certificate for that; not_found where no point was
/// found that the model itself accepts.
class NetworkSearch final : public Generator {
 public:
  /// `problem` must outlive the generator; `rows` (optional, encoded training rows) are judged
  /// here, in one pass. Throws Error{argument} for a cost other than l2 and
  /// mixed.
  explicit NetworkSearch(const Problem& problem, const StoredRows* rows = nullptr,
                         const NetworkSearchOptions& options = {}, const Execution& execution = {});
  ~NetworkSearch() override;

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  using Features = std::vector<std::size_t>;

  /// The first plan and, if asked for, others.
  [[nodiscard]] std::vector<Recourse> answer(const Query& query) const;
  /// Tight rules are borders along which steps get stuck: tries again with each feature that
  /// changes kept as it is.
  void improve(Recourse& best, const Query& query) const;
  void add_plans(std::vector<Recourse>& plans, const Query& query) const;
  /// The answer that keeps these features, with as few changes as the options ask for.
  [[nodiscard]] Recourse answer_without(const Query& query, const Features& kept) const;
  /// Few of the features change; `nearest` is the answer without that wish.
  [[nodiscard]] Recourse change_few(const Query& query, const Features& kept,
                                    Recourse nearest) const;
  /// The nearest answer that keeps these features.
  [[nodiscard]] Recourse nearest_without(const Query& query, const Features& kept) const;
  [[nodiscard]] FeasibleSet feasible_without(const Query& query, const Features& kept,
                                             Constraints& constraints) const;
  [[nodiscard]] QueryContext context_of(const Query& query, const FeasibleSet& feasible) const;
  [[nodiscard]] Recourse nearest(const Query& query, const FeasibleSet& feasible) const;
  /// Chooses whole numbers and levels: the result becomes what is certified and cheaper. Gives the
  /// rows whose values are worth a try where nothing is certified.
  [[nodiscard]] std::vector<Vector> choose(Recourse& result, const Recourse& blank,
                                           const QueryContext& context) const;
  /// The largest ε with the whole numbers and levels of these rows, if larger than the result's.
  void reduce(Recourse& result, const Recourse& blank, const QueryContext& context,
              const std::vector<Vector>& rows) const;

  const Problem* problem_;
  NetworkSearchOptions options_;
  Assembler assembler_;
  Vector weights_;
  std::unique_ptr<RowStarts> rows_;
  GradientSearch gradient_;  // whose answer counts where certificates are refused
};

}  // namespace ellice

#pragma once

#include <cstdint>
#include <memory>
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
  std::uint64_t seed = 1;

  static void fields(auto& self, auto&& visit) {
    visit("row_starts", self.row_starts, at_least(0), "robust training rows to start from");
    visit("random_starts", self.random_starts, at_least(0),
          "random points to start from where there are no training rows");
    visit("max_iterations", self.max_iterations, at_least(1), "quadratic steps per start");
    visit("discrete_nodes", self.discrete_nodes, at_least(0),
          "solves that choose whole numbers and levels; 0 keeps the query's");
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
  [[nodiscard]] Recourse answer(const Query& query) const;
  /// In a branch of what the query may become.
  [[nodiscard]] Recourse answer(const Query& query, const FeasibleSet& feasible) const;
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

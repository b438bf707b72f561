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
  std::uint64_t seed = 1;

  static void fields(auto& self, auto&& visit) {
    visit("row_starts", self.row_starts, at_least(0), "robust training rows to start from");
    visit("random_starts", self.random_starts, at_least(0),
          "random points to start from where there are no training rows");
    visit("max_iterations", self.max_iterations, at_least(1), "quadratic steps per start");
    visit("seed", self.seed, any_value(), "of the random points");
  }
  bool operator==(const NetworkSearchOptions&) const = default;
};

class RowStarts;

/// Near certified points for networks and every set of models: sequential quadratic steps from
/// several starts (the query, a descent from it, the centre of class 1, the nearest robust training
/// rows), the shortest answer that is certified as it is written. Works for linear models too.
/// Grid features are rounded to the side on which the robust logit grows, the others solved again.
///
/// Statuses: certified, without a gap, since the problem is not convex and nothing is proved of
/// shorter answers; already_robust; reduced, where the ε asked for is not reached, with the largest
/// one that is (to 1e-3, by bisection) and a certificate for that; not_found where no point was
/// found that the model itself accepts.
class NetworkSearch final : public Generator {
 public:
  /// `problem` must outlive the generator; `rows` (optional, encoded training rows) are judged
  /// here, in one pass. Throws Error{argument} for a cost other than l2.
  explicit NetworkSearch(const Problem& problem, const StoredRows* rows = nullptr,
                         const NetworkSearchOptions& options = {}, const Execution& execution = {});
  ~NetworkSearch() override;

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  [[nodiscard]] Recourse answer(const Query& query) const;

  const Problem* problem_;
  NetworkSearchOptions options_;
  Assembler assembler_;
  Vector weights_;
  std::unique_ptr<RowStarts> rows_;
  GradientSearch gradient_;  // whose answer counts where certificates are refused
};

}  // namespace ellice

#pragma once

#include <cstdint>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"
#include "search/generator.hpp"
#include "search/gradient.hpp"

namespace ellice {

/// The paper's method for mixed features, for every model and set: numbers move by Adam inside
/// their ranges, each category by a softmax of logits ζ with Gumbel noise,
///
///   y_k = e^{(ζ_k+n_k)/τ} / Σ_l e^{(ζ_l+n_l)/τ},   over the levels that the constraints allow,
///
/// both down the gradient of the paper's loss (GradientObjective). At every step rows are drawn,
/// whole levels by ζ and numbers rounded to their grids; the first one that is certified ends the
/// descent, and of that many further draws at the same numbers the cheapest certified row is the
/// answer. Each query has its own stream of random numbers.
///
/// Statuses: certified, already_robust, not_found.
class GumbelSearch final : public Generator {
 public:
  /// `problem` must outlive the generator. Of the gradient options the weights of the loss, the
  /// step, its number and the patience count; their preset must be corrected.
  explicit GumbelSearch(const Problem& problem, const GumbelOptions& options = {},
                        const GradientOptions& gradient = {});

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  [[nodiscard]] Answer answer(const Query& query) const;
  /// In a branch of what the query may become.
  [[nodiscard]] Answer answer(const Query& query, const FeasibleSet& feasible) const;

  const Problem* problem_;
  GumbelOptions options_;
  GradientSettings settings_;
  Assembler assembler_;
};

}  // namespace ellice

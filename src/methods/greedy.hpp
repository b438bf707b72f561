#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"
#include "search/generator.hpp"
#include "search/gradient.hpp"

namespace ellice {

/// The paper's Algorithm 3, few changes by greedy choice: an optimisation of all features that may
/// change ranks them by the gradients it sees; then one after another is let go, in that order, and
/// those let go are optimised until the row is certified. The units are original features. Whole
/// numbers are rounded; a category that is let go takes the allowed level with the largest robust
/// logit, so that none is ever fractional.
///
/// Statuses: certified, already_robust, not_found.
class GreedySearch final : public Generator {
 public:
  /// `problem` must outlive the generator. Of the gradient options the weights of the loss, the
  /// step, its number and the patience count; their preset must be corrected.
  explicit GreedySearch(const Problem& problem, const GreedyOptions& options = {},
                        const GradientOptions& gradient = {});

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;
  /// The features that the constraints let change, in the order in which they are let go.
  [[nodiscard]] std::vector<std::size_t> ranking(const Query& query) const;

 private:
  [[nodiscard]] FeasibleSet feasible_of(const Query& query) const;
  [[nodiscard]] Answer answer(const Query& query) const;
  /// In a branch of what the query may become.
  [[nodiscard]] Answer answer(const Query& query, const FeasibleSet& feasible) const;
  [[nodiscard]] std::vector<std::size_t> ranking(const FeasibleSet& feasible) const;

  const Problem* problem_;
  GreedyOptions options_;
  GradientSettings settings_;
  Assembler assembler_;
  Vector weights_;
};

}  // namespace ellice

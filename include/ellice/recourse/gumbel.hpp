#pragma once

#include <cstdint>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/recourse/generator.hpp"
#include "ellice/recourse/gradient.hpp"

namespace ellice {

struct GumbelOptions {
  double temperature = 0.5;
  double cooling = 0.99;
  double own_logit = 3;
  int samples = 4;
  int extra_samples = 200;
  std::uint64_t seed = 1;

  static void fields(auto& self, auto&& visit) {
    visit("temperature", self.temperature, greater_than(0), "τ of the relaxed categories at first");
    visit("cooling", self.cooling, between(0.5, 1),
          "factor on τ per step, down to a tenth of it; 1 keeps it, as the paper does");
    visit("own_logit", self.own_logit, at_least(0),
          "lead that the query's own level of a category has at first");
    visit("samples", self.samples, at_least(1), "discrete candidates drawn per step");
    visit("extra_samples", self.extra_samples, at_least(0),
          "further candidates once one is certified");
    visit("seed", self.seed, any_value(), "of all draws");
  }
  bool operator==(const GumbelOptions&) const = default;
};

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

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  [[nodiscard]] Recourse answer(const Query& query) const;
  /// In a branch of what the query may become.
  [[nodiscard]] Recourse answer(const Query& query, const FeasibleSet& feasible) const;

  const Problem* problem_;
  GumbelOptions options_;
  GradientSettings settings_;
  Assembler assembler_;
};

}  // namespace ellice

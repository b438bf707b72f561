#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/sets/variant.hpp"
#include "search/generator.hpp"

namespace ellice {

struct RoarOptions {
  Variant variant = Variant::corrected;
  double delta = 0.1;
  std::uint64_t seed = 0;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(),
          "the compared methods as the paper's authors ran them, or corrected");
    visit("delta", self.delta, at_least(0), "how far every weight of the surrogate may move");
    visit("seed", self.seed, any_value(), "seed of the surrogate's samples");
  }
  bool operator==(const RoarOptions&) const = default;
};

/// A linear function whose coefficients and constant may each move by up to δ. Its worst value at x
/// is f_w(x) = cᵀx + c₀ − δ·(1 + ‖x‖₁), a concave function.
struct UncertainLine {
  Vector slope = {};
  double constant = 0;
  double delta = 0;
  [[nodiscard]] double worst(VectorArg x) const {
    return slope.dot(x) + constant - delta * (1 + x.lpNorm<1>());
  }
};

/// The minimiser over a box of ρ·ln(1 + e^{−f_w(x)}) + γ·‖x − q‖₁ with the smallest ρ ≥ 1 for which
/// f_w ≥ `least` there; where no ρ achieves that, the point with the largest f_w that is nearest to
/// q. Exact: both terms are sums over the columns, so that it is one walk along the best slopes
/// (theory.md, Result 45).
[[nodiscard]] Vector nearest_by_slopes(const UncertainLine& line, VectorArg query, const Box& box,
                                       double proximity, double least);

/// ROAR (Upadhyay et al., 2021): robust to changes of a linear surrogate's coefficients, under
/// ln(1 + e^{−f_w}) + 0.01·‖x − x₀‖₁.
///
/// published: the surrogate of a network is LIME's regression of the *probability* on samples
/// around the training mean, used as if it were a logit; Adam with amsgrad, at most 2000 steps of
/// 0.01, until the loss changes by at most 0.001. Returned whatever it is, brought into no range
/// and rounded to whole numbers and levels only, which move like numbers. corrected: linear models
/// are solved exactly, inside the query's ranges, with the loss's weight raised until f_w ≥ 0. For
/// networks the logit is linearised at the present point, solved within a trust region and
/// linearised again, at most 50 times: a heuristic without any guarantee. not_found unless f_w ≥ 0
/// at the row as it is written; a query with f_w ≥ 0 stays as it is. Whole numbers and ordinal
/// levels move like numbers and are rounded, categories keep the query's level.
///
/// Knows nothing of the set of models: rows are judged afterwards, certified or uncertified.
class Roar final : public Generator {
 public:
  /// `problem` must outlive the generator. `rows` (model space) are those of the training; only
  /// published answers for networks need them.
  explicit Roar(const Problem& problem, const RoarOptions& options = {},
                const RowMatrix* rows = nullptr);
  ~Roar() override;

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

  /// The surrogate at a point (model space): the model itself where it is linear; for networks
  /// LIME's (published), or the linearised logit (corrected). The threshold is taken off.
  [[nodiscard]] UncertainLine surrogate(VectorArg x) const;

 private:
  struct Lime;
  [[nodiscard]] Vector run_published(const FeasibleSet& feasible) const;
  void run_corrected(Answer& answer, const FeasibleSet& feasible) const;
  /// The end of the linearisations inside one box.
  [[nodiscard]] Vector solve(const FeasibleSet& feasible, const Box& box, double least) const;
  [[nodiscard]] double worst(VectorArg x) const;

  const Problem* problem_;
  RoarOptions options_;
  Assembler assembler_;
  std::unique_ptr<Lime> lime_;  // published, networks
};

}  // namespace ellice

#pragma once

#include <memory>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/sets/variant.hpp"
#include "methods/interval_robustness.hpp"
#include "search/generator.hpp"

namespace ellice {

class SupportedRows;

struct DeltaOptions {
  Variant variant = Variant::corrected;
  double delta = 0.01;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(),
          "the compared methods as the paper's authors ran them, or corrected");
    visit("delta", self.delta, at_least(0),
          "how far every weight and bias may move (delta, proplace), or the weights of the "
          "surrogate (roar)");
  }
  bool operator==(const DeltaOptions&) const = default;
};

/// sup {δ : robust} of each row (model space): computed once, it serves every δ.
[[nodiscard]] Vector largest_deltas(const Problem& problem, RowMatrixArg encoded, Variant variant,
                                    const Execution& execution = {});

/// 25 values of δ, log-spaced from D/100 to D, the largest δ for which some row is robust: a grid
/// that adapts itself to the scale of the parameters. Empty where no row is robust for any.
[[nodiscard]] Vector delta_grid(const Vector& largest);

/// RNCE (Jiang et al., 2024): the nearest training row whose class no network of the box |Θ−Θ̂| ≤ δ
/// changes (interval_robustness.hpp). Knows neither the set of models nor, by its nature,
/// constraints: every row is judged afterwards, certified or uncertified. corrected takes only rows
/// that meet the query's constraints, and is not_found without one; a query that is robust itself
/// stays as it is. published, with its unsound
/// check, looks at no constraints and returns the query where it finds nothing.
class DeltaRows final : public Generator {
 public:
  /// `rows` as in Dataset::raw. `problem` must outlive the generator. Throws Error{argument} for
  /// networks that are not of relu or have more than two hidden layers.
  DeltaRows(const Problem& problem, RowMatrixArg rows, const DeltaOptions& options = {},
            const Execution& execution = {});
  /// With known largest_deltas of the rows.
  DeltaRows(const Problem& problem, RowMatrixArg rows, const Vector& largest,
            const DeltaOptions& options);
  ~DeltaRows() override;

  [[nodiscard]] Index robust_rows() const { return robust_; }
  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  DeltaOptions options_;
  IntervalRobustness check_;  // corrected, whatever the variant
  Index all_ = 0;
  Index robust_ = 0;
  double widest_ = 0;  // the largest δ of any row
  std::unique_ptr<SupportedRows> rows_;
};

}  // namespace ellice

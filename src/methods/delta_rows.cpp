#include "methods/delta_rows.hpp"

#include <cmath>

#include "ellice/core/error.hpp"
#include "methods/interval_robustness.hpp"
#include "search/supported_rows.hpp"

namespace ellice {

Vector largest_deltas(const Problem& problem, RowMatrixArg encoded, Variant variant,
                      const Execution& execution) {
  require_relu(problem.model->network, "interval robustness (`method: delta` and proplace)");
  return IntervalRobustness(problem.model->network, problem.threshold, variant)
      .largest_deltas(encoded, execution);
}

Vector delta_grid(const Vector& largest) {
  const double widest = largest.size() > 0 ? largest.maxCoeff() : 0;
  if (!(widest > 0)) return {};
  Vector grid(25);
  for (Index j = 0; j < grid.size(); ++j)
    grid[j] = widest * std::pow(0.01, 1 - static_cast<double>(j) / 24);
  return grid;
}

DeltaRows::DeltaRows(const Problem& problem, RowMatrixArg rows, const DeltaOptions& options,
                     const Execution& execution)
    : DeltaRows(
          problem, rows,
          largest_deltas(problem, problem.model->encoder.encode(rows), options.variant, execution),
          options) {}

DeltaRows::DeltaRows(const Problem& problem, RowMatrixArg rows, const Vector& largest,
                     const DeltaOptions& options)
    : options_(options), check_(problem.model->network, problem.threshold), all_(rows.rows()) {
  validate(options, "DeltaOptions");
  require(largest.size() == rows.rows(), "{} deltas for {} rows", largest.size(), rows.rows());
  std::vector<Index> chosen;
  for (Index i = 0; i < rows.rows(); ++i)
    if (largest[i] > options.delta) chosen.push_back(i);
  robust_ = static_cast<Index>(chosen.size());
  if (all_ > 0) widest_ = largest.maxCoeff();
  rows_ = std::make_unique<SupportedRows>(problem, rows, chosen, options.variant);
}

DeltaRows::~DeltaRows() = default;

std::vector<Answer> DeltaRows::generate(const std::vector<Query>& queries,
                                        const Execution& execution) const {
  const auto is_enough = [&](const Vector& x) { return check_.is_robust(x, options_.delta); };
  return rows_->answer(queries, execution, is_enough, [&] {
    if (robust_ > 0)
      return fmt::format("{} of the {} training rows are robust at delta = {}", robust_, all_,
                         options_.delta);
    return fmt::format(
        "none of the {} training rows is robust at delta = {}; the largest delta of any is {:.6g}",
        all_, options_.delta, widest_);
  });
}

}  // namespace ellice

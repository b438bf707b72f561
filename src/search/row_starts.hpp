#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/model/model.hpp"
#include "request/feasible_set.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

/// min (f_k(x) − t)/s_k(x) over the models of a set: the largest κ for which all of them give x at
/// least t; negative where some f_k(x) < t.
[[nodiscard]] double largest_radius(RobustFunction& function, double threshold, VectorArg x);

/// Where the gradient method ends inside a box: at the first point whose worst logit at κ is at
/// least `floor`, or where it gets no farther.
[[nodiscard]] Vector climb(RobustFunction& function, double kappa, double threshold, double floor,
                           const Vector& query, const Box& box, const Vector& start);

/// Which rows count for a query whose categories are searched.
struct StartFilter {
  std::vector<bool> must_lie_inside = {};          // columns that are not brought into the box
  std::function<bool(VectorArg row)> allows = {};  // a row that lies in the box as it is
};

/// Training rows as places where a search can begin, judged once for every κ.
class RowStarts {
 public:
  /// `rows` may have no labels; then there is no centroid.
  RowStarts(const StoredRows& rows, const UncertaintySet& set, double threshold,
            int favourable_label, const Execution& execution);

  /// The mean of the rows of the favourable class.
  [[nodiscard]] const std::optional<Vector>& centroid() const { return centroid_; }

  /// Rows robust at κ, brought into the box: the `count` nearest to the query, and the nearest one
  /// that lies in the box as it is, which therefore stays robust. Looks at `most_rows` of them,
  /// evenly spread.
  [[nodiscard]] std::vector<Vector> nearest(VectorArg query, VectorArg weights, const Box& box,
                                            double kappa, std::size_t count, Index most_rows,
                                            const StartFilter* filter = nullptr) const;
  /// The same rows by falling κ for which they are robust: `count` of them, in the box as they are
  /// or brought there.
  [[nodiscard]] std::vector<Vector> most_robust(const Box& box, std::size_t count) const;

 private:
  std::optional<Vector> centroid_;
  RowMatrix rows_;             // that the model accepts, by falling radius
  std::vector<double> radii_;  // largest κ of each
};

}  // namespace ellice

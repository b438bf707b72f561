#include "search/row_starts.hpp"

#include <algorithm>
#include <numeric>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "search/gradient.hpp"
#include "solver/adam.hpp"

namespace ellice {

namespace {

// Rows that are judged by one call.
constexpr Index judged_rows = 256;
// What sums of squares in another order may differ by, as a share.
constexpr double other_order = 1e-12;

}  // namespace

double largest_radius(RobustFunction& function, double threshold, VectorArg x) {
  double smallest = infinity;
  for (Index k = 0; k < function.parts(); ++k) {
    const RobustScore score = function.value(k, x);
    const double excess = score.logit - threshold;
    smallest = std::min(smallest, score.spread > 0 ? excess / score.spread
                                  : excess >= 0    ? infinity
                                                   : -infinity);
  }
  return smallest;
}

Vector climb(RobustFunction& function, double kappa, double threshold, double floor,
             const Vector& query, const Box& box, const Vector& start) {
  // The way of the gradient method, so that no answer is longer than its.
  const GradientSettings settings = settings_of({});
  GradientObjective objective(function, kappa * kappa / 2, settings, threshold);
  Vector point = start;
  Adam adam(point.size());
  double highest = -infinity;
  for (int step = 0, idle = 0; step < settings.max_steps && idle < settings.patience;
       ++step, ++idle) {
    check_stop();
    const GradientObjective::Value value = objective.evaluate(query, point);
    if (floor <= value.robust_logit || !value.gradient.allFinite()) break;
    if (value.robust_logit > highest) {
      highest = value.robust_logit;
      idle = 0;
    }
    adam.step(value.gradient, settings.step, box.lower, box.upper, point);
  }
  return point;
}

RowStarts::RowStarts(const StoredRows& rows, const UncertaintySet& set, double threshold,
                     int favourable_label, const Execution& execution) {
  const RowMatrix& encoded = rows.encoded;
  require(rows.labels.empty() || static_cast<Index>(rows.labels.size()) == encoded.rows(),
          "there are {} labels for {} rows", rows.labels.size(), encoded.rows());
  require(encoded.allFinite(), "a training row has an entry that is not finite");
  Vector radii(encoded.rows());
  const Index blocks = (encoded.rows() + judged_rows - 1) / judged_rows;
  parallel_for("judging rows", static_cast<std::size_t>(blocks), execution, [&](std::size_t block) {
    const std::unique_ptr<RobustFunction> function = set.function();
    const Index first = static_cast<Index>(block) * judged_rows;
    const Index end = std::min(first + judged_rows, encoded.rows());
    for (Index i = first; i < end; ++i) {
      radii[i] = largest_radius(*function, threshold, encoded.row(i).transpose());
    }
  });
  std::vector<Index> order;
  for (Index i = 0; i < encoded.rows(); ++i) {
    if (radii[i] >= 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return radii[a] > radii[b]; });
  rows_ = encoded(order, Eigen::all);
  for (const Index i : order) radii_.push_back(radii[i]);

  Vector sum = Vector::Zero(encoded.cols());
  int favourable = 0;
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    if (rows.labels[i] != favourable_label) continue;
    sum += encoded.row(static_cast<Index>(i)).transpose();
    ++favourable;
  }
  if (favourable > 0) centroid_ = sum / favourable;
}

std::vector<Vector> RowStarts::nearest(VectorArg query, VectorArg weights, const Box& box,
                                       double kappa, std::size_t count, Index most_rows,
                                       const StartFilter* filter) const {
  // Sorted by falling radius: those robust at κ are the first.
  const auto robust = static_cast<Index>(
      std::lower_bound(radii_.begin(), radii_.end(), kappa, std::greater_equal<>()) -
      radii_.begin());
  const Index stride = std::max<Index>(1, (robust + most_rows - 1) / most_rows);
  struct Near {
    double distance = infinity;
    Index row = -1;
  };
  std::vector<Near> best(count);  // nearest first
  Near inside;
  for (Index r = 0; r < robust; r += stride) {
    const double* row = rows_.row(r).data();
    // Most rows are farther than those that are known, which is seen side by side, to rounding.
    const Eigen::Map<const Vector> whole(row, query.size());
    const double roughly =
        (weights.array() * (whole.cwiseMax(box.lower).cwiseMin(box.upper) - query).array().square())
            .sum();
    const auto is_farther = [&](const Near& near) {
      return roughly > (1 + other_order) * near.distance;
    };
    if ((count == 0 || is_farther(best.back())) &&
        (is_farther(inside) || (whole.array() < box.lower.array()).any() ||
         (whole.array() > box.upper.array()).any()))
      continue;
    double distance = 0;
    bool is_inside = true;
    bool counts = true;
    for (Index i = 0; i < query.size() && counts; ++i) {
      const double clipped = std::clamp(row[i], box.lower[i], box.upper[i]);
      is_inside = is_inside && clipped == row[i];
      counts = clipped == row[i] || filter == nullptr ||
               !filter->must_lie_inside[static_cast<std::size_t>(i)];
      distance += weights[i] * (clipped - query[i]) * (clipped - query[i]);
    }
    if (!counts) continue;
    if (is_inside && distance < inside.distance &&
        (filter == nullptr || filter->allows(rows_.row(r).transpose())))
      inside = {.distance = distance, .row = r};
    if (count == 0 || distance >= best.back().distance) continue;
    best.back() = {.distance = distance, .row = r};
    for (std::size_t k = count - 1; k > 0 && best[k].distance < best[k - 1].distance; --k) {
      std::swap(best[k], best[k - 1]);
    }
  }
  const auto is_same = [&](const Near& near) { return near.row == inside.row; };
  if (std::none_of(best.begin(), best.end(), is_same)) best.push_back(inside);
  std::vector<Vector> result;
  for (const Near& near : best) {
    if (near.row < 0) continue;
    result.emplace_back(rows_.row(near.row).transpose().cwiseMax(box.lower).cwiseMin(box.upper));
  }
  return result;
}

std::vector<Vector> RowStarts::most_robust(const Box& box, std::size_t count) const {
  std::vector<Vector> result;
  for (Index r = 0; r < rows_.rows() && result.size() < count; ++r) {
    result.emplace_back(rows_.row(r).transpose().cwiseMax(box.lower).cwiseMin(box.upper));
  }
  return result;
}

}  // namespace ellice

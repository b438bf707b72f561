#pragma once

// What the searches of NearestRows share, and the two trees.

#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "solver/nearest.hpp"

namespace ellice {

/// The k nearest rows seen so far that pass the filter, by (distance, row).
class NearestSoFar {
 public:
  NearestSoFar(Index k, const RowFilter& filter, Index query)
      : k_(static_cast<std::size_t>(k)), filter_(&filter), query_(query) {}

  /// A row is of use only if its distance is at most this.
  [[nodiscard]] double worst() const { return worst_; }

  void offer(Index row, double distance) {
    if (distance > worst_) return;
    const Neighbour candidate{.row = row, .distance = distance};
    if (heap_.size() == k_ && !before(candidate, heap_.front())) return;
    if (*filter_ && !(*filter_)(query_, row)) return;
    insert(candidate);
  }
  /// Nearest first. Leaves nothing behind.
  [[nodiscard]] std::vector<Neighbour> take();

 private:
  static bool before(const Neighbour& a, const Neighbour& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.row < b.row);
  }
  void insert(const Neighbour& candidate);

  std::size_t k_;
  const RowFilter* filter_;
  Index query_;
  std::vector<Neighbour> heap_ = {};  // the farthest in front
  double worst_ = std::numeric_limits<double>::infinity();
};

/// The relative rounding of a sum of `terms` terms that are not negative, twice over: what two
/// evaluations of a distance, or of a distance and a bound, may differ by.
[[nodiscard]] inline double distance_rounding(Index terms) {
  return 2 * static_cast<double>(terms + 8) * std::numeric_limits<double>::epsilon();
}

class RowTree {
 public:
  virtual ~RowTree() = default;
  virtual void search(VectorArg query, NearestSoFar& nearest) const = 0;
};

/// The rows and the metric must outlive the tree.
[[nodiscard]] std::unique_ptr<RowTree> make_kd_tree(const RowMatrix& rows, const Metric& metric);
[[nodiscard]] std::unique_ptr<RowTree> make_bucket_tree(const RowMatrix& rows,
                                                        const Metric& metric);

}  // namespace ellice

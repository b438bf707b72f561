#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/solver/search_kind.hpp"

namespace ellice {

/// What separates a row x from a query q, Δ = x − q:
///
///   S + Σ absoluteⱼ·|Δⱼ| + group_cost·#{groups of columns in which some Δⱼ ≠ 0},
///
/// S = Σ squareⱼ·Δⱼ², or its root. Every term grows with |Δⱼ|, whence all the bounds of the search.
struct Metric {
  Vector square = {};    // weights >= 0, one per column, or empty for none
  Vector absolute = {};  // the same; empty with `root`
  bool root = false;
  double group_cost = 0;
  std::vector<Index> groups = {};  // first column of each group, increasing from 0; used only with
                                   // a group_cost

  [[nodiscard]] double distance(VectorArg from, VectorArg to) const;
};

[[nodiscard]] Metric weighted_squares(VectorArg weights);
[[nodiscard]] Metric weighted_absolutes(VectorArg weights);

struct Neighbour {
  Index row = 0;
  double distance = 0;
  bool operator==(const Neighbour&) const = default;
};

/// Whether a row may be an answer to a query (index within the batch). Called by several threads at
/// a time, and only for rows that would be among the nearest.
using RowFilter = std::function<bool(Index query, Index row)>;

class RowTree;

/// Exact nearest neighbours among fixed rows: what a loop over Metric::distance would find, the
/// smaller row index first among equals.
class NearestRows {
 public:
  /// Throws Error{argument} for weights that are negative or not finite, or of the wrong number,
  /// and for rows that are not finite.
  NearestRows(RowMatrix rows, Metric metric, SearchKind kind = SearchKind::automatic);
  ~NearestRows();
  NearestRows(NearestRows&&) noexcept;
  NearestRows& operator=(NearestRows&&) noexcept;
  NearestRows(const NearestRows&) = delete;
  NearestRows& operator=(const NearestRows&) = delete;

  [[nodiscard]] const RowMatrix& rows() const { return rows_; }
  [[nodiscard]] SearchKind kind() const { return kind_; }  // never automatic

  /// The k nearest rows that pass the filter, nearest first; fewer where there are not as many. The
  /// same for any number of threads.
  [[nodiscard]] std::vector<std::vector<Neighbour>> find(RowMatrixArg queries, Index k,
                                                         const RowFilter& filter = {},
                                                         const Execution& execution = {}) const;
  [[nodiscard]] std::vector<Neighbour> find_one(
      VectorArg query, Index k, const std::function<bool(Index row)>& filter = {}) const;

 private:
  RowMatrix rows_;
  Metric metric_;
  SearchKind kind_;
  Vector mean_;                    // for the matrix products: centred rows cancel less
  std::unique_ptr<RowTree> tree_;  // kdtree, balltree
};

}  // namespace ellice

#pragma once

// The depth-first search for the cheapest robust point of one cone.

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "solver/lattice_search.hpp"
#include "solver/share_relaxation.hpp"

namespace ellice {

/// Fixes values instead of halving ranges, what is coarse first: categories, lists and wide grids
/// by their shares in a relaxation (ShareRelaxation), whether numbers change at all where that
/// costs or counts, then the numbers (LatticeSearch). The relaxation is solved again at every node.
class ValueSearch {
 public:
  /// With a judge the cone only bounds: it is nowhere less than what the judge's oracle has.
  ValueSearch(const BoxFactor& factor, const MixedProblem& problem, PointJudge* judge = nullptr);

  [[nodiscard]] MixedResult run();

 private:
  struct Child {
    double bound = 0;
    std::size_t choice = 0;
  };

  void search(std::optional<std::size_t> most_changes);
  void node(std::size_t depth);
  /// Counts what may still change; false if that is too much or nothing is left of a unit.
  [[nodiscard]] bool prepare(ShareNode& node) const;
  [[nodiscard]] bool breaks_rules(const ShareNode& node) const;
  [[nodiscard]] bool is_decided(const ShareNode& node) const;
  [[nodiscard]] bool may_change(const ShareNode& node, std::size_t unit) const;
  [[nodiscard]] bool may_stay(const ShareNode& node, std::size_t unit) const;
  void keep(ShareNode& node, std::size_t unit) const;
  void close(ShareNode& node, const ListUnit& list, std::size_t option) const;
  /// One child for each unit of a forbidden set that may still change as a whole.
  [[nodiscard]] bool branch_on_forbidden(std::size_t depth);
  void fix(ShareNode& node) const;
  void try_rounded(const ShareNode& node);
  void finish(const ShareNode& node);
  void search_row(const ShareNode& node, double bound);
  void branch(std::size_t depth);
  void branch_on_list(std::size_t depth, std::size_t list);
  void branch_on_number(std::size_t depth, std::size_t number);
  ShareNode& child_of(std::size_t depth);

  const BoxFactor* factor_;
  const MixedProblem* problem_;
  SearchLayout layout_;
  WorkLimit limit_;
  SearchRecord record_;
  ShareRelaxation relaxation_;
  LatticeSearch lattice_;
  std::optional<std::size_t> most_changes_;
  std::vector<ShareNode> nodes_;              // by depth
  std::vector<std::vector<Child>> children_;  // by depth
  std::vector<std::size_t> options_;          // of the row that is tried, by list,
  std::vector<std::uint8_t> modes_;           // and by number
  std::vector<std::pair<double, std::size_t>> changes_;
  std::unordered_set<std::uint64_t> tried_;
  // Where a unit of the problem is searched: among lists, or after them among numbers; nowhere if
  // it cannot change.
  std::vector<std::size_t> place_of_;
};

}  // namespace ellice

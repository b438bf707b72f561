#pragma once

// A first solution where dives find none.

#include <vector>

#include "solver/share_relaxation.hpp"

namespace ellice {

/// Near the largest ε hardly anything is robust, and what dives round off is not. Here one unit
/// after the other, the coarsest first, takes the value next to the answer of the box that is left,
/// which is solved whole each time. If that leads nowhere, boxes are answered for thresholds
/// further and further above the one that is asked for, until one's answer, rounded, is a solution.
/// Then steps of single units and of pairs make it cheaper. For nodes that are boxes
/// (ShareRelaxation::place_in_box).
class FirstRow {
 public:
  FirstRow(const BoxFactor& factor, const SearchLayout& layout, SearchRecord& record,
           WorkLimit& limit);

  /// Does no more work than `most_work`.
  void seek(ShareRelaxation& relaxation, const ShareNode& root, double most_work);

 private:
  /// Where each unit is: lists by option, numbers by move.
  struct Row {
    std::vector<std::size_t> options;
    std::vector<double> moves;
  };
  [[nodiscard]] bool dive(BoxProblem box);
  /// Moves of a unit next to one, the nearest first.
  [[nodiscard]] std::vector<double> neighbours(std::size_t unit, double move) const;
  void put(Row& row, std::size_t unit, double move) const;
  [[nodiscard]] Row rounded(const ShareNode& node) const;
  [[nodiscard]] double nearest(const NumberUnit& unit, double move) const;
  [[nodiscard]] bool is_allowed(const NumberUnit& unit, double move) const;
  /// Takes the row if it is a solution that costs less than the best.
  bool take(Row row);
  [[nodiscard]] std::size_t units() const { return rank_.size() + layout_->numbers().size(); }
  /// So many steps of a unit's own values in one direction; false if there are none.
  [[nodiscard]] bool step(Row& row, std::size_t unit, double steps) const;
  void descend();
  [[nodiscard]] bool is_over() const { return limit_->is_over() || limit_->done() >= most_work_; }

  const BoxFactor* factor_;
  const SearchLayout* layout_;
  SearchRecord* record_;
  WorkLimit* limit_;
  std::vector<std::vector<std::size_t>> rank_;  // by list: its options, from the lowest move up
  Row best_;
  Vector x_;
  double most_work_ = 0;  // of all that was ever done
};

}  // namespace ellice

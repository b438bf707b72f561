#pragma once

// What a search has found, what it has left open, and how much work it may still do.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/stopwatch.hpp"
#include "solver/point_judge.hpp"
#include "solver/search_layout.hpp"

namespace ellice {

/// Counts work, not time, so that a search ends at the same place wherever it runs: a unit of work
/// is some 25 ns, a lattice point or a coordinate's move. A time limit ends it as well.
class WorkLimit {
 public:
  WorkLimit(double most, std::optional<double> seconds) : most_(most), seconds_(seconds) {}

  void add(double work) { done_ += work; }
  void allow(double more) { most_ = done_ + more; }
  [[nodiscard]] double done() const { return done_; }
  [[nodiscard]] bool is_over();

 private:
  double most_;
  double done_ = 0;
  std::optional<double> seconds_;
  double next_look_ = 0;
  bool is_late_ = false;
  Stopwatch watch_;
};

class SearchRecord {
 public:
  /// A judge, if any, has the last word: the layout's cone then only stands in for what is asked.
  SearchRecord(const SearchLayout& layout, WorkLimit& limit, PointJudge* judge);

  /// Parts of the search that cannot cost less than this hold nothing that counts.
  [[nodiscard]] double enough() const { return best_cost_ * (1 - 1e-10 - gap_); }
  [[nodiscard]] bool is_bounded() const { return best_cost_ < infinity; }
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] const Vector& best() const { return best_; }
  [[nodiscard]] double best_cost() const { return best_cost_; }
  [[nodiscard]] double open() const { return open_; }

  /// Takes the point if it costs less than the best and satisfies everything; false if it is only
  /// the latter that fails.
  bool offer(const Vector& x);
  /// How much of g the point offered last lacks, if that is all it lacks.
  [[nodiscard]] double missing() const { return missing_; }
  /// Whether the point offered last was refused for which units it changes, whatever their values.
  [[nodiscard]] bool changes_too_much() const { return changes_too_much_; }
  /// Something that costs at least `bound` remains unsearched.
  void leave_open(double bound) { open_ = std::min(open_, bound); }
  /// Searches again, for what is cheaper by more than this share only.
  void restart(double gap);
  /// The best is no longer bound by a limit of changes, or is so from now on.
  void limit_changes(std::optional<std::size_t> most);
  [[nodiscard]] std::size_t changes() const { return best_changes_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  /// Whether all of g is there that a solution must have; says what is missing.
  [[nodiscard]] bool is_robust(const Vector& x, double cost);

  const SearchLayout* layout_;
  WorkLimit* limit_;
  PointJudge* judge_;
  RobustLogit::State state_;
  std::vector<std::uint8_t> changed_;
  std::optional<std::size_t> most_changes_;
  double gap_ = 0;
  double missing_ = 0;
  bool changes_too_much_ = false;
  bool found_ = false;
  Vector best_;
  double best_cost_;
  std::size_t best_changes_ = 0;
  double open_ = infinity;
};

}  // namespace ellice

#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "request/problem.hpp"
#include "search/linear_question.hpp"
#include "search/row_reach.hpp"

namespace ellice {

/// How many parts of a search are worth their while where only a hint depends on it, with so many
/// columns and functions: each takes products of matrices of that size.
[[nodiscard]] std::size_t hinted_parts(const LinearQuestion& question);

/// The largest ε at which a query has an answer, from both sides (theory.md, Result 48). For one
/// thread.
class LargestEpsilon {
 public:
  /// All must outlive it. At the problem's ε there is no answer.
  LargestEpsilon(const Problem& problem, const LinearQuestion& question,
                 const FeasibleSet& feasible, std::optional<std::size_t> most_changes,
                 RowReach& reach);

  /// An allowed row (raw numbers, or none) that may have an answer's robustness at some ε.
  bool offer(const Vector& row);
  /// One whose radius is known.
  void start(const Vector& row, double attained);
  /// An ε from which on everybody's set has no robust row, and half-spaces that were met there.
  /// Where this set `is_part` of that one, it has none either.
  void known(double limit, const std::vector<ReachPlane>& planes, bool is_part);

  [[nodiscard]] EpsilonBounds find();
  /// Those that showed the upper bound.
  [[nodiscard]] std::vector<ReachPlane>& planes() { return limit_planes_; }

 private:
  enum class Probe { none, better, unknown };
  /// Whether there is an answer at an ε; some parts of a search at most.
  Probe probe(double epsilon, std::optional<std::size_t> most_parts);
  /// Of a row or a point of model space, certified with this much beyond the threshold.
  [[nodiscard]] std::optional<double> radius(const Vector& z, double margin) const;
  void climb();
  /// An upper bound by the relaxation without grids and with categories in parts.
  void relax();
  /// The rest between both bounds, as far as parts are left.
  void halve();
  [[nodiscard]] bool is_narrow() const;
  [[nodiscard]] bool is_refused_by_centre() const;

  const Problem* problem_;
  const LinearQuestion* question_;
  const FeasibleSet* feasible_;
  std::optional<std::size_t> most_changes_;
  RowReach* reach_;
  EpsilonBounds bounds_;
  Vector row_;
  double least_ = 0;  // ε of the smallest set
  double width_ = 0;  // how near the bounds are brought, relatively
  double known_limit_ = std::numeric_limits<double>::infinity();
  const std::vector<ReachPlane>* known_planes_ = nullptr;
  bool is_part_ = false;
  std::vector<ReachPlane> planes_;  // of the ε below; they hold at larger ones, too
  double planes_epsilon_ = 0;
  std::vector<ReachPlane> limit_planes_;  // of the smallest ε that was shown to have no answer
  std::size_t left_ = 0;                  // parts
};

}  // namespace ellice

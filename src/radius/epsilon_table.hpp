#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "radius/survival_check.hpp"
#include "sets/boundary_accuracy.hpp"

namespace ellice {

/// What one ε means.
struct EpsilonLevel {
  double epsilon = 0;
  double objective = 0;  // the training objective that a model may have
  /// Linear models: predicted for the answers of the people that were explained, on average.
  /// Without rows that of a model that holds and has many of them, drawn again; none for fresh
  /// ones.
  std::optional<double> survival = {};
  std::optional<Interval> interval = {};           // of fresh rows: how sure that is
  std::optional<BoundaryAccuracy> accuracy = {};   // with rows
  std::optional<double> share_with_recourse = {};  // of the declined people, with rows
  std::optional<double> median_distance = {};      // l2, of those with recourse
};

struct EpsilonTable {
  std::vector<EpsilonLevel> levels = {};  // as asked for
  std::size_t people = 0;                 // declined rows that were explained at each
  /// Beyond it only those have recourse for whom what cannot change suffices (theory.md, Theorem
  /// 2); linear models.
  std::optional<double> epsilon_max = {};
};

/// The largest ε at which anybody has recourse by what can change (theory.md, Theorem 2); nothing
/// but for linear models with one logit and their own set.
[[nodiscard]] std::optional<double> reachable_epsilon(const Problem& problem);

/// Beyond that ε: whether some model of the problem's set declines everybody, whatever changes. Not
/// said where it depends on what people cannot change.
[[nodiscard]] std::optional<bool> declines_everybody(const Problem& problem);

/// `fitted` may be absent: then nothing that needs rows is measured. The problem's ε is not used.
/// Throws Error{argument} for sets other than last-layer.
[[nodiscard]] EpsilonTable epsilon_table(const Problem& problem,
                                         const std::optional<FittedRows>& fitted,
                                         const std::vector<double>& epsilons, int people,
                                         const Execution& execution = {});

}  // namespace ellice

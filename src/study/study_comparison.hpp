#pragma once

#include <string>
#include <vector>

#include "ellice/study/store.hpp"
#include "study/cell.hpp"
#include "study/statistics.hpp"

namespace ellice {

/// One method in two studies, people of all folds together, with the values that tuning chose for
/// one set in each.
struct MethodComparison {
  CellName name = {};  // fold is 0: all of them
  SetName set = {};
  std::size_t people = 0;
  double robust_a = 0;  // shares
  double robust_b = 0;
  std::optional<PairedDifference> robustness = {};
  std::optional<double> l2_a = {};  // means over people with a valid answer in both
  std::optional<double> l2_b = {};
  std::optional<PairedDifference> l2 = {};
};

struct StudyComparison {
  std::vector<MethodComparison> methods = {};
  std::size_t only_a = 0;  // cells that the other study does not have
  std::size_t only_b = 0;
  /// Cells of both that explain other people, or do not say whom.
  std::size_t other_people = 0;
};

/// Cells of the same name are compared person by person, at the first target of both.
[[nodiscard]] StudyComparison compare_studies(const StudyStore& a, const StudyStore& b,
                                              const IntervalOptions& options = {});

[[nodiscard]] std::string to_text(const StudyComparison& comparison);
[[nodiscard]] Json to_json(const StudyComparison& comparison);

}  // namespace ellice

#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

struct Fold {
  std::vector<Index> train = {};
  std::vector<Index> test = {};
};

/// Stratified: each class is shuffled and dealt out in turn, so that class counts of two folds
/// differ by at most one. Indices are increasing within each part. Throws when a class has fewer
/// rows than folds.
[[nodiscard]] std::vector<Fold> stratified_folds(const std::vector<int>& labels, int folds,
                                                 Random random);

/// One stratified split; `share` of each class (rounded) goes to test, at least one row and never
/// all.
[[nodiscard]] Fold stratified_split(const std::vector<int>& labels, double share, Random random);

/// Rows that leave all classes equally many: all of the smallest one and a sample of the others, in
/// increasing order.
[[nodiscard]] std::vector<Index> balanced_rows(const std::vector<int>& labels, Random random);

}  // namespace ellice

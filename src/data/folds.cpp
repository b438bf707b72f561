#include "data/folds.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// The rows of each class, in increasing order.
std::map<int, std::vector<Index>> rows_by_class(const std::vector<int>& labels) {
  std::map<int, std::vector<Index>> result;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    result[labels[i]].push_back(static_cast<Index>(i));
  }
  return result;
}

}  // namespace

std::vector<Fold> stratified_folds(const std::vector<int>& labels, int folds, Random random) {
  require(folds >= 2, "folds = {} must be >= 2", folds);
  const auto count = static_cast<std::size_t>(folds);
  std::vector<std::size_t> fold_of(labels.size());
  std::size_t next =
      0;  // a class begins where the last one ended: sizes differ by one at most, too
  for (auto& [label, rows] : rows_by_class(labels)) {
    require_input(rows.size() >= count,
                  "class {} has {} rows, expected at least one for each of {} folds", label,
                  rows.size(), folds);
    std::vector<Index> shuffled = rows;
    random.shuffle(shuffled);
    for (const Index row : shuffled) fold_of[static_cast<std::size_t>(row)] = next++ % count;
  }
  std::vector<Fold> result(count);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      (fold_of[i] == k ? result[k].test : result[k].train).push_back(static_cast<Index>(i));
    }
  }
  return result;
}

Fold stratified_split(const std::vector<int>& labels, double share, Random random) {
  require(share > 0 && share < 1, "share = {} must be > 0 and < 1", share);
  Fold result;
  for (auto& [label, rows] : rows_by_class(labels)) {
    require_input(rows.size() >= 2, "class {} has {} row, expected two or more: one for each part",
                  label, rows.size());
    const auto wanted =
        static_cast<std::size_t>(std::lround(share * static_cast<double>(rows.size())));
    const std::size_t test = std::clamp<std::size_t>(wanted, 1, rows.size() - 1);
    std::vector<Index> shuffled = rows;
    random.shuffle(shuffled);
    const auto border = shuffled.begin() + static_cast<std::ptrdiff_t>(test);
    result.test.insert(result.test.end(), shuffled.begin(), border);
    result.train.insert(result.train.end(), border, shuffled.end());
  }
  std::sort(result.test.begin(), result.test.end());
  std::sort(result.train.begin(), result.train.end());
  return result;
}

std::vector<Index> balanced_rows(const std::vector<int>& labels, Random random) {
  std::map<int, std::vector<Index>> classes = rows_by_class(labels);
  require_input(classes.size() >= 2, "found {} class, expected two or more to balance",
                classes.size());
  std::size_t smallest = labels.size();
  for (const auto& [label, rows] : classes) smallest = std::min(smallest, rows.size());
  std::vector<Index> result;
  for (auto& [label, rows] : classes) {
    if (rows.size() > smallest) {
      random.shuffle(rows);
      rows.resize(smallest);
    }
    result.insert(result.end(), rows.begin(), rows.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace ellice

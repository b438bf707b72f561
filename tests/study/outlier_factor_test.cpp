#include "study/outlier_factor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/encoder.hpp"
#include "support/datasets.hpp"

namespace ellice {
namespace {

/// The textbook's definitions with one loop over all rows for each distance that they ask for.
class PlainOutlierFactor {
 public:
  PlainOutlierFactor(const RowMatrix& rows, std::size_t k) : rows_(rows), k_(k) {}

  double factor(const Vector& x) {
    std::vector<std::pair<double, Index>> near = nearest(x, -1);
    if (near.front().first < 1e-12) {
      near.erase(near.begin());
    } else {
      near.pop_back();
    }
    double sum = 0;
    for (const auto& [distance, row] : near) sum += density(row);
    return sum / static_cast<double>(k_) / density(near);
  }

 private:
  /// One more than k where no row is left out.
  std::vector<std::pair<double, Index>> nearest(const Vector& x, Index without) const {
    std::vector<std::pair<double, Index>> all;
    for (Index i = 0; i < rows_.rows(); ++i) {
      if (i == without) continue;
      double squares = 0;
      for (Index j = 0; j < x.size(); ++j) {
        const double move = rows_(i, j) - x(j);
        squares += move * move;
      }
      all.emplace_back(std::sqrt(squares), i);
    }
    const std::size_t count = k_ + (without < 0 ? 1 : 0);
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
    all.resize(count);
    return all;
  }

  const std::vector<std::pair<double, Index>>& neighbours_of(Index row) {
    auto [found, is_new] = known_.try_emplace(row);
    if (is_new) found->second = nearest(rows_.row(row).transpose(), row);
    return found->second;
  }
  double density(const std::vector<std::pair<double, Index>>& near) {
    double sum = 0;
    for (const auto& [distance, row] : near) {
      sum += std::max(neighbours_of(row).back().first, distance);
    }
    return static_cast<double>(k_) / std::max(sum, 1e-12);
  }
  double density(Index row) {
    const std::vector<std::pair<double, Index>> near = neighbours_of(row);
    return density(near);
  }

  const RowMatrix& rows_;
  std::size_t k_;
  std::map<Index, std::vector<std::pair<double, Index>>> known_;
};

TEST(OutlierFactor, IsTheTextbookOnAllNineDataSets) {
  for (const std::string& name : paper_datasets()) {
    ELLICE_NEEDS_DATASET(name);
    const Dataset data = load_recipe(name);
    const RowMatrix rows = Encoder::fit(data).encode(data.raw);
    Random random(5);
    RowMatrix points(5, rows.cols());
    for (Index i = 0; i < points.rows(); ++i) {
      const auto drawn = static_cast<Index>(random.below(static_cast<std::uint64_t>(rows.rows())));
      points.row(i) = rows.row(drawn);
      // Two training rows, two points near some, and one far away.
      const double noise = i < 2 ? 0 : i < 4 ? 0.1 : 5;
      points.row(i) += noise * random.normal_vector(rows.cols()).transpose();
    }
    const OutlierFactor factor(rows, 20, {.threads = 2});
    const Vector found = factor.factors(points);
    PlainOutlierFactor plain(rows, 20);
    for (Index i = 0; i < points.rows(); ++i) {
      const double expected = plain.factor(points.row(i).transpose());
      EXPECT_NEAR(found(i), expected, 1e-9 * (1 + std::abs(expected))) << name << ", point " << i;
    }
  }
}

RowMatrix grid(Index side) {
  RowMatrix rows(side * side, 2);
  for (Index i = 0; i < rows.rows(); ++i) {
    rows.row(i) << static_cast<double>(i / side), static_cast<double>(i % side);
  }
  return rows;
}

TEST(OutlierFactor, IsOneInsideAGridAndLargeFarAway) {
  const OutlierFactor factor(grid(21), 4);
  RowMatrix points(2, 2);
  points << 10, 10, 60, 60;
  const Vector found = factor.factors(points);
  EXPECT_NEAR(found(0), 1, 1e-12);
  EXPECT_GT(found(1), 10);
}

TEST(OutlierFactor, SurvivesRowsThatRepeatMoreThanKTimes) {
  RowMatrix rows(12, 1);
  rows << 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6;
  const OutlierFactor factor(rows, 3);
  RowMatrix points(2, 1);
  points << 0, 0.5;
  const Vector found = factor.factors(points);
  EXPECT_NEAR(found(0), 1, 1e-12);  // as dense as its neighbours, which are itself
  PlainOutlierFactor plain(rows, 3);
  EXPECT_NEAR(found(1) / plain.factor(points.row(1).transpose()), 1, 1e-9);
  EXPECT_GT(found(1), 1e9);  // beside a heap of equal rows everything is an outlier
}

TEST(OutlierFactor, OfFewRowsUsesThoseThereAre) {
  RowMatrix rows(3, 1);
  rows << 0, 1, 2;
  const OutlierFactor factor(rows, 20);
  EXPECT_EQ(factor.neighbours(), 2);
  EXPECT_NEAR(factor.factors(rows.topRows(1))(0),
              PlainOutlierFactor(rows, 2).factor(rows.row(0).transpose()), 1e-12);
  EXPECT_THROW(OutlierFactor(rows, 0), Error);
  EXPECT_THROW(OutlierFactor(rows.topRows(1), 5), Error);
}

TEST(OutlierFactor, IsTheSameForAnyNumberOfThreads) {
  const RowMatrix rows = grid(30);
  const RowMatrix points = rows.array() + 0.3;
  const Vector one = OutlierFactor(rows, 7, {.threads = 1}).factors(points, {.threads = 1});
  const Vector two = OutlierFactor(rows, 7, {.threads = 2}).factors(points, {.threads = 2});
  EXPECT_EQ(one, two);
}

}  // namespace
}  // namespace ellice

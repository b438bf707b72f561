#include "solver/nearest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/random.hpp"
#include "ellice/core/error.hpp"

namespace ellice {
namespace {

constexpr std::array kinds = {SearchKind::automatic, SearchKind::brute, SearchKind::kdtree,
                              SearchKind::balltree};

RowMatrix gaussian_rows(Index rows, Index columns, std::uint64_t seed) {
  Random random(seed);
  RowMatrix result(rows, columns);
  for (Index i = 0; i < result.size(); ++i) result.data()[i] = random.normal();
  return result;
}

/// Whole numbers: every distance is exact, and many are equal.
RowMatrix whole_rows(Index rows, Index columns, std::uint64_t seed) {
  Random random(seed);
  RowMatrix result(rows, columns);
  for (Index i = 0; i < result.size(); ++i) {
    result.data()[i] = static_cast<double>(random.below(4));
  }
  return result;
}

std::vector<std::pair<std::string, Metric>> metrics(Index columns, std::uint64_t seed) {
  Random random(seed);
  Vector weights(columns);
  for (double& w : weights) w = 0.25 * static_cast<double>(1 + random.below(12));
  if (columns > 2) weights[1] = 0;
  std::vector<Index> groups;
  for (Index j = 0; j < columns; j += 1 + static_cast<Index>(random.below(3))) groups.push_back(j);
  return {
      {"squares", weighted_squares(weights)},
      {"absolutes", weighted_absolutes(weights)},
      {"both", {.square = weights, .absolute = weights}},
      {"root", {.square = weights, .root = true}},
      {"groups", {.absolute = weights, .group_cost = 0.75, .groups = groups}},
      {"root and groups", {.square = weights, .root = true, .group_cost = 0.75, .groups = groups}},
      {"groups alone", {.group_cost = 1, .groups = groups}}};
}

/// The definition, term by term in extended precision.
double slow_distance(const Metric& metric, VectorArg q, VectorArg x) {
  long double squares = 0;
  long double rest = 0;
  for (Index j = 0; j < q.size(); ++j) {
    const long double move = std::abs(static_cast<long double>(q[j]) - x[j]);
    if (metric.square.size() > 0) squares += metric.square[j] * move * move;
    if (metric.absolute.size() > 0) rest += metric.absolute[j] * move;
  }
  if (metric.root) squares = std::sqrt(squares);
  std::set<std::size_t> changed;
  for (Index j = 0; metric.group_cost > 0 && j < q.size(); ++j) {
    std::size_t group = 0;
    while (group + 1 < metric.groups.size() && metric.groups[group + 1] <= j) ++group;
    if (q[j] != x[j]) changed.insert(group);
  }
  return static_cast<double>(squares + rest +
                             metric.group_cost * static_cast<double>(changed.size()));
}

std::vector<Neighbour> slow_nearest(const RowMatrix& rows, const Metric& metric, VectorArg query,
                                    Index k, const std::function<bool(Index)>& filter) {
  std::vector<Neighbour> all;
  for (Index i = 0; i < rows.rows(); ++i) {
    if (filter && !filter(i)) continue;
    all.push_back({.row = i, .distance = slow_distance(metric, query, rows.row(i).transpose())});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  if (static_cast<Index>(all.size()) > k) all.resize(static_cast<std::size_t>(k));
  return all;
}

void expect_same(const std::vector<Neighbour>& found, const std::vector<Neighbour>& expected,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].row, expected[i].row) << what << ", neighbour " << i;
    EXPECT_NEAR(found[i].distance, expected[i].distance, 1e-13 * (1 + expected[i].distance))
        << what << ", neighbour " << i;
  }
}

TEST(NearestRows, EveryKindFindsWhatALoopFinds) {
  for (const Index columns : {1, 3, 8, 21}) {
    const RowMatrix rows = gaussian_rows(700, columns, 1);
    const RowMatrix queries = gaussian_rows(20, columns, 2);
    for (const auto& [name, metric] : metrics(columns, 3)) {
      if (name == "groups alone") continue;  // all distances equal: the next test
      for (const SearchKind kind : kinds) {
        const NearestRows nearest(rows, metric, kind);
        const auto found = nearest.find(queries, 5);
        for (Index q = 0; q < queries.rows(); ++q) {
          const Vector query = queries.row(q).transpose();
          const std::string what =
              fmt::format("{} columns, {}, {}, query {}", columns, name, enum_name(kind), q);
          const auto expected = slow_nearest(rows, metric, query, 5, {});
          expect_same(found[static_cast<std::size_t>(q)], expected, what);
          expect_same(nearest.find_one(query, 5), expected, what + " alone");
        }
      }
    }
  }
}

TEST(NearestRows, TheSmallerRowIndexWinsATie) {
  const RowMatrix rows = whole_rows(900, 4, 5);  // at most 256 different rows
  const RowMatrix queries = whole_rows(30, 4, 6);
  for (const auto& [name, metric] : metrics(4, 7)) {
    for (const SearchKind kind : kinds) {
      const NearestRows nearest(rows, metric, kind);
      for (const Index k : {1, 2, 40}) {
        const auto found = nearest.find(queries, k);
        for (Index q = 0; q < queries.rows(); ++q) {
          const Vector query = queries.row(q).transpose();
          expect_same(found[static_cast<std::size_t>(q)], slow_nearest(rows, metric, query, k, {}),
                      fmt::format("{}, {}, k = {}, query {}", name, enum_name(kind), k, q));
        }
      }
    }
  }
}

TEST(NearestRows, AFilterIsAskedPerQuery) {
  const RowMatrix rows = whole_rows(400, 3, 8);
  const RowMatrix queries = gaussian_rows(12, 3, 9);
  const RowFilter filter = [](Index query, Index row) { return row % 12 == query && row > 100; };
  for (const auto& [name, metric] : metrics(3, 10)) {
    for (const SearchKind kind : kinds) {
      const NearestRows nearest(rows, metric, kind);
      const auto found = nearest.find(queries, 7, filter);
      for (Index q = 0; q < queries.rows(); ++q) {
        const Vector query = queries.row(q).transpose();
        const auto only = [&](Index row) { return filter(q, row); };
        const auto expected = slow_nearest(rows, metric, query, 7, only);
        const std::string what = fmt::format("{}, {}, query {}", name, enum_name(kind), q);
        expect_same(found[static_cast<std::size_t>(q)], expected, what);
        expect_same(nearest.find_one(query, 7, only), expected, what + " alone");
      }
      const auto none = nearest.find(queries, 3, [](Index, Index) { return false; });
      for (const auto& list : none) EXPECT_TRUE(list.empty());
    }
  }
}

TEST(NearestRows, MoreNeighboursThanRowsGivesAllRows) {
  const RowMatrix rows = gaussian_rows(9, 3, 11);
  const RowMatrix queries = gaussian_rows(10, 3, 12);
  for (const SearchKind kind : kinds) {
    const NearestRows nearest(rows, weighted_squares(Vector::Ones(3)), kind);
    for (const auto& list : nearest.find(queries, 1000)) EXPECT_EQ(list.size(), 9u);
  }
}

TEST(NearestRows, NoRowsNoColumnsAndNoQueriesAreAnswered) {
  for (const SearchKind kind : kinds) {
    const NearestRows empty(RowMatrix(0, 3), weighted_squares(Vector::Ones(3)), kind);
    for (const auto& list : empty.find(gaussian_rows(9, 3, 1), 2)) EXPECT_TRUE(list.empty());
    const NearestRows some(gaussian_rows(5, 3, 1), weighted_squares(Vector::Ones(3)), kind);
    EXPECT_TRUE(some.find(RowMatrix(0, 3), 2).empty());
    const NearestRows flat(RowMatrix(2, 0), weighted_squares(Vector(0)), kind);
    const std::vector<Neighbour> both = {{.row = 0}, {.row = 1}};
    EXPECT_EQ(flat.find_one(Vector(0), 2), both);
  }
}

// Rows 1e-7 apart at a distance of 1e6 from the origin, and one far row: the product formula alone
// has no correct digit.
TEST(NearestRows, CancellationDoesNotChangeTheAnswer) {
  for (const double outlier : {1e6, 1e14}) {
    RowMatrix rows = 1e-7 * gaussian_rows(600, 6, 13);
    rows.array() += 1e6;
    rows.row(17).setConstant(outlier);
    RowMatrix queries = 1e-7 * gaussian_rows(40, 6, 14);
    queries.array() += 1e6;
    const Metric metric = weighted_squares(Vector::Ones(6));
    for (const SearchKind kind : kinds) {
      const auto found = NearestRows(rows, metric, kind).find(queries, 3);
      for (Index q = 0; q < queries.rows(); ++q) {
        const auto expected = slow_nearest(rows, metric, queries.row(q).transpose(), 3, {});
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(found[static_cast<std::size_t>(q)][i].row, expected[i].row)
              << enum_name(kind) << ", query " << q;
        }
      }
    }
  }
}

TEST(NearestRows, AMovedSearchStillFinds) {
  const RowMatrix rows = gaussian_rows(500, 3, 15);
  const Vector query = Vector::Zero(3);
  for (const SearchKind kind : kinds) {
    NearestRows first(rows, weighted_squares(Vector::Ones(3)), kind);
    const auto before = first.find_one(query, 4);
    const NearestRows second = std::move(first);
    EXPECT_EQ(second.find_one(query, 4), before);
  }
}

TEST(NearestRows, TheAnswerIsTheSameForAnyNumberOfThreads) {
  const RowMatrix rows = gaussian_rows(2000, 5, 16);
  const RowMatrix queries = gaussian_rows(700, 5, 17);
  for (const auto& [name, metric] : metrics(5, 18)) {
    const auto reference = NearestRows(rows, metric, SearchKind::brute).find(queries, 3);
    for (const SearchKind kind : kinds) {
      const NearestRows nearest(rows, metric, kind);
      for (const int threads : {1, 2, 5}) {
        EXPECT_EQ(nearest.find(queries, 3, {}, {.threads = threads}), reference)
            << name << ", " << enum_name(kind) << ", " << threads << " threads";
      }
    }
  }
}

TEST(NearestRows, WhatCannotBeSearchedIsRefused) {
  const RowMatrix rows = gaussian_rows(5, 2, 19);
  const Metric good = weighted_squares(Vector::Ones(2));
  EXPECT_THROW(NearestRows(rows, weighted_squares(Vector::Ones(3))), Error);
  EXPECT_THROW(NearestRows(rows, weighted_absolutes(-Vector::Ones(2))), Error);
  EXPECT_THROW(NearestRows(rows, {.absolute = Vector::Ones(2), .root = true}), Error);
  EXPECT_THROW(NearestRows(rows, {.group_cost = 1}), Error);
  EXPECT_THROW(NearestRows(rows, {.group_cost = 1, .groups = {0, 0}}), Error);
  EXPECT_THROW(NearestRows(rows, {.group_cost = 1, .groups = {0, 2}}), Error);
  EXPECT_THROW(NearestRows(rows, {.group_cost = -1, .groups = {0}}), Error);
  RowMatrix broken = rows;
  broken(3, 1) = std::nan("");
  EXPECT_THROW(NearestRows(broken, good), Error);
  const NearestRows nearest(rows, good);
  EXPECT_THROW((void)nearest.find(broken, 1), Error);
  EXPECT_THROW((void)nearest.find(rows, 0), Error);
  EXPECT_THROW((void)nearest.find_one(Vector(Vector::Zero(3)), 1), Error);
}

}  // namespace
}  // namespace ellice

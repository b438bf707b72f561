#include "data/folds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::message_of;

std::vector<int> random_labels(Random& random, std::size_t ones, std::size_t zeros) {
  std::vector<int> labels(ones, 1);
  labels.insert(labels.end(), zeros, 0);
  random.shuffle(labels);
  return labels;
}

std::map<int, std::size_t> class_counts(const std::vector<int>& labels,
                                        const std::vector<Index>& rows) {
  std::map<int, std::size_t> count;
  for (const Index row : rows) ++count[labels.at(static_cast<std::size_t>(row))];
  return count;
}

bool increasing(const std::vector<Index>& rows) {
  return std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
}

std::vector<Index> all_rows(const Fold& fold) {
  std::vector<Index> rows = fold.train;
  rows.insert(rows.end(), fold.test.begin(), fold.test.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(StratifiedFolds, EveryRowIsTestedOnceAndClassesAreSpreadEvenly) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    const int folds = 2 + static_cast<int>(random.below(9));
    const auto least = static_cast<std::size_t>(folds);
    const std::vector<int> labels =
        random_labels(random, least + random.below(60), least + random.below(60));
    std::vector<Index> everything(labels.size());
    std::iota(everything.begin(), everything.end(), Index{0});

    const std::vector<Fold> result = stratified_folds(labels, folds, random.split(7));
    ASSERT_EQ(result.size(), least);
    std::vector<Index> tested;
    std::size_t fewest[2] = {labels.size(), labels.size()};
    std::size_t most[2] = {0, 0};
    std::size_t smallest = labels.size();
    std::size_t largest = 0;
    for (const Fold& fold : result) {
      EXPECT_TRUE(increasing(fold.train));
      EXPECT_TRUE(increasing(fold.test));
      EXPECT_EQ(all_rows(fold), everything);
      tested.insert(tested.end(), fold.test.begin(), fold.test.end());
      std::map<int, std::size_t> count = class_counts(labels, fold.test);
      for (const int label : {0, 1}) {
        fewest[label] = std::min(fewest[label], count[label]);
        most[label] = std::max(most[label], count[label]);
      }
      smallest = std::min(smallest, fold.test.size());
      largest = std::max(largest, fold.test.size());
    }
    std::sort(tested.begin(), tested.end());
    EXPECT_EQ(tested, everything);
    for (const int label : {0, 1}) EXPECT_LE(most[label] - fewest[label], 1U);
    EXPECT_LE(largest - smallest, 1U);
  }
}

TEST(StratifiedFolds, DependOnTheSeedOnly) {
  Random random(4);
  const std::vector<int> labels = random_labels(random, 40, 60);
  EXPECT_EQ(stratified_folds(labels, 5, Random(1))[0].test,
            stratified_folds(labels, 5, Random(1))[0].test);
  EXPECT_NE(stratified_folds(labels, 5, Random(1))[0].test,
            stratified_folds(labels, 5, Random(2))[0].test);
}

TEST(StratifiedFolds, RefuseMoreFoldsThanRowsOfAClass) {
  const std::vector<int> labels = {0, 0, 0, 0, 1, 1, 0};
  expect_words(message_of(ErrorCode::input, [&] { return stratified_folds(labels, 3, Random(1)); }),
               {"class 1", "2 rows", "3 folds"});
  expect_words(
      message_of(ErrorCode::argument, [&] { return stratified_folds(labels, 1, Random(1)); }),
      {"folds = 1"});
}

TEST(StratifiedSplit, TakesTheRoundedShareOfEachClass) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const std::size_t ones = 2 + random.below(40);
    const std::size_t zeros = 2 + random.below(40);
    const std::vector<int> labels = random_labels(random, ones, zeros);
    const double share = 0.01 + 0.98 * random.uniform();
    const Fold fold = stratified_split(labels, share, random.split(1));
    EXPECT_TRUE(increasing(fold.train));
    EXPECT_TRUE(increasing(fold.test));
    EXPECT_EQ(all_rows(fold).size(), labels.size());
    std::map<int, std::size_t> count = class_counts(labels, fold.test);
    const auto expected = [&](std::size_t size) {
      const auto rounded = static_cast<std::size_t>(std::round(share * static_cast<double>(size)));
      return std::min(std::max<std::size_t>(rounded, 1), size - 1);
    };
    EXPECT_EQ(count[1], expected(ones));
    EXPECT_EQ(count[0], expected(zeros));
  }
}

TEST(StratifiedSplit, RefusesASingleRowAndASenselessShare) {
  expect_words(message_of(ErrorCode::input,
                          [] {
                            return stratified_split({0, 0, 1}, 0.5, Random(1));
                          }),
               {"class 1", "1 row"});
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) {
    message_of(ErrorCode::argument, [&] {
      return stratified_split({0, 0, 1, 1}, share, Random(1));
    });
  }
}

TEST(BalancedRows, KeepTheSmallerClassWholeAndEveryLargerRowEquallyOften) {
  Random random(6);
  const std::vector<int> labels = random_labels(random, 10, 40);
  std::vector<int> kept(labels.size());
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Index> rows =
        balanced_rows(labels, random.split(static_cast<std::uint64_t>(round)));
    ASSERT_TRUE(increasing(rows));
    ASSERT_EQ(rows.size(), 20U);
    for (const Index row : rows) ++kept[static_cast<std::size_t>(row)];
  }
  // Binomial(4000, 1/4): a standard deviation of 27; five of them.
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 1) {
      EXPECT_EQ(kept[i], rounds);
    } else {
      EXPECT_NEAR(kept[i], rounds / 4, 140);
    }
  }
}

TEST(BalancedRows, TakeAllRowsOfClassesOfEqualSizeAndRefuseOneClass) {
  EXPECT_EQ(balanced_rows({0, 1, 1, 0}, Random(1)), (std::vector<Index>{0, 1, 2, 3}));
  message_of(ErrorCode::input, [] { return balanced_rows({1, 1}, Random(1)); });
}

}  // namespace
}  // namespace ellice

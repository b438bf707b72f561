#include "search/data_supported.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::queries_of;

constexpr std::array costs = {CostKind::l2, CostKind::l1, CostKind::l1_l2, CostKind::mixed};

struct Lending {
  Dataset data = lending_dataset(3000, 4);
  Model model = train(data, {}, {.folds = 0}).model;
  std::vector<Query> queries = queries_of(lending_dataset(60, 5), 60);

  [[nodiscard]] Problem problem(double epsilon = 2e-4, const Cost& cost = {}) const {
    return {.model = &model, .epsilon = epsilon, .cost = cost};
  }
};
const Lending& lending() {
  static const Lending instance;
  return instance;
}

std::vector<Answer> search(const Problem& problem, const std::vector<Query>& queries,
                           const DataSupportedOptions& options = {}, int threads = 1) {
  return DataSupported(problem, lending().data.raw, options)
      .generate(queries, {.threads = threads});
}

/// Which rows a certificate is due to, from the definition: a dense inverse in extended precision.
std::vector<bool> robust_by_definition(const Problem& problem, const RowMatrix& raw) {
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const LongMatrix inverse =
      LongMatrix(problem.model->curvature.hessian.cast<long double>()).inverse();
  const LongVector theta = problem.model->network.head().cast<long double>();
  const RowMatrix z = problem.model->encoder.encode(raw);
  std::vector<bool> result;
  for (Index i = 0; i < raw.rows(); ++i) {
    LongVector x(z.cols() + 1);
    x << z.row(i).transpose().cast<long double>(), 1.0L;
    const long double penalty = std::sqrt(2 * problem.epsilon * x.dot(inverse * x));
    const long double scale =
        theta.cwiseProduct(x).cwiseAbs().sum() + penalty + std::abs(problem.threshold);
    result.push_back(theta.dot(x) - penalty - problem.threshold >= 1e-12L * scale);
  }
  return result;
}

/// What the lending schema and the training range say, written out once more.
bool allowed_by_hand(const Vector& query, const Vector& row, const Lending& people) {
  const auto same = [&](Index j) { return row[j] == query[j]; };
  const std::vector<Feature>& features = people.model.schema().features;
  for (Index j = 0; j < row.size(); ++j) {
    const Feature& feature = features[static_cast<std::size_t>(j)];
    if (same(j)) continue;
    if (feature.immutable) return false;
    if (feature.min && row[j] < *feature.min) return false;
    if (feature.max && row[j] > *feature.max) return false;
    if (feature.direction == Direction::increase && row[j] < query[j]) return false;
    if (feature.direction == Direction::decrease && row[j] > query[j]) return false;
    if (feature.step) {
      const double steps = (row[j] - feature.min.value_or(0)) / *feature.step;
      if (std::abs(steps - std::round(steps)) > 1e-9) return false;
    }
  }
  return row[6] + row[9] <= 2 * row[4] * (1 + 1e-12);  // debt + loan_amount <= 2 * income
}

TEST(DataSupported, FindsTheCheapestRowsOfALoopOverAll) {
  const Lending& people = lending();
  int answered = 0;
  for (const CostKind kind : costs) {
    for (const double sparsity : {0.0, 0.4}) {
      const Problem problem = people.problem(2e-4, {.kind = kind, .sparsity_weight = sparsity});
      const std::vector<bool> robust = robust_by_definition(problem, people.data.raw);
      const std::vector<Answer> answers = search(problem, people.queries, {.plans = 3});
      std::size_t next = 0;
      for (const Query& query : people.queries) {
        ASSERT_LT(next, answers.size());
        ASSERT_EQ(answers[next].query_index, query.index);
        if (answers[next].status == Status::already_robust) {
          ++next;
          continue;
        }
        std::set<std::vector<double>> seen;
        std::vector<double> expected;
        for (Index i = 0; i < people.data.rows(); ++i) {
          const Vector row = people.data.raw.row(i).transpose();
          if (!robust[static_cast<std::size_t>(i)] || !allowed_by_hand(query.raw, row, people)) {
            continue;
          }
          if (!seen.insert({row.begin(), row.end()}).second) continue;
          expected.push_back(plain::cost(problem.cost, people.model, query.raw, row));
        }
        std::sort(expected.begin(), expected.end());
        if (expected.size() > 3) expected.resize(3);
        if (expected.empty()) {
          EXPECT_EQ(answers[next].status, Status::not_found);
          EXPECT_FALSE(answers[next].counterfactual);
          ++next;
          continue;
        }
        std::set<RawRow> rows;
        for (std::size_t plan = 0; plan < expected.size(); ++plan, ++next) {
          ASSERT_LT(next, answers.size());
          EXPECT_EQ(answers[next].query_index, query.index);
          EXPECT_EQ(answers[next].plan, static_cast<int>(plan));
          EXPECT_EQ(answers[next].status, Status::certified);
          EXPECT_FALSE(answers[next].gap);
          EXPECT_NEAR(answers[next].distance.weighted, expected[plan], 1e-12 * expected[plan])
              << "query " << query.index << ", plan " << plan << ", " << enum_name(kind);
          rows.insert(*answers[next].counterfactual);
          ++answered;
        }
        EXPECT_EQ(rows.size(), expected.size()) << "plans must differ";
      }
      EXPECT_EQ(next, answers.size());
    }
  }
  EXPECT_GT(answered, 100);  // the comparison above is not empty
}

TEST(DataSupported, EveryCertificateIsOfARobustRowOfTheData) {
  const Problem problem = lending().problem();
  const plain::Ellipsoid judge(lending().model, problem.epsilon);
  int certified = 0;
  for (const Answer& answer : search(problem, lending().queries, {.plans = 2})) {
    ASSERT_EQ(answer.certificate.has_value(), is_certified(answer.status));
    if (!answer.certificate) continue;
    const Vector to = plain::numbers(lending().model.schema(), *answer.counterfactual);
    EXPECT_GE(judge.robust_logit(plain::code(lending().model, to)), 0);
    ++certified;
    if (answer.status == Status::already_robust) continue;
    plain::expect_allowed(problem, answer);
    const RowMatrix& rows = lending().data.raw;
    EXPECT_EQ((rows.rowwise() - to.transpose()).rowwise().squaredNorm().minCoeff(), 0);
  }
  EXPECT_GT(certified, 20);
}

TEST(DataSupported, SearchAndThreadsDoNotChangeTheAnswer) {
  for (const CostKind kind : costs) {
    Problem problem = lending().problem(2e-4, {.kind = kind, .sparsity_weight = 0.1});
    const auto text = [&](const DataSupportedOptions& options, int threads) {
      std::string result;
      for (const Answer& answer : search(problem, lending().queries, options, threads)) {
        result += to_json(answer, lending().model.schema()).dump();
      }
      return result;
    };
    const std::string reference = text({.search = SearchKind::brute, .plans = 2}, 1);
    for (const SearchKind search :
         {SearchKind::automatic, SearchKind::kdtree, SearchKind::balltree}) {
      EXPECT_EQ(text({.search = search, .plans = 2}, 1), reference) << enum_name(search);
    }
    EXPECT_EQ(text({.plans = 2}, 3), reference);
  }
}

// Without immutable features all rows form one group that is kept and searched by a tree.
TEST(DataSupported, OneGroupOfManyRowsIsSearchedAsExactly) {
  Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(9000, 4, 6));
  const Model model = train(data, {}, {.folds = 0}).model;
  const Problem problem{.model = &model, .epsilon = 1e-4};
  const std::vector<Query> queries = problem_zoo::random_queries(model, 40, 7);
  const DataSupported generator(problem, data.raw);
  const std::vector<bool> robust = robust_by_definition(problem, data.raw);
  EXPECT_EQ(generator.robust_rows(), std::count(robust.begin(), robust.end(), true));
  const std::vector<Answer> answers = generator.generate(queries, {});
  int compared = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (answers[q].status == Status::already_robust) continue;
    ++compared;
    double best = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < data.rows(); ++i) {
      if (!robust[static_cast<std::size_t>(i)]) continue;
      best = std::min(
          best, plain::cost(problem.cost, model, queries[q].raw, data.raw.row(i).transpose()));
    }
    EXPECT_NEAR(answers[q].distance.weighted, best, 1e-12 * best);
  }
  EXPECT_GT(compared, 10);
}

TEST(DataSupported, ConstraintsOfTheRunAndOfOneQueryBind) {
  Problem problem = lending().problem();
  problem.constraints.features["housing"].locked = true;
  problem.constraints.features["savings"].max = 20000;
  problem.constraints.queries[3]["income"].locked = true;
  int moved = 0;
  for (const Answer& answer : search(problem, lending().queries, {.plans = 4})) {
    if (answer.status != Status::certified) continue;
    for (const Change& change : answer.changes) {
      EXPECT_NE(change.feature, "housing");
      if (change.feature == "savings") {
        EXPECT_LE(std::get<double>(change.to), 20000);
      }
      EXPECT_FALSE(answer.query_index == 3 && change.feature == "income");
      ++moved;
    }
  }
  EXPECT_GT(moved, 0);
}

TEST(DataSupported, RowsAtTheThresholdAreJudgedLikeTheCertificate) {
  const Lending& people = lending();
  Problem problem = people.problem();
  const RowMatrix rows = people.data.raw.topRows(300);
  const Ellipsoid set = last_layer_set(people.model, problem.epsilon);
  const Vector logits = robust_logits(set, people.model.encoder.encode(rows));
  for (Index i = 0; i < 40; ++i) {
    for (const double shift : {-1e-9, -1e-13, 0.0, 1e-13, 1e-9}) {
      problem.threshold = logits[i] + shift;
      const std::vector<bool> robust = robust_by_definition(problem, rows);
      EXPECT_EQ(DataSupported(problem, rows).robust_rows(),
                std::count(robust.begin(), robust.end(), true))
          << "row " << i << ", shift " << shift;
    }
  }
}

TEST(DataSupported, NothingFoundSaysHowManyRowsWereRobust) {
  Problem problem = lending().problem();
  for (const Feature& feature : lending().model.schema().features) {
    problem.constraints.features[feature.name].locked = true;
  }
  const DataSupported generator(problem, lending().data.raw);
  bool seen = false;
  for (const Answer& answer : generator.generate(lending().queries, {})) {
    if (answer.status == Status::already_robust) continue;
    seen = true;
    EXPECT_EQ(answer.status, Status::not_found);
    EXPECT_EQ(answer.message,
              fmt::format("{} of the 3000 training rows are robust, but none of these meets the "
                          "constraints",
                          generator.robust_rows()));
  }
  EXPECT_TRUE(seen);

  const Problem hopeless = lending().problem(1e6);
  for (const Answer& answer : search(hopeless, lending().queries)) {
    EXPECT_EQ(answer.status, Status::not_found);
    EXPECT_EQ(answer.message, "none of the 3000 training rows is robust at epsilon = 1000000");
  }
}

TEST(DataSupported, EqualRowsAreOnePlan) {
  const Lending& people = lending();
  RowMatrix doubled(2 * people.data.rows(), people.data.raw.cols());
  doubled << people.data.raw, people.data.raw;
  const Problem problem = people.problem();
  const DataSupported once(problem, people.data.raw, {.plans = 3});
  const DataSupported twice(problem, doubled, {.plans = 3});
  EXPECT_EQ(twice.robust_rows(), 2 * once.robust_rows());
  EXPECT_EQ(twice.different_rows(), once.different_rows());
  const std::vector<Answer> a = once.generate(people.queries, {});
  const std::vector<Answer> b = twice.generate(people.queries, {});
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].counterfactual, b[i].counterfactual);
}

TEST(DataSupported, NoQueriesNoRowsAndDisplayStepsAreAnswered) {
  Problem problem = lending().problem();
  EXPECT_TRUE(search(problem, {}).empty());
  const DataSupported empty(problem, RowMatrix(0, lending().data.raw.cols()));
  for (const Answer& answer : empty.generate(lending().queries, {})) {
    EXPECT_TRUE(answer.status == Status::not_found || answer.status == Status::already_robust);
  }
  const std::vector<Answer> plain = search(problem, lending().queries);
  problem.display_steps.assign(lending().model.schema().features.size(), 7777.0);
  const std::vector<Answer> rounded = search(problem, lending().queries);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i].counterfactual, rounded[i].counterfactual);
  }
}

TEST(DataSupported, WhatCannotBeUsedIsRefused) {
  const Problem problem = lending().problem();
  RowMatrix rows = lending().data.raw.topRows(10);
  EXPECT_THROW(DataSupported(problem, rows.leftCols(3)), Error);
  EXPECT_THROW(DataSupported(problem, rows, {.plans = 0}), Error);
  EXPECT_THROW((void)DataSupported(problem, rows).generate({{.raw = Vector::Zero(2)}}, {}), Error);
  rows(4, 4) = std::nan("");
  EXPECT_THROW(DataSupported(problem, rows), Error);
}

}  // namespace
}  // namespace ellice

// Few changes, the trade-off and several plans: exact, for networks and among training rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/infinity.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "search/data_supported.hpp"
#include "search/local_search.hpp"
#include "support/datasets.hpp"
#include "support/exact_answers.hpp"
#include "support/mixed_model.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::changed;
using problem_zoo::first_rows;
using problem_zoo::lending_model;
using problem_zoo::mixed_case;
using problem_zoo::MixedCase;
using problem_zoo::queries_of;

std::vector<std::vector<Answer>> by_query(const std::vector<Answer>& answers, std::size_t queries) {
  std::vector<std::vector<Answer>> result(queries);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.plan, static_cast<int>(result[answer.query_index].size()));
    result[answer.query_index].push_back(answer);
  }
  return result;
}

/// What `verify` says of a file that was written for these options of a method.
std::size_t faults(const Problem& problem, const std::vector<Answer>& answers,
                   const std::string& method, const Json& options) {
  Request request{.problem = problem, .rule = {.text = "test"}, .method = method};
  (*request.method_options)[method] = options;
  RecourseWriter writer(request);
  std::string text = writer.begin();
  for (const Answer& answer : answers) text += writer.answer(answer);
  text += writer.end();
  std::size_t count = 0;
  for (const AnswerAudit& audit :
       audit_recourse_file(parse_json(text, "r.json"), *problem.model, "r.json")) {
    count += audit.holds() ? 0 : 1;
  }
  return count;
}

TEST(TradeOff, IsTheNearestAnswerForEveryNumberOfChanges) {
  const Problem problem{.model = &lending_model(), .epsilon = 0.005};
  const std::vector<Query> queries = queries_of(lending_dataset(25, 5), 25);
  const ExactOptions options{.trade_off = true};
  const std::vector<Answer> answers = ExactSearch(problem, options).generate(queries, {});
  EXPECT_EQ(faults(problem, answers, "exact", fields_to_json(options)), 0U);
  const std::vector<Answer> fewest = ExactSearch(problem, {.sparse = true}).generate(queries, {});
  const std::vector<Answer> nearest = ExactSearch(problem).generate(queries, {});
  const auto plans = by_query(answers, queries.size());
  int several = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!is_certified(fewest[i].status) || fewest[i].changes.empty()) continue;
    EXPECT_EQ(plans[i].front().distance.changed, fewest[i].distance.changed);
    EXPECT_NEAR(plans[i].back().distance.weighted, nearest[i].distance.weighted,
                1e-8 * nearest[i].distance.weighted);
    several += plans[i].size() > 1 ? 1 : 0;
    double last = infinity;
    std::size_t next = 0;
    for (int k = fewest[i].distance.changed; k <= nearest[i].distance.changed; ++k) {
      const Answer limited =
          ExactSearch(problem, {.max_changes = k}).generate({queries[i]}, {}).front();
      if (limited.distance.weighted >= last * (1 - 1e-8)) continue;
      last = limited.distance.weighted;
      ASSERT_LT(next, plans[i].size());
      EXPECT_NEAR(plans[i][next].distance.weighted, last, 1e-8 * last);
      EXPECT_FALSE(plans[i][next].reason.empty());
      ++next;
    }
    EXPECT_EQ(next, plans[i].size());
  }
  EXPECT_GT(several, 5);
}

TEST(TradeOff, IsThatOfAllRowsWhereTheyCanBeTried) {
  const Model& model = lending_model();
  const std::vector<Query> queries = queries_of(lending_dataset(40, 5), 40);
  Problem problem{.model = &model, .epsilon = 0.004};
  for (const Feature& feature : model.schema().features) {
    if (feature.kind == FeatureKind::numeric)
      problem.constraints.features[feature.name].locked = true;
  }
  const plain::Ellipsoid judge(model, problem.epsilon);
  const auto plans =
      by_query(ExactSearch(problem, {.trade_off = true}).generate(queries, {}), queries.size());
  int several = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (judge.robust_logit(plain::code(model, queries[i].raw)) >= 0) continue;
    // The cheapest robust row of each number of changes; those that fewer changes undercut go.
    std::vector<double> best(model.schema().features.size() + 1, infinity);
    plain::visit_rows(problem, i, queries[i].raw, [&](const Vector& to) {
      double& least = best[static_cast<std::size_t>(plain::changes(queries[i].raw, to))];
      const double cost = plain::cost(problem.cost, model, queries[i].raw, to);
      if (cost < least && judge.robust_logit(plain::code(model, to)) >= 0) least = cost;
    });
    std::vector<std::pair<int, double>> expected;
    for (std::size_t k = 1; k < best.size(); ++k) {
      if (best[k] < (expected.empty() ? infinity : expected.back().second * (1 - 1e-8)))
        expected.emplace_back(static_cast<int>(k), best[k]);
    }
    if (expected.empty()) {
      EXPECT_FALSE(plans[i].front().counterfactual) << i;
      continue;
    }
    ASSERT_EQ(plans[i].size(), expected.size()) << i;
    several += expected.size() > 1 ? 1 : 0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(plans[i][k].distance.changed, expected[k].first) << i;
      EXPECT_NEAR(plans[i][k].distance.weighted, expected[k].second, 1e-9 * expected[k].second);
      plain::expect_allowed(problem, plans[i][k]);
    }
  }
  EXPECT_GT(several, 2);
}

TEST(TradeOff, DoesNotGoWithPlans) {
  const Problem problem{.model = &lending_model(), .epsilon = 0.005};
  EXPECT_THROW(ExactSearch(problem, {.trade_off = true, .plans = 2}), Error);
}

TEST(Plans, SayHowTheyDiffer) {
  const Problem problem{.model = &lending_model(), .epsilon = 0.005};
  const std::vector<Query> queries = queries_of(lending_dataset(20, 6), 20);
  int reasons = 0;
  for (const auto& plans :
       by_query(ExactSearch(problem, {.plans = 3}).generate(queries, {}), queries.size())) {
    for (const Answer& plan : plans) {
      if (plan.plan == 0 || !plan.counterfactual) continue;
      ++reasons;
      for (const std::string& name : changed(plans.front())) {
        if (changed(plan).contains(name)) continue;
        EXPECT_NE(plan.reason.find(name), std::string::npos) << plan.reason;
      }
      EXPECT_NE(plan.reason.find("alone"), std::string::npos);
    }
  }
  EXPECT_GT(reasons, 10);
}

TEST(Plans, AFileWhosePlansContainEachOtherIsRefused) {
  const Problem problem{.model = &lending_model(), .epsilon = 0.005};
  const std::vector<Query> queries = queries_of(lending_dataset(20, 6), 20);
  const ExactOptions options{.plans = 2};
  std::vector<Answer> answers = ExactSearch(problem, options).generate(queries, {});
  EXPECT_EQ(faults(problem, answers, "exact", fields_to_json(options)), 0U);
  const auto second = std::find_if(answers.begin(), answers.end(), [](const Answer& answer) {
    return answer.plan == 1 && answer.counterfactual;
  });
  ASSERT_NE(second, answers.end());
  *second = *(second - 1);
  second->plan = 1;
  EXPECT_EQ(faults(problem, answers, "exact", fields_to_json(options)), 1U);
  EXPECT_GT(faults(problem, answers, "exact", fields_to_json(ExactOptions{.trade_off = true})), 0U);
}

/// The fewest changes with which any row of a coarse grid is robust, by trying all of them.
int fewest_on_grid(const Problem& problem, const plain::Ellipsoid& judge, const Query& query) {
  std::vector<std::vector<double>> values;
  for (std::size_t j = 0; j < problem.model->schema().features.size(); ++j) {
    values.push_back(plain::values_of(problem, query.index, query.raw, j));
    const plain::Reach reach = plain::reach_of(problem, query.index, query.raw, j);
    if (reach.fixed || reach.step || !reach.listed.empty()) continue;
    for (int k = 0; k <= 6; ++k)
      values.back().push_back(reach.low + k * (reach.high - reach.low) / 6);
  }
  int fewest = std::numeric_limits<int>::max();
  plain::visit_rows(problem, query.index, query.raw, values, [&](const Vector& to) {
    const int changes = plain::changes(query.raw, to);
    if (changes == 0 || changes >= fewest) return;
    if (judge.robust_logit(plain::code(*problem.model, to)) >= problem.threshold) fewest = changes;
  });
  return fewest;
}

TEST(NetworkFewChanges, AreAsFewAsOnAGridNearlyAlways) {
  int compared = 0;
  int equal = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const MixedCase mixed = mixed_case(seed, false);
    const Problem problem{.model = &mixed.model, .epsilon = 0.002};
    const plain::Ellipsoid judge(mixed.model, problem.epsilon);
    const std::vector<Query> queries = first_rows(mixed, 8);
    const LocalSearchOptions options{.sparse = true};
    const std::vector<Answer> few =
        LocalSearch(problem, &mixed.rows, options).generate(queries, {});
    EXPECT_EQ(faults(problem, few, "network", fields_to_json(options)), 0U);
    const std::vector<Answer> nearest = LocalSearch(problem, &mixed.rows).generate(queries, {});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (nearest[i].status != Status::certified) continue;
      ASSERT_EQ(few[i].status, Status::certified);
      EXPECT_LE(few[i].distance.changed, nearest[i].distance.changed);
      plain::expect_allowed(problem, few[i]);
      const Vector to = plain::numbers(mixed.model.schema(), *few[i].counterfactual);
      EXPECT_GE(judge.robust_logit(plain::code(mixed.model, to)), 0);
      EXPECT_EQ(few[i].distance.changed, plain::changes(queries[i].raw, to));
      const int fewest = fewest_on_grid(problem, judge, queries[i]);
      ++compared;
      equal += few[i].distance.changed <= fewest ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 15);
  EXPECT_GE(equal, 0.9 * compared);
}

TEST(NetworkFewChanges, ALimitHoldsOrNothingIsReturned) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const MixedCase mixed = mixed_case(seed, true);
    const Problem problem{.model = &mixed.model, .epsilon = 0.002};
    const plain::Ellipsoid judge(mixed.model, problem.epsilon);
    const std::vector<Query> queries = first_rows(mixed, 8);
    for (const int most : {1, 2}) {
      const LocalSearchOptions options{.max_changes = most};
      const std::vector<Answer> answers =
          LocalSearch(problem, &mixed.rows, options).generate(queries, {});
      EXPECT_EQ(faults(problem, answers, "network", fields_to_json(options)), 0U);
      for (const Answer& answer : answers) {
        EXPECT_NE(answer.status, Status::optimal);
        if (!answer.counterfactual) {
          EXPECT_FALSE(answer.message.empty());
          continue;
        }
        ++found;
        if (answer.status != Status::already_robust) plain::expect_allowed(problem, answer);
        const Vector to = plain::numbers(mixed.model.schema(), *answer.counterfactual);
        EXPECT_LE(plain::changes(queries[answer.query_index].raw, to), most);
        if (answer.status != Status::reduced) {
          EXPECT_GE(judge.robust_logit(plain::code(mixed.model, to)), 0);
        }
      }
    }
  }
  EXPECT_GT(found, 8);
}

TEST(NetworkPlans, DifferAndMorePlansBeginWithTheSame) {
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const MixedCase mixed = mixed_case(seed, true);
    const Problem problem{.model = &mixed.model, .epsilon = 0.002};
    const std::vector<Query> queries = first_rows(mixed, 6);
    const LocalSearchOptions options{.plans = 3};
    const std::vector<Answer> three =
        LocalSearch(problem, &mixed.rows, options).generate(queries, {});
    EXPECT_EQ(faults(problem, three, "network", fields_to_json(options)), 0U);
    const std::vector<Answer> one = LocalSearch(problem, &mixed.rows).generate(queries, {});
    const auto plans = by_query(three, queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      EXPECT_EQ(to_json(one[i], mixed.model.schema()),
                to_json(plans[i].front(), mixed.model.schema()));
      for (std::size_t k = 1; k < plans[i].size(); ++k) {
        if (!plans[i][k].counterfactual) {
          EXPECT_FALSE(plans[i][k].message.empty());
          EXPECT_EQ(k + 1, plans[i].size());
          continue;
        }
        ++several;
        EXPECT_FALSE(plans[i][k].reason.empty());
        for (std::size_t earlier = 0; earlier < k; ++earlier) {
          const std::set<std::string> before = changed(plans[i][earlier]);
          const std::set<std::string> now = changed(plans[i][k]);
          EXPECT_FALSE(std::includes(now.begin(), now.end(), before.begin(), before.end()));
        }
      }
    }
  }
  EXPECT_GT(several, 5);
}

TEST(DataFewChanges, EqualBruteForceOverTheRows) {
  const Dataset data = lending_dataset(2000, 3);
  const Model& model = lending_model();
  const plain::Ellipsoid judge(model, 0.002);
  int answered = 0;
  const std::vector<Query> queries = queries_of(lending_dataset(60, 8), 60);
  struct Case {
    Cost cost = {};
    DataSupportedOptions options = {};
  };
  for (const Case& test : std::vector<Case>{
           {.cost = {.kind = CostKind::l1, .sparsity_weight = 0.8}},
           {.cost = {.kind = CostKind::mixed}},
           {.cost = {.kind = CostKind::mixed, .sparsity_weight = 0.3}},
           {.options = {.max_changes = 5}},
           {.options = {.sparse = true}},
           {.cost = {.kind = CostKind::l1}, .options = {.max_changes = 6, .sparse = true}}}) {
    Problem problem{.model = &model, .epsilon = 0.002, .cost = test.cost};
    for (const Feature& feature : model.schema().features) {
      if (feature.immutable) problem.constraints.features[feature.name] = {};
    }
    const std::vector<Answer> answers =
        DataSupported(problem, data.raw, test.options).generate(queries, {});
    EXPECT_EQ(faults(problem, answers, "data", fields_to_json(test.options)), 0U);
    int compared = 0;
    for (const Answer& answer : answers) {
      if (answer.status == Status::already_robust) continue;
      const Vector& query = queries[answer.query_index].raw;
      std::pair<int, double> best = {std::numeric_limits<int>::max(), infinity};
      for (Index i = 0; i < data.rows(); ++i) {
        const Vector row = data.raw.row(i);
        const int differing = plain::changes(query, row);
        if (test.options.max_changes && differing > *test.options.max_changes) continue;
        const std::pair<int, double> rank = {test.options.sparse ? differing : 0,
                                             plain::cost(test.cost, model, query, row)};
        if (rank >= best || !plain::fault(problem, answer.query_index, query, row).empty())
          continue;
        if (judge.robust_logit(plain::code(model, row)) >= problem.threshold) best = rank;
      }
      if (!answer.counterfactual) {
        EXPECT_TRUE(std::isinf(best.second)) << answer.query_index << ": " << answer.message;
        continue;
      }
      ++compared;
      EXPECT_NEAR(answer.distance.weighted, best.second, 1e-9 * best.second);
      if (test.options.sparse) {
        EXPECT_EQ(answer.distance.changed, best.first);
      }
    }
    answered += compared;
  }
  EXPECT_GT(answered, 20);
}

TEST(FewestChanges, OfGermanEqualAllPairsOfFeatures) {
  ELLICE_NEEDS_DATASET("german");
  const Dataset data = load_recipe("german");
  const Model model = train(data, {.balance = true}, {.folds = 0}).model;
  const Problem problem{.model = &model, .epsilon = 0.005};
  const plain::Ellipsoid judge(model, problem.epsilon);
  int pairs = 0;
  const std::vector<Query> queries = queries_of(data, 40);
  const std::vector<Answer> answers =
      ExactSearch(problem, {.max_changes = 2, .sparse = true}).generate(queries, {});
  for (const Answer& answer : answers) {
    if (answer.status == Status::already_robust) continue;
    const Vector& query = queries[answer.query_index].raw;
    // Everything that one feature, then two, can do.
    std::vector<std::vector<double>> values;
    for (std::size_t j = 0; j < model.schema().features.size(); ++j) {
      values.push_back(plain::values_of(problem, answer.query_index, query, j, 100'000));
      values.back().erase(values.back().begin());
    }
    double single = infinity;
    double pair = infinity;
    const auto improve = [&](double& best, const Vector& raw) {
      const double cost = plain::cost(problem.cost, model, query, raw);
      if (cost >= best || !plain::fault(problem, answer.query_index, query, raw).empty()) return;
      if (judge.robust_logit(plain::code(model, raw)) >= problem.threshold) best = cost;
    };
    for (std::size_t a = 0; a < values.size(); ++a) {
      if (values[a].size() > 100) continue;
      Vector raw = query;
      for (const double first : values[a]) {
        raw(static_cast<Index>(a)) = first;
        improve(single, raw);
        for (std::size_t b = a + 1; b < values.size(); ++b) {
          if (values[b].size() > 100) continue;
          for (const double second : values[b]) {
            raw(static_cast<Index>(b)) = second;
            improve(pair, raw);
          }
          raw(static_cast<Index>(b)) = query(static_cast<Index>(b));
        }
      }
    }
    // Amounts have thousands of values and are left out above, so that the search may know more.
    if (!answer.counterfactual) {
      EXPECT_TRUE(std::isinf(pair)) << answer.query_index;
      continue;
    }
    const double tried = answer.distance.changed == 1 ? single : pair;
    EXPECT_LE(answer.distance.weighted, tried * (1 + 1e-9)) << answer.query_index;
    if (answer.distance.changed == 2) {
      EXPECT_TRUE(std::isinf(single));
    }
    const bool has_amount =
        std::any_of(answer.changes.begin(), answer.changes.end(), [&](const Change& change) {
          return values[*model.schema().find(change.feature)].size() > 100;
        });
    if (has_amount) continue;
    ++pairs;
    EXPECT_NEAR(answer.distance.weighted, tried, 1e-9 * tried);
  }
  EXPECT_GT(pairs, 5);
}

}  // namespace
}  // namespace ellice

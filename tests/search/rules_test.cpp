// Rules between features: every method keeps them, exact ones are optimal under them, and they are
// named where they leave nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "methods/automatic.hpp"
#include "methods/greedy.hpp"
#include "methods/gumbel.hpp"
#include "search/data_supported.hpp"
#include "search/gradient.hpp"
#include "search/local_search.hpp"
#include "support/exact_answers.hpp"
#include "support/messages.hpp"
#include "support/mixed_model.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::numeric_model;
using problem_zoo::queries_of;
using problem_zoo::random_queries;
using problem_zoo::recourse_file;
using problem_zoo::solve;
using testing_support::expect_words;
using testing_support::message_of;

Model model_with_rules(const std::vector<std::string>& rules, std::uint64_t seed = 5) {
  return numeric_model(4, seed, [&](Schema& schema) {
    for (const std::string& rule : rules) schema.constraints.push_back(parse_rule(rule));
  });
}

double number(const RawRow& row, std::size_t j) {
  return std::get<double>(row[j]);
}

TEST(Rules, ExactAnswersAreNearestUnderThem) {
  const Model model = model_with_rules({"x0 <= 0.4 * x1 + 0.1", "x2 + x3 == 0.25"});
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2}) {
    const Problem problem{.model = &model, .epsilon = 0.005, .cost = {.kind = kind}};
    const std::vector<Query> queries = random_queries(model, 40, 9);
    const std::vector<Answer> answers = solve(problem, queries);
    const plain::Ellipsoid judge(model, problem.epsilon);
    int moved = 0;
    int tried = 0;
    for (const Answer& answer : answers) {
      if (answer.status == Status::already_robust) continue;
      EXPECT_TRUE(answer.status == Status::optimal || answer.status == Status::infeasible)
          << answer.query_index << " " << enum_name(answer.status) << " " << answer.message;
      if (!answer.counterfactual) continue;
      ++moved;
      const RawRow& row = *answer.counterfactual;
      EXPECT_LE(number(row, 0), 0.4 * number(row, 1) + 0.1 + 1e-9);
      EXPECT_NEAR(number(row, 2) + number(row, 3), 0.25, 1e-10);
      plain::expect_allowed(problem, answer);
      EXPECT_GE(judge.robust_logit(plain::code(model, row)), 0);
      // No row of the rules near the answer or anywhere is robust and cheaper.
      Random random(answer.query_index + 1);
      const Vector& query = queries[answer.query_index].raw;
      for (int k = 0; k < 300; ++k) {
        const double width = k % 3 == 0 ? 0.5 : k % 3 == 1 ? 0.03 : 0.002;
        Vector raw = plain::numbers(model.schema(), row) + width * random.normal_vector(4);
        raw(3) = 0.25 - raw(2);
        if (!plain::fault(problem, answer.query_index, query, raw).empty()) continue;
        if (judge.robust_logit(plain::code(model, raw)) < problem.threshold) continue;
        ++tried;
        EXPECT_GE(plain::cost(problem.cost, model, query, raw),
                  answer.distance.weighted * (1 - 1e-9));
      }
    }
    EXPECT_GT(moved, 10);
    EXPECT_GT(tried, 200);
    expect_audited(problem, answers);
  }
}

TEST(Rules, AreNamedWhereTheyLeaveNothing) {
  const Model model = model_with_rules({"x0 + x1 + x2 + x3 <= -60", "x0 <= 100"});
  Problem problem{.model = &model, .epsilon = 0.005};
  const std::vector<Answer> answers = solve(problem, random_queries(model, 20, 3));
  int named = 0;
  for (const Answer& answer : answers) {
    if (answer.status == Status::already_robust) continue;
    ASSERT_EQ(answer.status, Status::infeasible) << answer.message;
    const std::vector<std::string>& blocking = answer.infeasible->blocking.constraints;
    EXPECT_NE(std::find(blocking.begin(), blocking.end(), "rule x0 + x1 + x2 + x3 <= -60"),
              blocking.end());
    EXPECT_EQ(std::find(blocking.begin(), blocking.end(), "rule x0 <= 100"), blocking.end());
    EXPECT_FALSE(answer.infeasible->max_epsilon.lower);
    EXPECT_EQ(answer.infeasible->max_epsilon.upper, 0);
    // By hand: the least sum that the ranges allow is above what the rule asks for.
    double least = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const Vector from = plain::numbers(model.schema(), answer.query);
      least += plain::reach_of(problem, answer.query_index, from, j).low;
    }
    EXPECT_GT(least, -60);
    ++named;
  }
  EXPECT_GT(named, 5);
  expect_audited(problem, answers);
  // A proof with another weight is none.
  Json file = recourse_file(problem, answers);
  for (Json& result : file["results"]) {
    if (!result.contains("infeasible")) continue;
    result["infeasible"]["proof"]["rules"][0]["multiplier"] = -1.0;
  }
  for (const AnswerAudit& audit : audit_recourse_file(file, model, "r.json")) {
    EXPECT_TRUE(audit.status != Status::infeasible || !audit.holds());
  }
}

TEST(Rules, ProofsHoldWhereNumbersAreLargeAgainstTheirSpread) {
  // A rule's bound in units of the model is a small difference of large numbers.
  int proved = 0;
  for (const double size : {1e3, 1e6, 3e7, 1e10}) {
    Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(120, 3, 17));
    data.raw.col(0) = (data.raw.col(0).array() + size).matrix();
    data.schema.constraints.push_back(
        parse_rule(fmt::format("0.17 * x0 + x1 <= {}", 0.17 * size - 0.5)));
    const Model model = train(data, {}, {.folds = 0}).model;
    for (const double epsilon : {1e-3, 0.1, 1.0}) {
      Problem problem{.model = &model, .epsilon = epsilon};
      const std::vector<Answer> answers = solve(problem, random_queries(model, 12, 4));
      for (const Answer& answer : answers) proved += answer.infeasible ? 1 : 0;
      expect_audited(problem, answers);
    }
  }
  EXPECT_GT(proved, 10);
}

TEST(Rules, TogetherWithTheModelsLeaveNothingAndProveIt) {
  const Model model = model_with_rules({"x0 + x1 + x2 + x3 == 0", "x0 == x1"});
  Problem problem{.model = &model, .epsilon = 0.02, .threshold = 6};
  const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 4));
  int proved = 0;
  int rows_tried = 0;
  for (const Answer& answer : answers) {
    if (answer.status != Status::infeasible) continue;
    ++proved;
    EXPECT_LT(answer.infeasible->upper_bound, problem.threshold);
    EXPECT_GT(answer.infeasible->model.size(), 0);
    EXPECT_LE(answer.infeasible->max_epsilon.upper, problem.epsilon);
    // The model of the proof is one of the ellipsoid, and with its weights of the rules it gives
    // every row of the box less than the threshold.
    const plain::Ellipsoid judge(model, problem.epsilon);
    EXPECT_LE(judge.level(answer.infeasible->model), problem.epsilon * (1 + 1e-9));
    const Vector from = plain::numbers(model.schema(), answer.query);
    const auto [lower, upper] = plain::box_of(problem, answer.query_index, from);
    Random random(answer.query_index + 5);
    for (int draw = 0; draw < 500; ++draw) {
      // x0 = x1 = a, x2 = b, x3 = −2a − b: all rows that keep both rules.
      Vector raw(4);
      raw(0) = raw(1) = 4 * random.normal();
      raw(2) = 4 * random.normal();
      raw(3) = -2 * raw(0) - raw(2);
      const Vector z = plain::code(model, raw);
      if ((z.array() < lower.array()).any() || (z.array() > upper.array()).any()) continue;
      ++rows_tried;
      EXPECT_LT(judge.robust_logit(z), problem.threshold);
      EXPECT_LT(answer.infeasible->model.head(4).dot(z) + answer.infeasible->model(4),
                problem.threshold);
    }
  }
  EXPECT_GT(proved, 0);
  EXPECT_GT(rows_tried, 20);
  expect_audited(problem, answers);
}

TEST(Rules, ThatContradictEachOtherAreRefusedByName) {
  const auto refusal = [](const std::vector<std::string>& rules) {
    const Model model = model_with_rules(rules);
    const Problem problem{.model = &model, .epsilon = 0.01};
    return message_of(ErrorCode::input, [&] {
      validate(problem);
      return 0;
    });
  };
  const std::string message = refusal({"x3 <= 5", "x0 <= x1", "x1 <= x0 - 1"});
  expect_words(message, {"\"x0 <= x1\"", "\"x1 <= x0 - 1\"", "together"});
  EXPECT_EQ(message.find("x3"), std::string::npos);
  const Model model = model_with_rules({"x0 <= x1", "x1 <= x0"});
  EXPECT_NO_THROW(validate(Problem{.model = &model, .epsilon = 0.01}));
}

TEST(Rules, EnsemblesOfLinearModelsAreAnsweredExactly) {
  const Model first = numeric_model(4, 21);
  const Dataset other_rows = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 21));
  const Model second = train(other_rows, {}, {.l2 = 0.05, .folds = 0}).model;
  const Problem problem{
      .model = &first, .set = {.kind = SetKind::ensemble, .members = {&second}}, .epsilon = 0.01};
  ASSERT_EQ(why_not_exact(problem), "");
  const std::vector<Query> queries = random_queries(first, 40, 8);
  const std::vector<Answer> exact = ExactSearch(problem).generate(queries, {});
  const std::vector<Answer> local = LocalSearch(problem).generate(queries, {});
  const plain::Ellipsoid first_judge(first, problem.epsilon);
  const plain::Ellipsoid second_judge(second, problem.epsilon);
  int moved = 0;
  int tried = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i].status == Status::already_robust) continue;
    EXPECT_TRUE(exact[i].status == Status::optimal || exact[i].status == Status::infeasible)
        << i << " " << enum_name(exact[i].status) << exact[i].message;
    if (!exact[i].counterfactual) {
      EXPECT_NE(local[i].status, Status::certified);
      continue;
    }
    ++moved;
    const auto is_robust = [&](const Vector& raw) {
      return first_judge.robust_logit(plain::code(first, raw)) >= problem.threshold &&
             second_judge.robust_logit(plain::code(second, raw)) >= problem.threshold;
    };
    const Vector row = plain::numbers(first.schema(), *exact[i].counterfactual);
    EXPECT_TRUE(is_robust(row));
    plain::expect_allowed(problem, exact[i]);
    Random random(i + 1);
    for (int draw = 0; draw < 300; ++draw) {
      const Vector raw = row + (draw % 2 == 0 ? 0.2 : 0.01) * random.normal_vector(4);
      if (!is_robust(raw) || !plain::fault(problem, i, queries[i].raw, raw).empty()) continue;
      ++tried;
      EXPECT_GE(plain::cost(problem.cost, first, queries[i].raw, raw),
                exact[i].distance.weighted * (1 - 1e-9));
    }
    if (local[i].status == Status::certified) {
      EXPECT_LE(exact[i].distance.weighted, local[i].distance.weighted * (1 + 1e-9));
      EXPECT_GE(exact[i].distance.weighted, local[i].distance.weighted * (1 - 1e-2));
    }
  }
  EXPECT_GT(moved, 10);
  EXPECT_GT(tried, 500);
  const auto audits =
      audit_recourse_file(recourse_file(problem, exact), first, "r.json", {&second});
  for (const AnswerAudit& audit : audits) {
    EXPECT_TRUE(audit.holds()) << audit.query_index << ": " << audit.failures.front();
  }
}

Model lending_model(const std::vector<std::string>& implications) {
  Dataset data = lending_dataset(600, 1);
  for (Feature& feature : data.schema.features) {
    if (feature.name == "age") feature.immutable = false;
  }
  for (const std::string& text : implications)
    data.schema.implications.push_back(parse_implication(text));
  return train(data, {}, {.folds = 0}).model;
}

/// Whether a row keeps «if education rises then age rises by at least 2», «if housing becomes own
/// then debt stays» and the linear rule of the schema, by hand.
bool keeps_rules(const Schema& schema, const RawRow& from, const RawRow& to) {
  const auto at = [&](const RawRow& row, const char* name) { return row[*schema.find(name)]; };
  const auto level = [&](const RawRow& row) {
    return *schema.features[*schema.find("education")].level_index(
        std::get<std::string>(at(row, "education")));
  };
  const auto value = [&](const RawRow& row, const char* name) {
    return std::get<double>(at(row, name));
  };
  if (level(to) > level(from) && value(to, "age") < value(from, "age") + 2) return false;
  if (at(to, "housing") == Value("own") && at(from, "housing") != Value("own") &&
      value(to, "debt") != value(from, "debt"))
    return false;
  return value(to, "debt") + value(to, "loan_amount") <= 2 * value(to, "income") + 1e-6;
}

// Amounts come in steps of 100, so that rows keep the rule up to rounding only: a bound that took
// the rounding for a fault once ruled the best of them out.
TEST(Rules, ThatAGridMeetsExactlyRuleNothingOut) {
  Dataset data = lending_dataset(600, 1);
  data.schema.constraints = {parse_rule("savings + debt == 20000")};
  const Model model = train(data, {}, {.folds = 0}).model;
  const Problem problem{.model = &model, .epsilon = 0.01};
  const Schema& schema = model.schema();
  const std::size_t savings = *schema.find("savings");
  const std::size_t debt = *schema.find("debt");
  const std::size_t income = *schema.find("income");
  const std::vector<Query> queries = queries_of(lending_dataset(40, 3), 40);
  int compared = 0;
  const plain::Ellipsoid judge(model, problem.epsilon);
  const ExactSearch exact(problem, {.max_changes = 2});
  for (const Answer& answer : exact.generate(queries, {})) {
    if (answer.status != Status::optimal) continue;
    const Query& query = queries[answer.query_index];
    for (const auto& [kept, moved] : {std::pair(savings, debt), std::pair(debt, savings)}) {
      Vector raw = query.raw;
      raw[static_cast<Index>(moved)] = 20000 - raw[static_cast<Index>(kept)];
      for (double amount = 0; amount <= 200000; amount += 100) {
        raw[static_cast<Index>(income)] = amount;
        if (!plain::fault(problem, query.index, query.raw, raw).empty()) continue;
        if (judge.robust_logit(plain::code(model, raw)) < 1e-9) continue;
        ++compared;
        EXPECT_LE(answer.distance.weighted,
                  plain::cost(problem.cost, model, query.raw, raw) * (1 + 1e-9))
            << answer.query_index;
      }
    }
  }
  EXPECT_GT(compared, 50);
}

const std::vector<std::string> lending_implications = {
    "if education rises then age rises by at least 2", "if housing becomes own then debt stays"};

/// The same model with a schema that has no rules.
Model without_rules(const Model& model) {
  Dataset data = lending_dataset(600, 1);
  data.schema = model.schema();
  data.schema.constraints.clear();
  data.schema.implications.clear();
  Model result = model;
  result.encoder = Encoder::fit(data);
  return result;
}

TEST(Rules, ImplicationsEqualEnumeration) {
  const Model model = lending_model(lending_implications);
  const Schema& schema = model.schema();
  Problem problem{.model = &model, .epsilon = 0.001};
  for (const Feature& feature : schema.features) {
    const bool free =
        feature.name == "education" || feature.name == "age" || feature.name == "housing";
    if (!free) problem.constraints.features[feature.name].locked = true;
  }
  const std::vector<Query> queries = queries_of(lending_dataset(30, 3), 30);
  const std::vector<Answer> answers = solve(problem, queries);
  const plain::Ellipsoid judge(model, problem.epsilon);
  const Model unruled = without_rules(model);
  int changed_by_rules = 0;
  int answered = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (answer.status == Status::already_robust) continue;
    const Vector& from = queries[i].raw;
    double best = plain::infinity;
    double best_without = best;
    Problem free = problem;
    free.model = &unruled;
    plain::visit_rows(free, i, from, [&](const Vector& raw) {
      const double cost = plain::cost(problem.cost, model, from, raw);
      if (cost >= best) return;
      if (judge.robust_logit(plain::code(model, raw)) < problem.threshold) return;
      best_without = std::min(best_without, cost);
      const RawRow row = model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
      const bool keeps = keeps_rules(schema, answer.query, row);
      EXPECT_EQ(keeps, plain::fault(problem, i, from, raw).empty());
      if (keeps) best = cost;
    });
    if (best_without < best) ++changed_by_rules;
    if (!answer.counterfactual) {
      EXPECT_TRUE(std::isinf(best)) << i << " " << best << " " << answer.message;
      continue;
    }
    ++answered;
    EXPECT_TRUE(keeps_rules(schema, answer.query, *answer.counterfactual)) << i;
    EXPECT_EQ(answer.status, Status::optimal) << i;
    EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best) << i;
  }
  EXPECT_GT(changed_by_rules, 0);
  EXPECT_GT(answered, 3);
  expect_audited(problem, answers);
}

/// Three small whole numbers, a label that depends on them, and «if a rises then b stays».
Model small_model(std::uint64_t seed) {
  Random random(seed);
  Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(60, 3, seed));
  for (Feature& feature : data.schema.features) feature.kind = FeatureKind::integer;
  for (Index i = 0; i < data.rows(); ++i) {
    for (Index j = 0; j < 3; ++j) data.raw(i, j) = std::floor(5 * random.uniform());
    const double score = data.raw(i, 0) + (seed % 2 == 0 ? 1 : -1) * data.raw(i, 1) - 2;
    data.labels[static_cast<std::size_t>(i)] = score + 2 * random.normal() > 0 ? 1 : 0;
  }
  const auto name = [&](std::size_t j) { return data.schema.features[j].name; };
  data.schema.implications = {
      parse_implication(fmt::format("if {} rises then {} stays", name(0), name(1)))};
  return train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model;
}

// One of the cases that an implication makes often has no answer: there is no row to count changes
// in, which once was counted in all the same.
TEST(Rules, FewestChangesUnderImplicationsEqualEnumeration) {
  int one_sided = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) {
    SCOPED_TRACE(seed);
    const Model model = small_model(seed);
    const Problem problem{.model = &model, .epsilon = 0.002 * static_cast<double>(1 + seed % 9)};
    std::vector<Query> queries;
    for (std::size_t i = 0; i < 4; ++i)
      queries.push_back({.index = i, .raw = Vector{{0.0 + static_cast<double>(i), 4.0, 1.0}}});
    const std::vector<Answer> sparse = ExactSearch(problem, {.sparse = true}).generate(queries, {});
    const std::vector<Answer> curve =
        ExactSearch(problem, {.trade_off = true}).generate(queries, {});
    Problem over_true = problem;
    over_true.set = {.kind = SetKind::true_set};
    (void)ExactSearch(over_true, {.trade_off = true}).generate(queries, {});
    std::size_t first_plans = 0;
    for (const Answer& answer : curve) first_plans += answer.plan == 0 ? 1 : 0;
    EXPECT_EQ(first_plans, queries.size());
    const plain::Ellipsoid judge(model, problem.epsilon);
    for (const Answer& answer : sparse) {
      if (answer.status == Status::already_robust) continue;
      const Vector& from = queries[answer.query_index].raw;
      int fewest = 99;
      std::array<bool, 2> has_answer = {};  // where a does not rise, and where it does
      Vector raw = from;
      for (raw(0) = 0; raw(0) <= 4; ++raw(0)) {
        for (raw(1) = 0; raw(1) <= 4; ++raw(1)) {
          for (raw(2) = 0; raw(2) <= 4; ++raw(2)) {
            if (raw(0) > from(0) && raw(1) != from(1)) continue;
            if (!plain::fault(problem, answer.query_index, from, raw).empty()) continue;
            if (judge.robust_logit(plain::code(model, raw)) < 1e-9) continue;
            has_answer[raw(0) > from(0) ? 1 : 0] = true;
            fewest = std::min(fewest, static_cast<int>((raw.array() != from.array()).count()));
          }
        }
      }
      if (has_answer[0] != has_answer[1]) ++one_sided;
      EXPECT_EQ(is_certified(answer.status), fewest < 99) << seed << " " << answer.message;
      if (is_certified(answer.status)) {
        EXPECT_EQ(answer.distance.changed, fewest) << seed;
      }
    }
    expect_audited(problem, sparse, {.sparse = true});
  }
  EXPECT_GT(one_sided, 10);
}

// Who is free to move nothing once ended in a factorisation of nothing.
TEST(Rules, NobodyFreeToMoveIsProvedToHaveNoAnswer) {
  const Model model = model_with_rules({"x1 + x2 <= 0.5"});
  for (const bool has_member : {false, true}) {
    Problem problem{.model = &model, .epsilon = 0.05};
    if (has_member) problem.set = {.kind = SetKind::ensemble, .members = {&model}};
    for (const Feature& feature : model.schema().features)
      problem.constraints.features[feature.name].locked = true;
    int refused = 0;
    const std::vector<Answer> answers = solve(problem, random_queries(model, 12, 3));
    for (const Answer& answer : answers) {
      if (answer.status == Status::already_robust) continue;
      EXPECT_EQ(answer.status, Status::infeasible) << answer.message;
      ++refused;
    }
    EXPECT_GT(refused, 2);
    if (!has_member) expect_audited(problem, answers);
  }
}

TEST(Rules, EveryMethodKeepsThem) {
  const Model model = lending_model(lending_implications);
  const Problem problem{.model = &model, .epsilon = 0.003};
  const Dataset training = lending_dataset(600, 1);
  const plain::Ellipsoid judge(model, problem.epsilon);
  const std::vector<Query> queries = queries_of(lending_dataset(25, 3), 25);
  const auto expect_kept = [&](const Generator& generator, const char* name) {
    int answered = 0;
    for (const Answer& answer : generator.generate(queries, {})) {
      if (!is_certified(answer.status) || answer.status == Status::already_robust) continue;
      ++answered;
      EXPECT_TRUE(keeps_rules(model.schema(), answer.query, *answer.counterfactual))
          << name << " " << answer.query_index;
      plain::expect_allowed(problem, answer);
      EXPECT_GE(judge.robust_logit(plain::code(model, *answer.counterfactual)), 0) << name;
    }
    EXPECT_GT(answered, 0) << name;
  };
  expect_kept(ExactSearch(problem), "exact");
  expect_kept(ExactSearch(problem, {.sparse = true}), "sparse");
  expect_kept(ExactSearch(problem, {.plans = 3}), "plans");
  expect_kept(LocalSearch(problem), "network");
  expect_kept(GradientSearch(problem), "gradient");
  expect_kept(GreedySearch(problem), "greedy");
  expect_kept(GumbelSearch(problem), "gumbel");
  expect_kept(DataSupported(problem, training.raw), "data");
}

TEST(Rules, NetworksFindAnswersOnTightRules) {
  int answered = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 4)) {
    SCOPED_TRACE(seed);
    problem_zoo::MixedCase mixed = problem_zoo::mixed_case(seed, false);
    Problem free{.model = &mixed.model, .epsilon = 0.001};
    const std::vector<Query> queries = problem_zoo::first_rows(mixed, 12);
    const std::vector<Answer> without = LocalSearch(free, &mixed.rows).generate(queries, {});
    // The rule cuts off half of what an answer does with x0 and x1.
    for (const Answer& answer : without) {
      if (answer.status != Status::certified) continue;
      const double x0 = number(*answer.counterfactual, 0);
      const double x1 = number(*answer.counterfactual, 1);
      const double y0 = number(answer.query, 0);
      const double y1 = number(answer.query, 1);
      if (std::abs(x0 + x1 - y0 - y1) < 0.2) continue;
      Dataset data = problem_zoo::mixed_dataset(seed, false);
      // As the rule writes it, with six decimals.
      const double bound = std::round(0.5e6 * (x0 + x1 + y0 + y1)) / 1e6;
      data.schema.constraints = {parse_rule(
          "x0 + x1 " + std::string(x0 + x1 > y0 + y1 ? "<= " : ">= ") + std::to_string(bound))};
      Model ruled = mixed.model;
      ruled.encoder = Encoder::fit(data);
      const Problem problem{.model = &ruled, .epsilon = 0.001};
      const Answer found =
          LocalSearch(problem, &mixed.rows).generate({queries[answer.query_index]}, {}).front();
      if (found.status != Status::certified) continue;
      ++answered;
      const double sum = number(*found.counterfactual, 0) + number(*found.counterfactual, 1);
      EXPECT_GE((bound - sum) * (x0 + x1 > y0 + y1 ? 1 : -1), -1e-9);
      plain::expect_allowed(problem, found);
      EXPECT_GE(
          plain::Ellipsoid(ruled, 0.001).robust_logit(plain::code(ruled, *found.counterfactual)),
          0);
    }
  }
  EXPECT_GT(answered, 3);
}

}  // namespace
}  // namespace ellice

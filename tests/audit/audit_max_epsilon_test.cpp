// What a file says of people without an answer, and of answers that nothing undercuts, where rules,
// several models, several classes or the true set take part: honest files pass, altered ones do
// not.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "support/class_cases.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::class_model;
using problem_zoo::numeric_model;
using problem_zoo::random_queries;
using problem_zoo::recourse_file;
using problem_zoo::solve;
using problem_zoo::winning;

bool speak_of(const std::vector<std::string>& sentences, std::string_view word) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
    return sentence.find(word) != std::string::npos;
  });
}

AnswerAudit audited(const Problem& problem, const Answer& answer,
                    const std::function<void(Json&)>& change = {}) {
  Json file = recourse_file(problem, {answer});
  if (change) change(file["results"][0]);
  return audit_recourse_file(file, *problem.model, "r.json", problem.set.members)[0];
}

/// Honest answers hold with nothing left open about their largest ε; those whose largest ε is
/// altered by `share` do not hold.
void expect_largest_epsilon_is_found(const Problem& problem, const std::vector<Answer>& answers,
                                     double share, int at_least) {
  int altered = 0;
  for (const Answer& answer : answers) {
    if (!answer.infeasible) continue;
    const AnswerAudit honest = audited(problem, answer);
    EXPECT_TRUE(honest.holds()) << answer.query_index << ": " << honest.failures.front();
    EXPECT_FALSE(speak_of(honest.unverified, "max_epsilon"))
        << answer.query_index << ": " << honest.unverified.front();
    const double stated = answer.infeasible->max_epsilon.lower.value_or(0);
    if (!(stated > 1e-3 * problem.epsilon)) continue;
    ++altered;
    for (const double factor : {0.5, 1 - share, 1 + share, 1.9}) {
      const AnswerAudit other = audited(problem, answer, [&](Json& json) {
        Json& why = json["infeasible"];
        why["max_epsilon"] = why["max_epsilon_bounds"]["lower"] = factor * stated;
      });
      EXPECT_TRUE(speak_of(other.failures, "max_epsilon")) << answer.query_index << " " << factor;
    }
  }
  EXPECT_GE(altered, at_least);
}

Model model_with_rules(const std::vector<std::string>& rules, std::uint64_t seed) {
  return numeric_model(4, seed, [&](Schema& schema) {
    for (const std::string& rule : rules) {
      if (is_implication(rule)) {
        schema.implications.push_back(parse_implication(rule));
      } else {
        schema.constraints.push_back(parse_rule(rule));
      }
    }
  });
}

TEST(AuditMaxEpsilon, IsFoundUnderRules) {
  for (const std::vector<std::string>& rules :
       {std::vector<std::string>{"x0 + x1 + x2 + x3 == 0", "x0 == x1"},
        std::vector<std::string>{"x0 <= 0.4 * x1 + 0.1", "x2 + x3 <= 1"}}) {
    const Model model = model_with_rules(rules, 5);
    const Problem problem{.model = &model, .epsilon = 0.05, .threshold = 1.5};
    expect_largest_epsilon_is_found(problem, solve(problem, random_queries(model, 20, 4)), 0.01, 5);
  }
}

TEST(AuditMaxEpsilon, IsFoundForEnsembles) {
  const Model first = numeric_model(4, 21);
  const Dataset rows = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 21));
  const Model second = train(rows, {}, {.l2 = 0.05, .folds = 0}).model;
  const Problem problem{.model = &first,
                        .set = {.kind = SetKind::ensemble, .members = {&second}},
                        .epsilon = 0.3,
                        .threshold = 1};
  expect_largest_epsilon_is_found(problem, solve(problem, random_queries(first, 15, 8)), 0.01, 5);
}

TEST(AuditMaxEpsilon, IsFoundForClasses) {
  const Model model = class_model(3, 3, 31);
  const Problem problem{
      .model = &model, .set = winning(model, 0), .epsilon = 0.5, .threshold = 0.5};
  expect_largest_epsilon_is_found(problem, solve(problem, random_queries(model, 15, 9)), 0.01, 5);
}

TEST(AuditMaxEpsilon, IsFoundOverTheTrueSet) {
  Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 3, 41));
  data.schema.features[0].immutable = true;
  data.schema.features[1].direction = Direction::increase;
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model;
  const Problem problem{.model = &model, .set = {.kind = SetKind::true_set}, .epsilon = 0.2};
  expect_largest_epsilon_is_found(problem, solve(problem, random_queries(model, 15, 42)), 0.05, 4);
}

TEST(AuditMaxEpsilon, IsFoundForClassesOverTheTrueSet) {
  TrainingOptions options = problem_zoo::softmax_options();
  options.store_rows = true;
  const Model model = train(problem_zoo::class_dataset(240, 3, 3, 31), {}, options).model;
  Problem problem{.model = &model, .set = winning(model, 0), .epsilon = 0.5, .threshold = 0.5};
  problem.set.kind = SetKind::true_set;
  expect_largest_epsilon_is_found(problem, solve(problem, random_queries(model, 10, 9)), 0.05, 4);
}

TEST(AuditBlocking, IsHeldAgainstItsProofsAndRows) {
  const Model model = numeric_model(5, 37, [](Schema& schema) {
    schema.features[0].immutable = true;
    schema.features[1].direction = Direction::increase;
    schema.constraints.push_back(parse_rule("x2 + x3 <= 6"));
  });
  Problem problem{.model = &model, .epsilon = 0.03, .threshold = 0.5};
  problem.constraints.features["x4"] = {.max = 0.5};
  problem.constraints.features["x2"] = {.locked = true};
  problem.constraints.features["x3"] = {.locked = true};
  int altered = 0;
  for (const Answer& answer : solve(problem, random_queries(model, 40, 38))) {
    if (!answer.infeasible) continue;
    const AnswerAudit honest = audited(problem, answer);
    EXPECT_TRUE(honest.holds()) << answer.query_index << ": " << honest.failures.front();
    const Infeasibility& stated = *answer.infeasible;
    if (stated.blocking.constraints.empty() || stated.best.empty() ||
        speak_of(honest.unverified, "blocking"))
      continue;
    ++altered;
    const std::vector<std::function<void(Json&)>> alterations = {
        [](Json& why) { why["blocking"][0] = "x9: immutable"; },
        [](Json& why) {
          why["blocking"].erase(0);
          why["blocking_witnesses"].erase(0);
        },
        [](Json& why) { why["blocking_witnesses"][0] = nullptr; },
        [&](Json& why) {
          why["blocking_witnesses"][0] = row_to_json(model.schema(), answer.query);
        },
        [](Json& why) { why["best"]["point"]["x4"] = 7.0; },
        [](Json& why) { why["best"]["bound"] = -1e3; }};
    for (std::size_t k = 0; k < alterations.size(); ++k) {
      EXPECT_FALSE(
          audited(problem, answer, [&](Json& json) { alterations[k](json["infeasible"]); }).holds())
          << answer.query_index << " " << k;
    }
  }
  EXPECT_GE(altered, 5);
}

TEST(AuditGap, OfAFartherRowIsRefusedUnderRulesAndForSeveralSets) {
  const Model ruled = model_with_rules({"x0 <= 0.4 * x1 + 2", "if x2 rises then x3 stays"}, 5);
  const Model first = numeric_model(4, 21);
  const Dataset rows = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 21));
  const Model second = train(rows, {}, {.l2 = 0.05, .folds = 0}).model;
  const Model classes = class_model(4, 3, 31);
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2}) {
    for (const Problem& problem :
         {Problem{.model = &ruled, .epsilon = 0.005, .cost = {.kind = kind}},
          Problem{.model = &first,
          .set = {.kind = SetKind::ensemble, .members = {&second}},
          .epsilon = 0.01,
          .cost = {.kind = kind}},
          Problem{.model = &classes,
          .set = winning(classes, 1),
          .epsilon = 0.01,
          .cost = {.kind = kind}}}) {
      const Assembler assembler(problem);
      int altered = 0;
      for (const Answer& answer : solve(problem, random_queries(*problem.model, 12, 6))) {
        if (answer.status != Status::optimal) continue;
        const AnswerAudit honest = audited(problem, answer);
        EXPECT_TRUE(honest.holds()) << answer.query_index << ": " << honest.failures.front();
        EXPECT_TRUE(honest.unverified.empty())
            << answer.query_index << ": " << honest.unverified.front();
        const Encoder& encoder = problem.model->encoder;
        const FeasibleSet feasible(encoder, problem.constraints, answer.query_index,
                                   encoder.raw(answer.query));
        const Vector from = encoder.raw(answer.query);
        const Vector farther = from + 1.02 * (encoder.raw(*answer.counterfactual) - from);
        Answer worse = answer;
        if (!assembler.accept(worse, farther, feasible)) continue;
        worse.status = Status::optimal;
        ++altered;
        EXPECT_TRUE(speak_of(audited(problem, worse).failures, "gap")) << answer.query_index;
      }
      EXPECT_GT(altered, 2) << enum_name(kind);
    }
  }
}

// The own value is a piece by itself: its cheapest point is not the range's.
TEST(AuditGap, IsProvedForPeopleOutsideTheirRanges) {
  const Model model = numeric_model(4, 51);
  int outside = 0;
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2}) {
    for (const double low : {-3.0, 1.0}) {
      Problem problem{.model = &model, .epsilon = 0.005, .cost = {.kind = kind}};
      problem.constraints.features["x1"] = {.min = low, .max = low + 1};
      for (const Answer& answer : solve(problem, random_queries(model, 25, 52))) {
        const AnswerAudit honest = audited(problem, answer);
        EXPECT_TRUE(honest.holds()) << answer.query_index << ": " << honest.failures.front();
        EXPECT_FALSE(speak_of(honest.unverified, "gap"))
            << answer.query_index << ": " << honest.unverified.front();
        outside += answer.status == Status::optimal && !answer.query_violations.empty() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(outside, 20);
}

}  // namespace
}  // namespace ellice

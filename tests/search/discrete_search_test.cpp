// Whole numbers and levels of networks, by the search of their own and by the paper's two methods.

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/infinity.hpp"
#include "data/recipe.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/training.hpp"
#include "methods/greedy.hpp"
#include "methods/gumbel.hpp"
#include "search/local_search.hpp"
#include "support/datasets.hpp"
#include "support/mixed_model.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::first_rows;
using problem_zoo::mixed_case;
using problem_zoo::MixedCase;

std::string text_of(const std::vector<Answer>& answers, const Schema& schema) {
  std::string result;
  for (const Answer& answer : answers) result += to_json(answer, schema).dump();
  return result;
}

/// Every row is one that a person could have, and is robust.
int check_answers(const Problem& problem, const std::vector<Query>& queries,
                  const std::vector<Answer>& answers) {
  const Model& model = *problem.model;
  EXPECT_EQ(answers.size(), queries.size());
  int certified = 0;
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.held.empty());
    if (answer.status == Status::already_robust || !answer.counterfactual) continue;
    EXPECT_TRUE(is_certified(answer.status));
    plain::expect_allowed(problem, answer);
    const double epsilon =
        answer.status == Status::reduced ? answer.attained_epsilon.value_or(1e9) : problem.epsilon;
    const plain::Ellipsoid judge(model, epsilon);
    EXPECT_GE(judge.robust_logit(plain::code(model, *answer.counterfactual)), 0);
    const Vector raw = plain::numbers(model.schema(), *answer.counterfactual);
    for (std::size_t j = 0; j < model.schema().features.size(); ++j) {
      if (model.schema().features[j].kind == FeatureKind::numeric) continue;
      EXPECT_EQ(raw(static_cast<Index>(j)), std::round(raw(static_cast<Index>(j))));
    }
    certified += answer.status == Status::certified ? 1 : 0;
  }
  return certified;
}

TEST(DiscreteSearch, EveryMethodGivesWholeAllowedCertifiedRows) {
  std::vector<int> certified(5, 0);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const MixedCase mixed = mixed_case(seed, true);
    const Problem problem{.model = &mixed.model, .epsilon = 0.002};
    Problem charged = problem;
    charged.cost.kind = CostKind::mixed;
    const std::vector<Query> queries = first_rows(mixed, 12);
    const std::vector<std::function<std::unique_ptr<Generator>()>> methods = {
        [&] { return std::make_unique<LocalSearch>(problem, &mixed.rows); },
        [&] { return std::make_unique<LocalSearch>(charged); },
        [&] { return std::make_unique<GreedySearch>(problem); },
        [&] {
          return std::make_unique<GreedySearch>(
              problem, GreedyOptions{.greedy_step = GreedyStep::quadratic});
        },
        [&] { return std::make_unique<GumbelSearch>(problem); }};
    for (std::size_t k = 0; k < methods.size(); ++k) {
      certified[k] += check_answers(problem, queries, methods[k]()->generate(queries, {}));
    }
  }
  for (const int count : certified) EXPECT_GE(count, 30);
}

/// The least cost over all values of the discrete features, numbers on a grid that is drawn in
/// around the best point three times.
double brute_force(const Problem& problem, const Query& query) {
  const Model& model = *problem.model;
  const plain::Ellipsoid judge(model, problem.epsilon);
  double best = infinity;
  std::vector<std::vector<double>> values;
  for (std::size_t j = 0; j < model.schema().features.size(); ++j)
    values.push_back(plain::values_of(problem, query.index, query.raw, j));
  const plain::Reach first = plain::reach_of(problem, query.index, query.raw, 0);
  const plain::Reach second = plain::reach_of(problem, query.index, query.raw, 1);
  const auto improve = [&](const Vector& to) {
    const double cost = plain::cost(problem.cost, model, query.raw, to);
    if (cost >= best || judge.robust_logit(plain::code(model, to)) < problem.threshold)
      return false;
    best = cost;
    return true;
  };
  plain::visit_rows(problem, query.index, query.raw, values, [&](const Vector& fixed) {
    // Nothing that is fixed alone may cost more already.
    if (plain::cost(problem.cost, model, query.raw, fixed) >= best) return;
    Vector centre = fixed;
    double width = std::max(first.high - first.low, second.high - second.low);
    for (int round = 0; round < 4; ++round, width /= 6) {
      Vector next = centre;
      for (int a = -6; a <= 6; ++a) {
        for (int b = -6; b <= 6; ++b) {
          Vector to = centre;
          to(0) = std::clamp(centre(0) + width * a / 6, first.low, first.high);
          to(1) = std::clamp(centre(1) + width * b / 6, second.low, second.high);
          if (improve(to)) next = to;
        }
      }
      centre = next;
    }
  });
  return best;
}

TEST(DiscreteSearch, ComesNearTheBestOfAllChoicesAndIsNeverWorseThanNone) {
  int asked = 0;
  int near = 0;
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    const MixedCase mixed = mixed_case(seed, false);
    const Problem problem{.model = &mixed.model, .epsilon = 0.002};
    const std::vector<Query> queries = first_rows(mixed, 6);
    const std::vector<Answer> found = LocalSearch(problem).generate(queries, {});
    const std::vector<Answer> held =
        LocalSearch(problem, nullptr, {.discrete_nodes = 0}).generate(queries, {});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (found[i].status == Status::already_robust) continue;
      if (held[i].status == Status::certified) {
        ASSERT_EQ(found[i].status, Status::certified);
        EXPECT_LE(found[i].distance.weighted, held[i].distance.weighted);
      }
      const double best = brute_force(problem, queries[i]);
      if (!std::isfinite(best)) continue;
      ++asked;
      const bool is_near = found[i].status == Status::certified &&
                           std::sqrt(found[i].distance.weighted) <= 1.05 * std::sqrt(best);
      near += is_near ? 1 : 0;
    }
  }
  EXPECT_GE(asked, 15);
  EXPECT_GE(near, 0.9 * asked) << near << " of " << asked;
}

/// Whoever has a robust training row within the constraints gets an answer that costs no more.
void expect_no_row_missed(const Dataset& data, Index count, int epochs, int least) {
  TrainingOptions options{.model = NetworkKind::mlp, .refit = true};
  options.network.hidden = {8};
  options.network.learning_rate = 0.01;
  options.network.epochs = epochs;
  const Model model = train(data, {.balance = true}, options).model;
  const StoredRows rows{.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  const Problem problem{.model = &model, .epsilon = 0.002};
  const std::vector<Query> queries = problem_zoo::queries_of(data, count);
  const plain::Ellipsoid judge(model, problem.epsilon);
  std::vector<Index> robust;
  for (Index i = 0; i < data.rows(); ++i) {
    if (judge.robust_logit(plain::code(model, Vector(data.raw.row(i)))) >= 1e-9)
      robust.push_back(i);
  }
  const std::vector<Answer> found = LocalSearch(problem, &rows).generate(queries, {});
  int asked = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (judge.robust_logit(plain::code(model, queries[i].raw)) >= 0) continue;
    double nearest = infinity;
    for (const Index row : robust) {
      const double cost = plain::cost(problem.cost, model, queries[i].raw, data.raw.row(row));
      if (cost < nearest && plain::fault(problem, i, queries[i].raw, data.raw.row(row)).empty())
        nearest = cost;
    }
    if (std::isinf(nearest)) continue;
    ++asked;
    ASSERT_EQ(found[i].status, Status::certified) << i;
    EXPECT_LE(found[i].distance.weighted, nearest * (1 + 1e-9)) << i;
    plain::expect_allowed(problem, found[i]);
    EXPECT_GE(judge.robust_logit(plain::code(model, *found[i].counterfactual)), 0);
  }
  EXPECT_GE(asked, least);
}

TEST(DiscreteSearch, MissesNoRobustRowOfLending) {
  expect_no_row_missed(load_recipe("lending"), 120, 60, 5);
}

TEST(DiscreteSearch, MissesNoRobustRowOfGerman) {
  ELLICE_NEEDS_DATASET("german");
  expect_no_row_missed(load_recipe("german"), 12, 30, 4);
}

TEST(DiscreteSearch, AnswersDoNotDependOnThreads) {
  const MixedCase mixed = mixed_case(31, true);
  const Problem problem{.model = &mixed.model, .epsilon = 0.002};
  const std::vector<Query> queries = first_rows(mixed, 10);
  const auto text = [&](int threads) {
    return text_of(LocalSearch(problem, &mixed.rows).generate(queries, {.threads = threads}),
                   mixed.model.schema());
  };
  EXPECT_EQ(text(1), text(3));
}

TEST(FeasibleSet, HoldsOtherValuesOnlyWhereTheyAreAllowed) {
  const MixedCase mixed = mixed_case(1, true);
  const Vector query = mixed.raw.row(0);
  const Constraints constraints;
  const FeasibleSet feasible(mixed.model.encoder, constraints, 0, query);
  Vector row = query;
  row(5) = query(5) == 2 ? 0 : 2;
  row(6) = 1;             // q: not allowed
  row(0) = query(0) + 1;  // numeric: not held
  const FeasibleSet part = feasible.holding(row);
  const Vector raw = part.decode(
      part.boxes().front().lower.cwiseMax(feasible.query()).cwiseMin(part.boxes().front().upper));
  EXPECT_EQ(raw(5), row(5));
  EXPECT_EQ(raw(6), query(6));
  EXPECT_EQ(raw(0), query(0));
  EXPECT_EQ(part.query_raw(), query);
  EXPECT_TRUE(part.violations(raw) == feasible.violations(raw));
}

TEST(GreedySearch, ChangesOnlyWhatItLetGoAndFewerFeaturesThanTheGradientMethod) {
  const Model model = problem_zoo::numeric_model(8, 5, [](Schema& schema) {
    schema.features[1].immutable = true;
    schema.features[2].direction = Direction::increase;
  });
  const Problem problem{.model = &model, .epsilon = 0.002};
  const std::vector<Query> queries = problem_zoo::random_queries(model, 40, 6);
  const std::vector<Answer> dense = GradientSearch(problem).generate(queries, {});
  for (const GreedyStep step : {GreedyStep::gradient, GreedyStep::quadratic}) {
    const GreedySearch greedy(problem, {.greedy_step = step});
    const std::vector<Answer> answers = greedy.generate(queries, {});
    int changes = 0;
    int dense_changes = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (answers[i].status == Status::already_robust) continue;
      const std::vector<std::size_t> ranking = greedy.ranking(queries[i]);
      EXPECT_EQ(ranking.size(), 7U);
      EXPECT_EQ(std::count(ranking.begin(), ranking.end(), 1U), 0);
      if (answers[i].status != Status::certified) continue;
      // With everything beyond the last feature that changed locked, the same growth ends as well.
      std::size_t last = 0;
      for (std::size_t k = 0; k < ranking.size(); ++k) {
        const std::string& name = model.schema().features[ranking[k]].name;
        for (const Change& change : answers[i].changes) last = change.feature == name ? k : last;
      }
      Problem locked = problem;
      for (std::size_t k = last + 1; k < ranking.size(); ++k) {
        locked.constraints.features[model.schema().features[ranking[k]].name].locked = true;
      }
      EXPECT_EQ(GreedySearch(locked, {.greedy_step = step}).generate({queries[i]}, {})[0].status,
                Status::certified);
      if (dense[i].status != Status::certified) continue;
      changes += answers[i].distance.changed;
      dense_changes += dense[i].distance.changed;
    }
    EXPECT_GT(changes, 0);
    EXPECT_LT(2 * changes, dense_changes);
  }
}

TEST(GumbelSearch, IsTheSameForEveryNumberOfThreadsAndAnotherForAnotherSeed) {
  const MixedCase mixed = mixed_case(41, true);
  const Problem problem{.model = &mixed.model, .epsilon = 0.002};
  const std::vector<Query> queries = first_rows(mixed, 20);
  const auto text = [&](std::uint64_t seed, int threads) {
    return text_of(GumbelSearch(problem, {.seed = seed}).generate(queries, {.threads = threads}),
                   mixed.model.schema());
  };
  EXPECT_EQ(text(1, 1), text(1, 3));
  EXPECT_NE(text(1, 1), text(2, 1));
}

TEST(GumbelSearch, FurtherSamplesOnlyImproveTheAnswer) {
  double first = 0;
  double last = 0;
  for (std::uint64_t seed = 51; seed < 55; ++seed) {
    const MixedCase mixed = mixed_case(seed, false);
    const Problem problem{.model = &mixed.model, .epsilon = 0.002};
    const std::vector<Query> queries = first_rows(mixed, 10);
    const std::vector<Answer> few =
        GumbelSearch(problem, {.extra_samples = 0}).generate(queries, {});
    const std::vector<Answer> many =
        GumbelSearch(problem, {.extra_samples = 300}).generate(queries, {});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      ASSERT_EQ(few[i].status, many[i].status);
      EXPECT_LE(many[i].distance.weighted, few[i].distance.weighted);
      first += few[i].distance.weighted;
      last += many[i].distance.weighted;
    }
  }
  EXPECT_LT(last, first);
}

}  // namespace
}  // namespace ellice

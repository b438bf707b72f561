// Random schemas, models and people: what is returned keeps every constraint, is certified as it is
// written, and on small grids nothing cheaper is. The checks read the written row and the schema
// alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/infinity.hpp"
#include "ellice/core/json.hpp"
#include "search/local_search.hpp"
#include "support/exact_answers.hpp"
#include "support/network_model.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

/// Some features of every kind, with every key of the format that restricts them, all discrete.
Schema random_features(Random& random) {
  Schema schema;
  schema.target = {.column = "outcome", .favourable = "yes"};
  const std::uint64_t count = 3 + random.below(3);
  for (std::uint64_t j = 0; j < count; ++j) {
    Feature feature{.name = "f" + std::to_string(j)};
    feature.weight = std::exp(0.5 * random.normal());
    feature.immutable = random.below(6) == 0;
    switch (random.below(5)) {
      case 0:
        feature.kind = FeatureKind::integer;
        if (random.below(2) == 0) feature.min = 1;
        if (random.below(2) == 0) feature.max = 5;
        break;
      case 1:
        feature.allowed = {-1.5, -0.5, 0.25, 1.0, 2.0};
        break;
      case 2:
        feature.kind = FeatureKind::ordinal;
        feature.levels = {"low", "middle", "high", "top"};
        break;
      case 3:
        feature.kind = FeatureKind::binary;
        feature.levels = {"no", "yes"};
        break;
      default:
        feature.kind = FeatureKind::categorical;
        feature.levels = {"a", "b", "c", "d"};
        if (random.below(2) == 0) feature.allowed = {"a", "c", "d"};
    }
    if (feature.kind != FeatureKind::categorical) {
      feature.direction = static_cast<Direction>(random.below(3));
    }
    schema.features.push_back(std::move(feature));
  }
  return schema;
}

Dataset random_data(const Schema& schema, Random& random) {
  Dataset data{.schema = schema};
  const Index rows = 120;
  data.raw.resize(rows, static_cast<Index>(schema.features.size()));
  const Vector slope = random.normal_vector(data.raw.cols());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < data.raw.cols(); ++j) {
      const Feature& feature = schema.features[static_cast<std::size_t>(j)];
      data.raw(i, j) = feature.kind == FeatureKind::numeric ? random.normal()
                       : feature.kind == FeatureKind::integer
                           ? static_cast<double>(random.below(7))
                           : static_cast<double>(random.below(feature.levels.size()));
    }
    data.labels.push_back(data.raw.row(i).dot(slope) + 2 * random.normal() > 1 ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

/// Position of a written value on the scale of its feature.
double place(const Feature& feature, const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto at = std::find(feature.levels.begin(), feature.levels.end(), value.get<std::string>());
  return static_cast<double>(at - feature.levels.begin());
}

/// Whether the schema lets a feature go from one value to another; `low` and `high` are the
/// training range.
bool may_become(const Feature& feature, double from, double to, double low, double high) {
  if (from == to) return true;
  if (feature.immutable) return false;
  if (feature.direction == Direction::increase && to < from) return false;
  if (feature.direction == Direction::decrease && to > from) return false;
  if (!feature.allowed.empty()) {
    const bool listed =
        std::any_of(feature.allowed.begin(), feature.allowed.end(), [&](const Value& value) {
          const double* number = std::get_if<double>(&value);
          return number != nullptr
                     ? *number == to
                     : feature.levels[static_cast<std::size_t>(to)] == std::get<std::string>(value);
        });
    if (!listed) return false;
  }
  if (!feature.is_number()) return true;
  if (feature.kind == FeatureKind::integer && to != std::nearbyint(to)) return false;
  if (to < std::min(from, feature.min.value_or(low)) || to < std::min(from, low)) return false;
  if (to > std::max(from, feature.max.value_or(high)) || to > std::max(from, high)) return false;
  return (!feature.min || to >= *feature.min) && (!feature.max || to <= *feature.max);
}

void expect_kept(const Dataset& data, const Json& answer) {
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    const auto column = data.raw.col(static_cast<Index>(j));
    EXPECT_TRUE(may_become(feature, place(feature, answer.at("query").at(feature.name)),
                           place(feature, answer.at("counterfactual").at(feature.name)),
                           column.minCoeff(), column.maxCoeff()))
        << feature.name << ": " << answer.at("query").dump() << " to "
        << answer.at("counterfactual").dump();
  }
}

/// The least cost of a robust row, over all rows that the schema allows.
double cheapest(const Problem& problem, const Dataset& data, const Vector& query,
                std::optional<int> max_changes) {
  const plain::Ellipsoid judge(*problem.model, problem.epsilon);
  std::vector<std::vector<double>> values;
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    const double from = query(static_cast<Index>(j));
    const auto column = data.raw.col(static_cast<Index>(j));
    values.push_back({from});
    std::vector<double> all = {-1.5, -0.5, 0.25, 1.0, 2.0};
    if (feature.kind != FeatureKind::numeric) {
      all.clear();
      const double end = feature.is_number() ? 8 : static_cast<double>(feature.levels.size());
      for (double value = 0; value < end; ++value) all.push_back(value);
    }
    for (const double to : all) {
      if (to != from && may_become(feature, from, to, column.minCoeff(), column.maxCoeff())) {
        values.back().push_back(to);
      }
    }
  }
  double best = infinity;
  Vector raw = query;
  const std::function<void(std::size_t, int)> visit = [&](std::size_t j, int changes) {
    if (max_changes && changes > *max_changes) return;
    if (j == values.size()) {
      const double cost = plain::cost(problem.cost, *problem.model, query, raw);
      const auto is_robust = [&] {
        return judge.robust_logit(plain::code(*problem.model, raw)) >= problem.threshold;
      };
      if (cost < best && is_robust()) best = cost;
      return;
    }
    for (std::size_t k = 0; k < values[j].size(); ++k) {
      raw(static_cast<Index>(j)) = values[j][k];
      visit(j + 1, changes + (k > 0 ? 1 : 0));
    }
    raw(static_cast<Index>(j)) = values[j][0];
  };
  visit(0, 0);
  return best;
}

TEST(RandomSchemas, ExactAnswersKeepThemAndNothingCheaperDoes) {
  int answered = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Schema schema = random_features(random);
    const Dataset data = random_data(schema, random);
    const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
    const auto kind = static_cast<CostKind>(seed % 4);
    const Problem problem{
        .model = &model, .epsilon = seed % 3 == 0 ? 0.002 : 0.01, .cost = {.kind = kind}};
    const std::vector<Query> queries = problem_zoo::queries_of(data, 6);
    for (const ExactOptions& options :
         {ExactOptions{}, ExactOptions{.max_changes = 2}, ExactOptions{.sparse = true}}) {
      const std::vector<Answer> answers = ExactSearch(problem, options).generate(queries, {});
      problem_zoo::expect_audited(problem, answers, options);
      for (const Answer& answer : answers) {
        if (answer.status == Status::already_robust) continue;
        const Vector& query = queries[answer.query_index].raw;
        std::optional<int> most = options.max_changes;
        if (options.sparse && answer.counterfactual) {
          most = answer.distance.changed;
          EXPECT_TRUE(std::isinf(cheapest(problem, data, query, *most - 1)));
        }
        const double best = cheapest(problem, data, query, most);
        if (!answer.counterfactual) {
          EXPECT_TRUE(std::isinf(best)) << answer.query_index << ": " << answer.message;
          continue;
        }
        ++answered;
        expect_kept(data, to_json(answer, schema));
        EXPECT_EQ(answer.status, Status::optimal);
        EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best);
      }
    }
  }
  EXPECT_GT(answered, 100);
}

TEST(RandomSchemas, AnswersOfNetworksKeepThemAndAreCertified) {
  int answered = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 12)) {
    SCOPED_TRACE(seed);
    Random random(seed + 100);
    const Schema schema = random_features(random);
    const Dataset data = random_data(schema, random);
    Model model{.encoder = Encoder::fit(data)};
    const StoredRows rows{.encoded = model.encoder.encode(data.raw), .labels = data.labels};
    model.network =
        random_network(model.encoder.columns(), {6}, Activation::relu, Random(seed).split(1));
    model.network.layers.back().bias(0) -= 1;
    model.decision.classes = data.classes;
    model.training = {.rows = data.rows(), .l2 = 1e-3, .loss = 0.4, .objective = 0.5};
    model.sha256 = std::string(60, 'c') + std::to_string(1000 + seed);
    const Index head = model.network.head().size();
    model.curvature.hessian =
        dense_gauss_newton(model.network, rows.encoded).bottomRightCorner(head, head);
    model.curvature.hessian.diagonal().array() += model.training.l2;
    Problem problem{.model = &model, .epsilon = 0.001};
    if (seed % 2 == 0) problem.cost.kind = CostKind::mixed;
    const std::vector<Query> queries = problem_zoo::queries_of(data, 5);
    for (const LocalSearchOptions& options :
         {LocalSearchOptions{}, LocalSearchOptions{.sparse = true},
          LocalSearchOptions{.plans = 2}}) {
      const std::vector<Answer> answers =
          LocalSearch(problem, &rows, options).generate(queries, {});
      problem_zoo::expect_audited(problem, answers);
      for (const Answer& answer : answers) {
        if (!answer.counterfactual || answer.status == Status::already_robust) continue;
        ++answered;
        expect_kept(data, to_json(answer, schema));
        plain::expect_allowed(problem, answer);
        const plain::Ellipsoid judge(
            model, answer.status == Status::reduced ? *answer.attained_epsilon : problem.epsilon);
        EXPECT_GE(judge.robust_logit(plain::code(model, *answer.counterfactual)), 0);
      }
    }
  }
  EXPECT_GT(answered, 40);
}

}  // namespace
}  // namespace ellice

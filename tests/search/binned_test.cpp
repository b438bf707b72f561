// Numbers that a model sees by their bins: answers against brute force over every number of the
// grid, and what one certificate says of models on coarser bins.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/objective.hpp"
#include "search/exact_search.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::queries_of;

Bins random_bins(Random& random) {
  Bins bins;
  bins.edges = {-1, 0.5, 2};
  if (random.below(2) == 0) bins.edges = {-1.5, -0.75, 0.25, 1, 1.75};
  if (random.below(2) == 0) bins.closed = Bins::Closed::left;
  if (random.below(2) == 0) bins.special.push_back({-9, "no record"});
  if (random.below(3) == 0) bins.special.push_back({0.75, "not asked"});  // among the numbers
  if (random.below(3) == 0) {
    for (std::size_t k = 0; k < bins.count(); ++k)
      bins.values.push_back(0.5 * std::round(2 * random.normal()));  // some of them equal
  }
  return bins;
}

Feature binned(std::string name, Bins bins) {
  return {.name = std::move(name),
          .kind = FeatureKind::binned,
          .min = -3,
          .max = 3,
          .step = 0.25,
          .bins = std::move(bins)};
}

/// Two or three binned features, a category and a whole number, all on small grids.
Schema random_bin_features(Random& random) {
  Schema schema;
  schema.target = {.column = "outcome", .favourable = "yes"};
  const std::uint64_t count = 2 + random.below(2);
  for (std::uint64_t j = 0; j < count; ++j) {
    Feature feature = binned("b" + std::to_string(j), random_bins(random));
    feature.weight = std::exp(0.5 * random.normal());
    feature.direction = static_cast<Direction>(random.below(3));
    feature.immutable = random.below(8) == 0;
    if (random.below(4) == 0) feature.allowed = {-2.5, -0.25, 0.5, 1.25, 2.0};
    schema.features.push_back(std::move(feature));
  }
  schema.features.push_back({.name = "purpose",
                             .kind = FeatureKind::categorical,
                             .levels = {"a", "b", "c"},
                             .immutable = random.below(2) == 0});
  schema.features.push_back({.name = "count", .kind = FeatureKind::integer, .min = 0, .max = 3});
  return schema;
}

Dataset random_bin_data(const Schema& schema, Random& random, Index rows = 300) {
  Dataset data{.schema = schema};
  data.raw.resize(rows, static_cast<Index>(schema.features.size()));
  for (Index i = 0; i < rows; ++i) {
    double score = 0;
    for (Index j = 0; j < data.raw.cols(); ++j) {
      const Feature& feature = schema.features[static_cast<std::size_t>(j)];
      double& value = data.raw(i, j);
      if (feature.kind == FeatureKind::categorical) {
        value = static_cast<double>(random.below(feature.levels.size()));
      } else if (feature.kind == FeatureKind::integer) {
        value = static_cast<double>(random.below(4));
      } else {
        value = 0.25 * std::round(4 * 1.3 * random.normal());
        const std::vector<Bins::Code>& codes = feature.bins.special;
        if (!codes.empty() && random.below(6) == 0)
          value = codes[random.below(codes.size())].number;
        score += std::sin(1.5 * value) + 0.3 * value;
      }
    }
    data.labels.push_back(score + random.normal() > 0.5 ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

void expect_cheapest(const Problem& problem, const Answer& answer, const ExactOptions& options) {
  const Model& model = *problem.model;
  const plain::Ellipsoid judge(model, problem.epsilon);
  const auto accepts = [&](const Vector& z) { return judge.robust_logit(z) >= problem.threshold; };
  const Vector from = plain::numbers(model.schema(), answer.query);
  std::optional<int> most = options.max_changes;
  if (options.sparse && answer.counterfactual) {
    most = answer.distance.changed;
    EXPECT_TRUE(std::isinf(plain::cheapest(problem, answer.query_index, from, accepts, *most - 1)));
  }
  const double best = plain::cheapest(problem, answer.query_index, from, accepts, most);
  if (!answer.counterfactual) {
    EXPECT_TRUE(std::isinf(best)) << answer.query_index << ": " << best << answer.message;
    return;
  }
  plain::expect_allowed(problem, answer);
  EXPECT_TRUE(accepts(plain::code(model, *answer.counterfactual)));
  EXPECT_EQ(answer.status, Status::optimal);
  EXPECT_NEAR(answer.distance.weighted, best, 1e-7 * (1 + best)) << answer.query_index;
  EXPECT_NEAR(answer.distance.weighted,
              plain::cost(problem.cost, model, from,
                          plain::numbers(model.schema(), *answer.counterfactual)),
              1e-9 * (1 + best));
}

TEST(Binned, NothingIsCheaperAmongAllNumbers) {
  int answered = 0;
  int without = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 25)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Dataset data = random_bin_data(random_bin_features(random), random);
    const Model model =
        train(data, {}, {.l2 = 1e-2, .bin_penalty = seed % 2 == 0, .folds = 0}).model;
    Problem problem{.model = &model, .epsilon = seed % 3 == 0 ? 0.05 : 0.01};
    problem.cost.kind = static_cast<CostKind>(seed % 4);
    if (seed % 5 == 0 && problem.cost.kind != CostKind::mixed) problem.cost.sparsity_weight = 0.3;
    if (seed % 7 == 0) problem.constraints.range = RangePolicy::train;
    const std::vector<Query> queries = queries_of(data, 6);
    for (const ExactOptions& options :
         {ExactOptions{}, ExactOptions{.max_changes = 2}, ExactOptions{.sparse = true}}) {
      const std::vector<Answer> answers = ExactSearch(problem, options).generate(queries, {});
      expect_audited(problem, answers, options);
      for (const Answer& answer : answers) {
        if (answer.status == Status::already_robust) continue;
        expect_cheapest(problem, answer, options);
        answered += answer.counterfactual ? 1 : 0;
        without += answer.status == Status::infeasible ? 1 : 0;
      }
    }
  }
  EXPECT_GT(answered, 90);
  EXPECT_GT(without, 3);
}

/// Some rules with «if», which may ask for another number of the own bin.
void add_implications(Schema& schema, Random& random) {
  std::vector<std::string> rules = {"if purpose changes then b0 rises",
                                    "if purpose changes then b0 falls by at least 0.5",
                                    "if b0 changes then count rises",
                                    "if b0 falls then b1 rises by at least 0.25",
                                    "if b1 rises then b0 stays",
                                    "if count changes then b1 falls",
                                    "if b0 rises then b1 rises by at least 1",
                                    "if b1 changes then purpose becomes c"};
  random.shuffle(rules);
  const std::uint64_t count = 1 + random.below(3);
  for (std::uint64_t k = 0; k < count; ++k)
    schema.implications.push_back(parse_implication(rules[k]));
}

TEST(Binned, RulesWithIfAreKeptAndNothingIsCheaper) {
  int answered = 0;
  int without = 0;
  int within = 0;  // changes that stay in their bin
  for (const std::uint64_t seed : testing_support::seeds(400, 24)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Schema schema = random_bin_features(random);
    for (Feature& feature : schema.features) feature.immutable = false;
    if (schema.features.size() > 4) schema.features.erase(schema.features.begin() + 2);
    add_implications(schema, random);
    const Dataset data = random_bin_data(schema, random);
    const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
    Problem problem{.model = &model, .epsilon = seed % 3 == 0 ? 0.05 : 0.01};
    problem.cost.kind = static_cast<CostKind>(seed % 4);
    const std::vector<Query> queries = queries_of(data, 6);
    for (const ExactOptions& options :
         {ExactOptions{}, ExactOptions{.max_changes = 2}, ExactOptions{.sparse = true}}) {
      const std::vector<Answer> answers = ExactSearch(problem, options).generate(queries, {});
      expect_audited(problem, answers, options);
      for (const Answer& answer : answers) {
        if (answer.status == Status::already_robust) continue;
        expect_cheapest(problem, answer, options);
        answered += answer.counterfactual ? 1 : 0;
        without += answer.status == Status::infeasible ? 1 : 0;
        for (const Change& change : answer.changes) {
          const Feature& feature = schema.features[*schema.find(change.feature)];
          within += feature.is_binned() && feature.bins.of(std::get<double>(change.from)) ==
                                               feature.bins.of(std::get<double>(change.to));
        }
      }
    }
  }
  EXPECT_GT(answered, 60);
  EXPECT_GT(without, 2);
  EXPECT_GT(within, 3);
}

TEST(Binned, PlansAndTradeOffsPassTheirAudit) {
  int plans = 0;
  for (const std::uint64_t seed : testing_support::seeds(100, 24)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Dataset data = random_bin_data(random_bin_features(random), random);
    const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
    const Problem problem{.model = &model, .epsilon = 0.01};
    const std::vector<Query> queries = queries_of(data, 6);
    for (const ExactOptions& options :
         {ExactOptions{.plans = 3}, ExactOptions{.trade_off = true}}) {
      const std::vector<Answer> answers = ExactSearch(problem, options).generate(queries, {});
      expect_audited(problem, answers, options);
      for (const Answer& answer : answers) {
        if (!answer.counterfactual) continue;
        plain::expect_allowed(problem, answer);
        plans += answer.plan > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(plans, 5);
}

TEST(Binned, TheTrueSetIsSearchedAsWell) {
  int answered = 0;
  for (const std::uint64_t seed : testing_support::seeds(200, 8)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Dataset data = random_bin_data(random_bin_features(random), random);
    const Model model =
        train(data, {}, {.l2 = 1e-2, .bin_penalty = true, .folds = 0, .store_rows = true}).model;
    const Problem problem{
        .model = &model, .set = {.kind = SetKind::true_set, .rows = &*model.rows}, .epsilon = 0.01};
    const std::vector<Answer> answers = ExactSearch(problem).generate(queries_of(data, 5), {});
    expect_audited(problem, answers);
    for (const Answer& answer : answers) {
      if (!answer.counterfactual || answer.status == Status::already_robust) continue;
      plain::expect_allowed(problem, answer);
      ++answered;
    }
  }
  EXPECT_GT(answered, 5);
}

/// One binned feature whose second bin is accepted and the others are not.
struct OneFeature {
  explicit OneFeature(const Feature& feature) {
    Schema schema;
    schema.target = {.column = "outcome", .favourable = "yes"};
    schema.features = {feature};
    data.schema = schema;
    data.raw.resize(400, 1);
    for (Index i = 0; i < 400; ++i) {
      data.raw(i, 0) = 0.01 * static_cast<double>(i % 100);
      if (i % 50 == 7) data.raw(i, 0) = -9;
      const double value = data.raw(i, 0);
      data.labels.push_back((value > 0.3 && value <= 0.6) == (i % 17 != 0) ? 1 : 0);
    }
    data.classes = {"no", "yes"};
    data.source = "generated rows";
    data.sha256 = std::string(64, '0');
    model = train(data, {}, {.l2 = 1e-3, .bin_penalty = true, .folds = 0}).model;
  }
  [[nodiscard]] Answer ask(double value) const {
    const Problem problem{.model = &model, .epsilon = 1e-3};
    const std::vector<Answer> answers =
        ExactSearch(problem).generate({{.raw = Vector::Constant(1, value)}}, {});
    expect_audited(problem, answers);
    return answers.front();
  }
  Dataset data = {};
  Model model = {};
};

Feature utilisation() {
  return {.name = "utilisation",
          .kind = FeatureKind::binned,
          .step = 0.01,
          .bins = {.edges = {0.3, 0.6, 0.9}, .special = {{-9, "no record"}}}};
}

TEST(Binned, AnAnswerHasTheNearestNumberOfItsBin) {
  const OneFeature one(utilisation());
  const auto number = [&](double from) {
    const Answer answer = one.ask(from);
    EXPECT_EQ(answer.status, Status::optimal) << from;
    return answer.counterfactual ? std::get<double>(answer.counterfactual->front()) : from;
  };
  EXPECT_EQ(number(0.75), 0.6);  // a closed end
  EXPECT_EQ(number(0.95), 0.6);
  EXPECT_EQ(number(0.1), 0.31);  // an open one: the next of the grid
  EXPECT_EQ(number(0.3), 0.31);
  EXPECT_EQ(number(0.123), 0.31);
  EXPECT_EQ(one.ask(0.45).status, Status::already_robust);
}

TEST(Binned, TheOtherSideMayBeClosed) {
  Feature feature = utilisation();
  feature.bins.closed = Bins::Closed::left;
  feature.bins.edges = {0.31, 0.61, 0.9};
  const OneFeature one(feature);
  EXPECT_EQ(std::get<double>(one.ask(0.75).counterfactual->front()), 0.6);
  EXPECT_EQ(std::get<double>(one.ask(0.1).counterfactual->front()), 0.31);
}

TEST(Binned, WhoHasACodeKeepsItAndIsToldSo) {
  const OneFeature one(utilisation());
  const Answer answer = one.ask(-9);
  ASSERT_EQ(answer.status, Status::infeasible);
  ASSERT_TRUE(answer.infeasible);
  EXPECT_EQ(answer.infeasible->blocking.constraints,
            std::vector<std::string>{"utilisation: stays no record (-9)"});
}

TEST(Binned, NoPlanLeadsToACode) {
  Feature feature = utilisation();
  feature.bins.special = {{-9, "no record"}, {0.6, "not asked"}, {0.59, "refused"}};
  const OneFeature one(feature);
  EXPECT_EQ(std::get<double>(one.ask(0.75).counterfactual->front()), 0.58);
}

/// The parameters on fine bins that say what a model on coarser bins says.
Vector spread(const Model& coarse, const Model& fine) {
  Vector result(fine.encoder.columns() + 1);
  const Vector head = coarse.network.head();
  for (std::size_t j = 0; j < fine.schema().features.size(); ++j) {
    const Feature& feature = fine.schema().features[j];
    for (Index k = 0; k < fine.encoder.column_count(j); ++k) {
      // The middle of a fine bin, and of the outer ones a number beyond the edge.
      const auto bin = static_cast<std::size_t>(k);
      const Bins& bins = feature.bins;
      const double low = bin == 0 ? bins.edges.front() - 2 : bins.lower(bin);
      const double high = bin == bins.edges.size() ? bins.edges.back() + 2 : bins.upper(bin);
      const auto there = static_cast<Index>(coarse.schema().features[j].bins.of((low + high) / 2));
      result(fine.encoder.first_column(j) + k) = head(coarse.encoder.first_column(j) + there);
    }
  }
  result(result.size() - 1) = head(head.size() - 1);
  return result;
}

/// A certificate on the finest bins covers every coarser binning (docs/theory.md, Result 61).
TEST(Binned, OneCertificateOnFineBinsCoversCoarserOnes) {
  int tried = 0;
  for (const std::uint64_t seed : testing_support::seeds(300, 6)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Schema schema;
    schema.target = {.column = "outcome", .favourable = "yes"};
    for (const char* name : {"a", "b"})
      schema.features.push_back(binned(name, {.edges = {-1.5, -0.75, 0.25, 1, 1.75}}));
    const Dataset data = random_bin_data(schema, random);
    Dataset merged = data;
    for (Feature& feature : merged.schema.features)
      std::erase_if(feature.bins.edges, [&](double) { return random.below(2) == 0; });
    for (Feature& feature : merged.schema.features) {
      if (feature.bins.edges.empty()) feature.bins.edges = {0.25};
    }
    const TrainingOptions options{.l2 = 1e-2, .bin_penalty = true, .folds = 0, .store_rows = true};
    const Model fine = train(data, {}, options).model;
    const Model coarse = train(merged, {}, options).model;
    const Objective objective(fine.rows->encoded, data.labels, LossKind::logistic,
                              {.l2 = 1e-2, .factors = fine.training.penalty_factors});
    const Objective coarser(coarse.rows->encoded, data.labels, LossKind::logistic,
                            {.l2 = 1e-2, .factors = coarse.training.penalty_factors});
    EXPECT_NEAR(objective.value(spread(coarse, fine)), coarse.training.objective, 1e-12);

    const double epsilon = coarse.training.objective - fine.training.objective + 0.01;
    const Problem problem{.model = &fine,
                          .set = {.kind = SetKind::true_set, .rows = &*fine.rows},
                          .epsilon = epsilon};
    const std::vector<Answer> answers = ExactSearch(problem).generate(queries_of(data, 4), {});
    for (int draw = 0; draw < 200; ++draw) {
      Model other = coarse;
      const Vector away = random.normal_vector(coarse.network.head().size());
      double length = 1;
      const Vector center = coarse.network.head();
      while (coarser.value(center + length * away) > fine.training.objective + epsilon)
        length *= 0.8;
      other.network.set_head(center + length * away);
      for (const Answer& answer : answers) {
        if (!answer.certificate) continue;
        EXPECT_GE(other.logit(plain::code(other, *answer.counterfactual)), 0);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 1000);
}

}  // namespace
}  // namespace ellice

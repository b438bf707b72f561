#include "request/feasible_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "support/plain_rows.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

TEST(FeatureRange, SnapsRoundingToItsGridAndNothingElse) {
  const FeatureRange range{.query = 0.351, .lower = 0.078, .upper = 2.42, .step = 0.002};
  EXPECT_EQ(range.snapped(2.4199999999999995), 2.42);
  EXPECT_EQ(range.snapped(2.4199), 2.4199);
  EXPECT_EQ(range.snapped(0.351), 0.351);
  // From an origin that is one of the grid itself, as people write it.
  const FeatureRange above{.lower = 0, .upper = 1, .step = 0.001, .origin = 0.003};
  EXPECT_EQ(above.snapped(0.013999999999999999), 0.014);
  const FeatureRange free{.query = 0.351, .lower = 0, .upper = 3};
  EXPECT_EQ(free.snapped(2.4199999999999995), 2.4199999999999995);
  const FeatureRange below{.query = 0, .lower = 0, .upper = 2.4199999999999995, .step = 0.002};
  EXPECT_EQ(below.snapped(2.4199999999999995), 2.4199999999999995);
}

/// One number and two rows between which it lies.
Dataset one_number(Feature feature) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {std::move(feature)};
  data.raw.resize(2, 1);
  data.raw << 0, 900;
  data.labels = {0, 1};
  data.classes = {"no", "yes"};
  return data;
}

bool allows(const Dataset& data, const Constraints& constraints, double value) {
  const Encoder encoder = Encoder::fit(data);
  return FeasibleSet(encoder, constraints, 0, Vector{{255}}).violations(Vector{{value}}).empty();
}

TEST(FeasibleSet, BeginsGridsWhereTheSchemaDoesWhateverARunBounds) {
  const Dataset data = one_number({.name = "income", .min = 50, .step = 100});
  const Constraints none;
  Constraints bounded;
  bounded.features["income"] = {.min = 120};
  for (const Constraints& constraints : {none, bounded}) {
    EXPECT_TRUE(allows(data, constraints, 350));
    EXPECT_FALSE(allows(data, constraints, 320));
    EXPECT_FALSE(allows(data, constraints, 300));
  }
  EXPECT_TRUE(allows(data, none, 50));
  EXPECT_FALSE(allows(data, bounded, 50));
}

// −2.8000000000000003 + 2·1 and −0.024 + 36·0.001 miss −0.8 and 0.012 by their last digits: from
// either side, and for numbers beyond a least rise, they are in the bins that people expect.
TEST(FeasibleSet, TakesNumbersOfTheGridThatRoundingLeftBesideAnEdgeForTheEdge) {
  Dataset data = one_number({.name = "balance", .kind = FeatureKind::binned});
  data.raw << -1, 0.5;
  Feature& feature = data.schema.features.front();
  const auto allowed_from = [&](double query) {
    const Encoder encoder = Encoder::fit(data);
    Constraints limits;
    limits.range = RangePolicy::off;
    return FeasibleSet(encoder, limits, 0, Vector{{query}}).ranges().front().allowed;
  };
  feature.min = -2.8000000000000003;
  feature.max = -0.27;
  feature.step = 1;
  feature.bins = {.edges = {-2.2, -0.8, 0}, .closed = Bins::Closed::left};
  for (const double query : {0.2, -2.5}) {
    const std::vector<double> allowed = allowed_from(query);
    EXPECT_EQ(std::count(allowed.begin(), allowed.end(), -0.8), 1) << "from " << query;
    EXPECT_EQ(std::count(allowed.begin(), allowed.end(), -0.8000000000000003), 0);
  }
  feature.min = -0.024;
  feature.max.reset();
  feature.step = 0.001;
  feature.bins = {.edges = {0.004, 0.012}, .closed = Bins::Closed::left};
  ASSERT_LT(-0.024 + 36 / 1000.0, 0.012);
  EXPECT_EQ(allowed_from(0.005).back(), 0.012);
}

TEST(FeasibleSet, LetsWhatIsSlowChangeByNoMoreThanItCanWithinTheHorizon) {
  const Dataset data = one_number({.name = "tenure", .slow = Pace{.amount = 2}});
  const Encoder encoder = Encoder::fit(data);
  const Constraints none;
  EXPECT_TRUE(allows(data, none, 300));
  const Constraints year{.horizon = parse_horizon("12 months")};
  for (const double value : {253.0, 254.5, 255.0, 257.0}) EXPECT_TRUE(allows(data, year, value));
  for (const double value : {252.99, 257.01}) EXPECT_FALSE(allows(data, year, value));
  EXPECT_TRUE(allows(data, {.horizon = parse_horizon("3 years")}, 261));
  FeasibleSet feasible(encoder, year, 0, Vector{{255}});
  const auto named = feasible.constraints();
  const auto pace = std::find_if(named.begin(), named.end(), [](const NamedConstraint& one) {
    return one.kind == NamedConstraint::Kind::pace;
  });
  ASSERT_NE(pace, named.end());
  EXPECT_EQ(pace->text, "tenure: changes by at most 2 within 12 months (2 per year)");
  feasible.lift(*pace);
  EXPECT_TRUE(feasible.violations(Vector{{300}}).empty());
}

TEST(FeasibleSet, TakesOfAllowedValuesThoseOfTheGrid) {
  const Dataset data =
      one_number({.name = "income", .step = 100, .allowed = {150.0, 200.0, 250.0, 400.0}});
  EXPECT_TRUE(allows(data, {}, 200));
  EXPECT_TRUE(allows(data, {}, 400));
  EXPECT_FALSE(allows(data, {}, 250));
  EXPECT_FALSE(allows(data, {}, 300));
  const Dataset empty = one_number({.name = "income", .step = 100, .allowed = {150.0}});
  EXPECT_FALSE(allows(empty, {}, 150));
  EXPECT_TRUE(allows(empty, {}, 255));
}

TEST(FeasibleSet, NamesDisallowedValuesOfFeaturesThatMayNotChange) {
  const Dataset data = one_number({.name = "income", .allowed = {150.0}, .immutable = true});
  const Encoder encoder = Encoder::fit(data);
  const Constraints none;
  EXPECT_EQ(FeasibleSet(encoder, none, 0, Vector{{255}}).query_violations(),
            std::vector<std::string>{"income: 255 is not an allowed value"});
}

/// Features of every kind with every key that restricts them, rules and an implication.
Dataset random_data(Random& random) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  const auto coin = [&] { return random.below(2) == 0; };
  for (int j = 0; j < 6; ++j) {
    Feature feature{.name = "f" + std::to_string(j)};
    feature.kind = j < 2 ? FeatureKind::numeric : static_cast<FeatureKind>(random.below(5));
    feature.immutable = random.below(8) == 0;
    if (feature.is_number()) {
      if (coin()) feature.min = 1;
      if (coin()) feature.max = 6;
      if (coin()) feature.step = feature.kind == FeatureKind::integer ? 2 : 0.5;
      if (random.below(4) == 0) feature.allowed = {1.0, 2.0, 4.0};
    } else {
      feature.levels = {std::string("a"), std::string("b")};
      if (feature.kind != FeatureKind::binary) feature.levels = {"a", "b", "c", "d"};
      if (random.below(4) == 0) feature.allowed = {Value("a"), Value("b")};
    }
    if (feature.kind != FeatureKind::categorical)
      feature.direction = static_cast<Direction>(random.below(3));
    const bool has_pace = feature.is_number() || feature.kind == FeatureKind::ordinal;
    if (has_pace && random.below(3) == 0)  // no row lies where rounding would decide
      feature.slow = Pace{.amount = 0.9, .per = coin() ? Pace::Period::year : Pace::Period::month};
    data.schema.features.push_back(feature);
  }
  if (coin()) data.schema.constraints.push_back(parse_rule("f0 <= f1 + 1"));
  if (coin()) data.schema.implications.push_back(parse_implication("if f1 rises then f0 stays"));
  if (coin())
    data.schema.implications.push_back(
        parse_implication("if f0 changes then f1 rises by at least 0.5"));
  data.raw.resize(30, 6);
  for (Index i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      const Feature& feature = data.schema.features[j];
      const double most = feature.is_number() ? 8 : static_cast<double>(feature.levels.size());
      const double value = std::floor(most * random.uniform());
      data.raw(i, static_cast<Index>(j)) =
          feature.kind == FeatureKind::numeric ? value + (coin() ? 0.5 : 0) : value;
    }
    data.labels.push_back(static_cast<int>(random.below(2)));
  }
  data.classes = {"no", "yes"};
  return data;
}

TEST(FeasibleSet, AllowsWhatThePlainReadingOfTheSchemaAllows) {
  int allowed = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const Dataset data = random_data(random);
    Model model;
    model.encoder = Encoder::fit(data);
    Problem problem{.model = &model};
    if (random.below(3) == 0) problem.constraints.range = RangePolicy::off;
    if (random.below(3) == 0) problem.constraints.features["f1"].max = 4;
    if (random.below(3) == 0) problem.constraints.queries[1]["f0"].locked = true;
    if (random.below(2) == 0)
      problem.constraints.horizon = {.amount = 18, .per = Pace::Period::month};
    for (std::size_t query = 0; query < 3; ++query) {
      const Vector from = data.raw.row(static_cast<Index>(query));
      const FeasibleSet feasible(model.encoder, problem.constraints, query, from);
      for (Index i = 3; i < 30; ++i) {
        Vector to = from;  // some features of another row, so that many rows are allowed
        for (Index j = 0; j < 6; ++j) {
          if (random.below(4) == 0) to(j) = data.raw(i, j);
        }
        const std::string fault = plain::fault(problem, query, from, to);
        EXPECT_EQ(feasible.violations(to).empty(), fault.empty())
            << "seed " << seed << ", query " << query << ": " << fault;
        ++(fault.empty() ? allowed : refused);
        // What a set allows, one of its cases allows, and no case allows more.
        bool in_a_case = false;
        for (const FeasibleSet& part : feasible.branches())
          in_a_case = in_a_case || part.violations(to).empty();
        EXPECT_EQ(in_a_case, fault.empty()) << "seed " << seed << ", query " << query;
      }
      for (std::size_t j = 0; j < 6; ++j) {
        const FeatureRange& range = feasible.ranges()[j];
        if (!range.has_grid() && data.schema.features[j].kind == FeatureKind::numeric) continue;
        if (std::isinf(range.upper) || std::isinf(range.lower)) continue;
        // The walk along the grid meets every value, and no other.
        std::vector<double> met = {range.query};
        for (const int side : {-1, 1}) {
          for (auto next = range.beyond(range.query, side); next; next = range.beyond(*next, side))
            met.push_back(*next);
        }
        std::vector<double> expected = plain::values_of(problem, query, from, j);
        std::sort(met.begin(), met.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(met, expected) << "seed " << seed << ", feature " << j;
      }
    }
  }
  EXPECT_GT(allowed, 1000);
  EXPECT_GT(refused, 1000);
}

/// A number, a number on a grid, whole numbers, levels with and without order, and a rule.
Dataset mixed_rows(Random& random) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {
      {.name = "income", .min = 0},
      {.name = "debt", .step = 0.5, .direction = Direction::decrease},
      {.name = "children", .kind = FeatureKind::integer},
      {.name = "degree", .kind = FeatureKind::ordinal, .levels = {"none", "school", "college"}},
      {.name = "purpose", .kind = FeatureKind::categorical, .levels = {"car", "home", "other"}}};
  data.schema.constraints = {{.text = "debt <= 3 * income",
                              .terms = {{"debt", 1}, {"income", -3}},
                              .relation = Rule::Relation::at_most}};
  data.raw.resize(40, 5);
  for (Index i = 0; i < data.raw.rows(); ++i) {
    data.raw.row(i) << 10 * random.uniform(), std::round(8 * random.uniform()) / 2,
        std::floor(4 * random.uniform()), std::floor(3 * random.uniform()),
        std::floor(3 * random.uniform());
    data.labels.push_back(static_cast<int>(i % 2));
  }
  data.classes = {"no", "yes"};
  return data;
}

TEST(FeasibleSet, TurnedToAnotherQueryIsWhatANewOneWouldBe) {
  int several = 0;  // queries with more than one box
  for (const std::uint64_t seed : testing_support::seeds(70, 5)) {
    Random random(seed);
    const Dataset data = mixed_rows(random);
    const Encoder encoder = Encoder::fit(data);
    Constraints constraints;
    constraints.features["children"] = {.locked = true};
    if (seed % 2 == 0) constraints.queries[3]["income"] = {.max = 4};
    FeasibleSet turned(encoder, constraints, 0, data.raw.row(0).transpose());
    turned.lift(turned.constraints().front());
    for (Index i = 1; i < data.raw.rows(); ++i) {
      Vector raw = data.raw.row(i);
      if (i % 5 == 0) raw(0) = -2;  // outside its range: two boxes
      const auto index = static_cast<std::size_t>(i);
      turned.turn_to(index, raw);
      const FeasibleSet fresh(encoder, constraints, index, raw);
      EXPECT_EQ(turned.ranges(), fresh.ranges());
      EXPECT_EQ(turned.query(), fresh.query());
      EXPECT_EQ(turned.held(), fresh.held());
      EXPECT_EQ(turned.has_grid(), fresh.has_grid());
      EXPECT_EQ(turned.query_violations(), fresh.query_violations());
      EXPECT_EQ(turned.constraints().size(), fresh.constraints().size());
      EXPECT_EQ(turned.rules().size(), fresh.rules().size());
      EXPECT_EQ(turned.relaxed().lower, fresh.relaxed().lower);
      EXPECT_EQ(turned.relaxed().upper, fresh.relaxed().upper);
      ASSERT_EQ(turned.boxes().size(), fresh.boxes().size());
      several += fresh.boxes().size() > 1 ? 1 : 0;
      for (std::size_t k = 0; k < fresh.boxes().size(); ++k) {
        EXPECT_EQ(turned.boxes()[k].lower, fresh.boxes()[k].lower);
        EXPECT_EQ(turned.boxes()[k].upper, fresh.boxes()[k].upper);
      }
      const Vector other = data.raw.row(data.raw.rows() - 1 - i);
      EXPECT_EQ(turned.violations(other), fresh.violations(other));
    }
  }
  EXPECT_GT(several, 20);
}

}  // namespace
}  // namespace ellice

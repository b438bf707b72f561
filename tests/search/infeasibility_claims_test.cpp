// What is said where there is no answer: random small schemas of every kind, constraints of every
// kind and every set of models, each claim held against rows that are tried one by one. A reading
// of constraints and sets of its own judges (support/rows_without.hpp). ELLICE_SEED=N in the
// environment adds ELLICE_SEED_COUNT cases (as many as usual unless given) that begin at N.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "search/exact_search.hpp"
#include "sets/contest.hpp"
#include "support/class_cases.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"
#include "support/rows_without.hpp"

namespace ellice {
namespace {

using problem_zoo::best_plain_row;
using problem_zoo::PlainBest;
using problem_zoo::PlainRows;
using problem_zoo::PlainScore;

enum class Models { ellipsoid, true_set, classes };

/// Seeds that are always tried, and those that were asked for.
std::vector<std::uint64_t> seeds(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t k = 0; k < count; ++k) result.push_back(first + k);
  const char* fresh = std::getenv("ELLICE_SEED");
  if (fresh == nullptr) return result;
  const char* wanted = std::getenv("ELLICE_SEED_COUNT");
  const std::uint64_t more = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : count;
  for (std::uint64_t k = 0; k < more; ++k) result.push_back(std::strtoull(fresh, nullptr, 10) + k);
  return result;
}

Feature random_feature(std::size_t place, Random& random) {
  Feature feature{.name = "f" + std::to_string(place)};
  const auto coin = [&](std::uint64_t one_in) { return random.below(one_in) == 0; };
  feature.immutable = coin(4);
  switch (random.below(7)) {
    case 0:
      feature.kind = FeatureKind::integer;
      if (coin(4)) feature.step = 2;
      break;
    case 1:
      feature.step = 0.5;
      break;
    case 2:
      feature.allowed = {-1.5, -0.5, 0.25, 1.0, 2.0};
      break;
    case 3:
      feature.kind = FeatureKind::ordinal;
      feature.levels = {"low", "middle", "high", "top"};
      break;
    case 4:
      feature.kind = FeatureKind::binary;
      feature.levels = {"no", "yes"};
      break;
    case 5:
      feature.kind = FeatureKind::categorical;
      feature.levels = {"a", "b", "c", "d"};
      if (coin(2)) feature.allowed = {"a", "c", "d"};
      break;
    default:
      break;
  }
  if (feature.kind != FeatureKind::categorical && coin(2))
    feature.direction = static_cast<Direction>(random.below(3));
  if (feature.is_number() && coin(3)) feature.min = -2 + static_cast<double>(random.below(2));
  if (feature.is_number() && coin(3)) feature.max = 1 + static_cast<double>(random.below(3));
  return feature;
}

void add_rules(Schema& schema, Random& random) {
  std::vector<std::string> numbers;
  std::vector<std::string> discrete;
  for (const Feature& feature : schema.features) {
    if (feature.is_number()) numbers.push_back(feature.name);
    if (feature.kind == FeatureKind::integer || feature.kind == FeatureKind::ordinal)
      discrete.push_back(feature.name);
  }
  if (numbers.size() > 1 && random.below(3) == 0)
    schema.constraints.push_back(parse_rule(numbers[0] + " + " + numbers[1] + " <= 2"));
  if (!numbers.empty() && random.below(5) == 0)
    schema.constraints.push_back(parse_rule("2 * " + numbers.back() + " >= -1.5"));
  if (random.below(4) == 0) {
    schema.implications.push_back(parse_implication(
        "if " + schema.features[0].name + " changes then " + schema.features[1].name + " stays"));
  }
  const auto other = std::find_if(numbers.begin(), numbers.end(), [&](const std::string& name) {
    return !discrete.empty() && name != discrete[0];
  });
  if (other != numbers.end() && random.below(4) == 0) {
    schema.implications.push_back(
        parse_implication("if " + discrete[0] + " rises then " + *other + " rises by at least 1"));
  }
}

Dataset random_data(Random& random, Models models) {
  Dataset data;
  const std::uint64_t count = 2 + random.below(3);
  for (std::uint64_t j = 0; j < count; ++j)
    data.schema.features.push_back(random_feature(j, random));
  add_rules(data.schema, random);
  const Index rows = 100;
  data.raw.resize(rows, static_cast<Index>(count));
  Vector slope = random.normal_vector(data.raw.cols());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < data.raw.cols(); ++j) {
      const Feature& feature = data.schema.features[static_cast<std::size_t>(j)];
      data.raw(i, j) = feature.kind == FeatureKind::numeric ? random.normal()
                       : feature.kind == FeatureKind::integer
                           ? static_cast<double>(random.below(7))
                           : static_cast<double>(random.below(feature.levels.size()));
    }
    const double score = data.raw.row(i).dot(slope) + random.normal();
    data.labels.push_back(score > 1 ? 1 : 0);
    if (models == Models::classes && score < -1) data.labels.back() = 2;
  }
  data.classes = {"no", "yes"};
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  if (models == Models::classes) {
    data.classes = {"no", "yes", "other"};
    data.schema.target.classes = data.classes;
  }
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

Constraints random_constraints(const Schema& schema, Random& random) {
  Constraints result{.range = random.below(4) == 0 ? RangePolicy::off : RangePolicy::train};
  for (const Feature& feature : schema.features) {
    FeatureLimits limits{.locked = random.below(6) == 0};
    if (feature.is_number() && random.below(5) == 0) limits.max = feature.min.value_or(0) + 1.5;
    if (feature.kind != FeatureKind::categorical && random.below(8) == 0)
      limits.direction = static_cast<Direction>(random.below(3));
    result.features[feature.name] = limits;
  }
  return result;
}

Vector raw_of(const Model& model, const RawRow& row) {
  return model.encoder.raw(row);
}

/// What was tried, so that nothing passes empty.
struct Tally {
  int infeasible = 0;
  int blocking = 0;
  int witnesses = 0;
  int whatever = 0;
  int likely = 0;
  int best_settled = 0;
  int epsilon_settled = 0;
};

class Judge {
 public:
  Judge(const Problem& problem, const Answer& answer, std::optional<int> max_changes,
        problem_zoo::Effort effort, Tally& tally)
      : problem_(&problem),
        why_(&*answer.infeasible),
        rows_(problem, answer.query_index, raw_of(*problem.model, answer.query), max_changes),
        score_(problem),
        all_(rows_.names()),
        effort_(effort),
        tally_(&tally) {}

  void check() {
    ++tally_->infeasible;
    check_blocking();
    check_best();
    check_max_epsilon();
  }

 private:
  [[nodiscard]] PlainBest best(double epsilon, const std::set<std::string>& kept) const {
    return best_plain_row(rows_, score_, epsilon, kept, effort_);
  }

  void check_blocking() {
    const Blocking& blocking = why_->blocking;
    const std::set<std::string> kept(blocking.constraints.begin(), blocking.constraints.end());
    for (const std::string& name : kept) EXPECT_TRUE(all_.contains(name)) << name;
    const PlainBest refuting = best(problem_->epsilon, kept);
    EXPECT_LT(refuting.score, problem_->threshold)
        << "an answer under what is said to block: " << refuting.row.transpose();
    ASSERT_EQ(blocking.witnesses.size(), blocking.constraints.size());
    if (!blocking.is_proved) ++tally_->likely;
    if (kept.empty() && blocking.is_proved) ++tally_->whatever;
    for (std::size_t k = 0; k < blocking.constraints.size(); ++k) {
      ++tally_->blocking;
      if (blocking.witnesses[k].empty()) {
        EXPECT_FALSE(blocking.is_proved);
        continue;
      }
      std::set<std::string> fewer = kept;
      fewer.erase(blocking.constraints[k]);
      const Vector row = raw_of(*problem_->model, blocking.witnesses[k]);
      EXPECT_TRUE(rows_.allows(row, fewer)) << blocking.constraints[k] << ": " << row.transpose();
      EXPECT_GE(score_.at(row, problem_->epsilon), problem_->threshold - 1e-7)
          << blocking.constraints[k];
      ++tally_->witnesses;
    }
  }

  void check_best() {
    const PlainBest found = best(problem_->epsilon, all_);
    if (why_->best.empty()) {
      ++tally_->best_settled;
      EXPECT_TRUE(std::isinf(found.score)) << "there is a row, but no best: " << found.score;
      return;
    }
    const Vector row = raw_of(*problem_->model, why_->best);
    EXPECT_TRUE(rows_.allows(row, all_));
    const double tolerance = 1e-6 * (1 + std::abs(why_->best_robust_logit));
    EXPECT_NEAR(score_.at(row, problem_->epsilon), why_->best_robust_logit, tolerance);
    EXPECT_LE(found.score, why_->best_bound + tolerance) << found.row.transpose();
    if (why_->best_bound - why_->best_robust_logit <= tolerance) ++tally_->best_settled;
  }

  void check_max_epsilon() {
    const EpsilonBounds& bounds = why_->max_epsilon;
    EXPECT_LE(bounds.upper, problem_->epsilon);
    if (bounds.lower) {
      EXPECT_LE(*bounds.lower, bounds.upper);
      const Vector row = raw_of(*problem_->model, bounds.point);
      EXPECT_TRUE(rows_.allows(row, all_));
      EXPECT_GE(score_.at(row, *bounds.lower), problem_->threshold - 1e-7);
      if (bounds.upper <= *bounds.lower * (1 + 5e-3)) ++tally_->epsilon_settled;
    } else if (bounds.upper <= 1e-9) {
      ++tally_->epsilon_settled;
    }
    // Bounds of searched sets are as near as their objective's rounding.
    const double beyond = bounds.upper * (1 + 1e-9);
    const PlainBest refuting = best(beyond, all_);
    EXPECT_LT(refuting.score, problem_->threshold + 1e-9)
        << "an answer beyond the largest epsilon " << bounds.upper << ": "
        << refuting.row.transpose();
  }

  const Problem* problem_;
  const Infeasibility* why_;
  PlainRows rows_;
  PlainScore score_;
  std::set<std::string> all_;
  problem_zoo::Effort effort_;
  Tally* tally_;
};

Tally try_claims(Models models, const std::vector<std::uint64_t>& tried,
                 problem_zoo::Effort effort) {
  Tally tally;
  for (const std::uint64_t seed : tried) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Dataset data = random_data(random, models);
    TrainingOptions options{.l2 = 1e-2, .folds = 0};
    options.store_rows = models == Models::true_set;
    if (models == Models::classes) options = problem_zoo::softmax_options();
    const Model model = train(data, {}, options).model;
    Problem problem{.model = &model};
    const double share = std::exp(-3 * random.uniform());
    if (models == Models::classes) {
      problem.set.contest = make_contest(model, 1);
      problem.epsilon = 0.05 * share;
    } else {
      const std::vector<bool> all(static_cast<std::size_t>(model.encoder.columns()), true);
      problem.epsilon =
          1.3 * share * epsilon_limit(model.network.head(), model.curvature.hessian, all);
      problem.threshold = random.below(2) == 0 ? 0 : 0.5;
    }
    if (models == Models::true_set) problem.set.kind = SetKind::true_set;
    problem.constraints = random_constraints(data.schema, random);
    ExactOptions search;
    if (random.below(4) == 0) search.max_changes = 1 + static_cast<int>(random.below(2));
    std::vector<Query> queries = problem_zoo::queries_of(data, 6);
    // One who lies outside the ranges, as far as numbers go.
    for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
      if (data.schema.features[j].is_number())
        queries[0].raw(static_cast<Index>(j)) =
            std::nearbyint(3 * queries[0].raw(static_cast<Index>(j)));
    }
    const std::vector<Answer> answers = ExactSearch(problem, search).generate(queries, {});
    problem_zoo::expect_audited(problem, answers, search);
    for (const Answer& answer : answers) {
      if (!answer.infeasible) continue;
      SCOPED_TRACE(answer.query_index);
      Judge(problem, answer, search.max_changes, effort, tally).check();
    }
  }
  return tally;
}

void expect_tried(const Tally& tally, int least) {
  std::string text = fmt::format(
      "{} infeasible, {} blocking, {} witnesses, {} whatever, {} likely, {} best, {} epsilon",
      tally.infeasible, tally.blocking, tally.witnesses, tally.whatever, tally.likely,
      tally.best_settled, tally.epsilon_settled);
  ::testing::Test::RecordProperty("tried", text);
  SCOPED_TRACE(text);
  EXPECT_GT(tally.infeasible, least);
  EXPECT_GT(tally.witnesses, least);
  // Nearly always there is nothing to hedge.
  EXPECT_LE(20 * tally.likely, tally.infeasible);
  EXPECT_GE(10 * tally.best_settled, 9 * tally.infeasible);
  EXPECT_GE(10 * tally.epsilon_settled, 9 * tally.infeasible);
}

TEST(InfeasibilityClaims, HoldForEllipsoids) {
  expect_tried(try_claims(Models::ellipsoid, seeds(1, 60), {.rows = 20000}), 60);
}

TEST(InfeasibilityClaims, HoldForClasses) {
  expect_tried(try_claims(Models::classes, seeds(1001, 25), {.rows = 8000}), 25);
}

TEST(InfeasibilityClaims, HoldForTrueSets) {
  std::vector<std::uint64_t> tried = seeds(2001, 12);
  tried.push_back(90016);  // the only allowed rows break a rule as soon as they are rounded
  expect_tried(try_claims(Models::true_set, tried, {.rows = 300, .starts = 2, .finest = 0.01}), 10);
}

// What is found once for everybody must not depend on who comes first, nor on how many there are.
TEST(InfeasibilityClaims, OfOnePersonDoNotDependOnOthers) {
  int compared = 0;
  for (const std::uint64_t seed : seeds(3001, 4)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Dataset data = random_data(random, Models::true_set);
    TrainingOptions options{.l2 = 1e-2, .folds = 0};
    options.store_rows = true;
    const Model model = train(data, {}, options).model;
    Problem problem{.model = &model};
    problem.set.kind = SetKind::true_set;
    const std::vector<bool> all(static_cast<std::size_t>(model.encoder.columns()), true);
    problem.epsilon = 1.3 * epsilon_limit(model.network.head(), model.curvature.hessian, all);
    const std::vector<Query> queries = problem_zoo::queries_of(data, 4);
    const std::vector<Answer> together = ExactSearch(problem).generate(queries, {});
    for (const Answer& answer : together) {
      const auto own = std::find_if(queries.begin(), queries.end(), [&](const Query& query) {
        return query.index == answer.query_index;
      });
      ASSERT_NE(own, queries.end());
      const Answer alone = ExactSearch(problem).generate({*own}, {}).front();
      ASSERT_EQ(alone.status, answer.status);
      ASSERT_EQ(alone.infeasible.has_value(), answer.infeasible.has_value());
      if (!answer.infeasible) continue;
      ++compared;
      EXPECT_EQ(alone.infeasible->upper_bound, answer.infeasible->upper_bound);
      EXPECT_EQ(alone.infeasible->blocking.constraints, answer.infeasible->blocking.constraints);
      EXPECT_EQ(alone.infeasible->max_epsilon.lower, answer.infeasible->max_epsilon.lower);
      EXPECT_EQ(alone.infeasible->max_epsilon.upper, answer.infeasible->max_epsilon.upper);
      EXPECT_EQ(alone.infeasible->best_robust_logit, answer.infeasible->best_robust_logit);
    }
  }
  EXPECT_GT(compared, 5);
}

}  // namespace
}  // namespace ellice

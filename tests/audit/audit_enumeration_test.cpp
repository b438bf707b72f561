// Whether an answer with discrete values is the cheapest: against all rows there are, and where
// numbers may change beside them, against answers that are known to be optimal.

#include "audit/audit_enumeration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/training.hpp"
#include "request/feasible_set.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using problem_zoo::plain_robust_logit;
using problem_zoo::recourse_file;
using problem_zoo::solve;
using testing_support::seeds;

/// Features of every kind; `has_number` adds one without a grid.
Dataset discrete_dataset(std::uint64_t seed, bool has_number) {
  Random random(seed);
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {
      {.name = "whole", .kind = FeatureKind::integer, .min = 0, .max = 3},
      {.name = "grade", .kind = FeatureKind::ordinal, .levels = {"low", "middle", "high"}},
      {.name = "flag", .kind = FeatureKind::binary, .levels = {"no", "yes"}, .weight = 0.5},
      {.name = "kind", .kind = FeatureKind::categorical, .levels = {"a", "b", "c"}},
      {.name = "grid", .min = -2, .max = 2, .step = 0.5, .weight = 2}};
  if (has_number) data.schema.features.push_back({.name = "free"});
  const auto columns = static_cast<Index>(data.schema.features.size());
  data.raw.resize(200, columns);
  for (Index i = 0; i < data.raw.rows(); ++i) {
    data.raw.row(i).head(5) << static_cast<double>(random.below(4)),
        static_cast<double>(random.below(3)), static_cast<double>(random.below(2)),
        static_cast<double>(random.below(3)), -2 + 0.5 * static_cast<double>(random.below(9));
    if (has_number) data.raw(i, 5) = random.normal();
    const double score = data.raw.row(i).sum() - 4 + 1.5 * random.normal();
    data.labels.push_back(score > 0 ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

/// Every row of the five discrete features.
std::vector<Vector> all_rows() {
  std::vector<Vector> rows;
  for (int whole = 0; whole < 4; ++whole)
    for (int grade = 0; grade < 3; ++grade)
      for (int flag = 0; flag < 2; ++flag)
        for (int kind = 0; kind < 3; ++kind)
          for (int grid = 0; grid < 9; ++grid)
            rows.push_back(
                Vector{{static_cast<double>(whole), static_cast<double>(grade),
                        static_cast<double>(flag), static_cast<double>(kind), -2 + 0.5 * grid}});
  return rows;
}

/// What formats.md says a move costs, feature by feature.
double plain_cost(CostKind kind, const Model& model, const Vector& from, const Vector& to) {
  double sum = 0;
  for (Index j = 0; j < from.size(); ++j) {
    if (from(j) == to(j)) continue;
    const auto feature = static_cast<std::size_t>(j);
    const double weight = model.schema().features[feature].weight;
    const bool is_level = j == 2 || j == 3;
    if (is_level && kind == CostKind::mixed) {
      sum += weight;
      continue;
    }
    // A category leaves one 0/1 column and enters another.
    const double move =
        is_level ? 1
                 : (to(j) - from(j)) / model.encoder.scale()(model.encoder.first_column(feature));
    const double term = kind == CostKind::l1 ? std::abs(move) : move * move;
    sum += weight * (j == 3 ? 2 * term : term);
  }
  return kind == CostKind::mixed ? std::sqrt(sum) : sum;
}

bool speaks_of_the_gap(const AnswerAudit& audit) {
  return std::any_of(audit.failures.begin(), audit.failures.end(),
                     [](const std::string& text) { return text.starts_with("gap is"); });
}

TEST(AuditEnumeration, CallsOptimalWhatIsTheCheapestOfAllRows) {
  const std::vector<Vector> rows = all_rows();
  int optimal = 0;
  int dearer = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Model model = train(discrete_dataset(seed, false), {}, {.l2 = 1e-2, .folds = 0}).model;
    for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::mixed}) {
      for (const int most : {5, 2}) {
        const Problem problem{.model = &model, .epsilon = 0.01, .cost = {.kind = kind}};
        const Assembler assembler(problem);
        Random random(seed);
        const Vector query = rows[random.below(rows.size() / 4)];
        const FeasibleSet feasible(model.encoder, problem.constraints, 0, query);
        std::vector<std::pair<double, Vector>> robust;
        for (const Vector& row : rows) {
          const RawRow values =
              model.encoder.values({row.data(), static_cast<std::size_t>(row.size())});
          const bool few = (row.array() != query.array()).count() <= most;
          if (few && plain_robust_logit(model, 0.01, model.encoder.encode(values)) > 1e-9)
            robust.emplace_back(plain_cost(kind, model, query, row), row);
        }
        if (robust.empty()) continue;
        std::sort(robust.begin(), robust.end(),
                  [](const auto& one, const auto& other) { return one.first < other.first; });
        for (std::size_t k : {std::size_t{0}, random.below(robust.size()), random.below(5)}) {
          k = std::min(k, robust.size() - 1);
          Answer answer = assembler.begin({.index = 0, .raw = query}, feasible);
          if (!assembler.accept(answer, robust[k].second, feasible)) continue;
          answer.status = Status::optimal;
          answer.gap = 0;
          Json file = recourse_file(problem, {answer});
          if (most < 5) file["options"]["exact"] = {{"max_changes", most}};
          const AnswerAudit audit = audit_recourse_file(file, model, "r.json")[0];
          const bool is_best = robust[k].first <= robust[0].first * (1 + 1e-9);
          EXPECT_EQ(audit.holds(), is_best) << seed << " " << enum_name(kind) << " " << most;
          EXPECT_EQ(speaks_of_the_gap(audit), !is_best);
          EXPECT_TRUE(audit.unverified.empty()) << audit.unverified.front();
          ++(is_best ? optimal : dearer);
        }
      }
    }
  }
  EXPECT_GT(optimal, 15);
  EXPECT_GT(dearer, 15);
}

TEST(AuditEnumeration, CallsOptimalWhatIsTheCheapestOverTheTrueSet) {
  const std::vector<Vector> rows = all_rows();
  int optimal = 0;
  int dearer = 0;
  for (const std::uint64_t seed : seeds(1, 4)) {
    const int most = seed % 2 == 0 ? 2 : 5;
    const Model model =
        train(discrete_dataset(seed, false), {}, {.l2 = 1e-2, .folds = 0, .store_rows = true})
            .model;
    for (const double epsilon : {0.01, 0.05}) {
      const Problem problem = problem_zoo::true_problem(model, epsilon);
      const plain::TrueSet set(model, epsilon);
      const Assembler assembler(problem);
      Random random(seed);
      const Vector query = rows[random.below(rows.size() / 4)];
      const FeasibleSet feasible(model.encoder, problem.constraints, 0, query);
      std::vector<std::pair<double, Vector>> robust;
      for (const Vector& row : rows) {
        const bool few = (row.array() != query.array()).count() <= most;
        if (few && set.worst(plain::code(model, row)).bound > 1e-9)
          robust.emplace_back(plain_cost(problem.cost.kind, model, query, row), row);
      }
      if (robust.empty()) continue;
      std::sort(robust.begin(), robust.end(),
                [](const auto& one, const auto& other) { return one.first < other.first; });
      for (std::size_t k = 0; k < std::min<std::size_t>(robust.size(), 4); ++k) {
        Answer answer = assembler.begin({.index = 0, .raw = query}, feasible);
        if (!assembler.accept(answer, robust[k].second, feasible)) continue;
        answer.status = Status::optimal;
        answer.gap = 0;
        Json file = recourse_file(problem, {answer});
        if (most < 5) file["options"]["exact"] = {{"max_changes", most}};
        const AnswerAudit audit = audit_recourse_file(file, model, "r.json")[0];
        const bool is_best = robust[k].first <= robust[0].first * (1 + 1e-9);
        EXPECT_EQ(audit.holds(), is_best) << seed << " " << epsilon << " " << k;
        EXPECT_EQ(speaks_of_the_gap(audit), !is_best);
        EXPECT_TRUE(audit.unverified.empty()) << audit.unverified.front();
        ++(is_best ? optimal : dearer);
      }
    }
  }
  EXPECT_GT(optimal, 3);
  EXPECT_GT(dearer, 8);
}

TEST(AuditEnumeration, ProvesHonestAnswersWhoseNumbersChange) {
  int proved = 0;
  int all = 0;
  int refused = 0;
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::mixed}) {
    const Dataset data = discrete_dataset(9, true);
    const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
    const Problem problem{.model = &model, .epsilon = 0.01, .cost = {.kind = kind}};
    const Assembler assembler(problem);
    for (const Answer& answer : solve(problem, problem_zoo::queries_of(data, 30))) {
      if (answer.status != Status::optimal) continue;
      ++all;
      const auto audited = [&](const Answer& one) {
        return audit_recourse_file(recourse_file(problem, {one}), model, "r.json")[0];
      };
      const AnswerAudit honest = audited(answer);
      EXPECT_TRUE(honest.holds()) << honest.failures.front();
      proved += honest.unverified.empty() ? 1 : 0;
      const FeasibleSet feasible(model.encoder, problem.constraints, answer.query_index,
                                 model.encoder.raw(answer.query));
      Vector farther = model.encoder.raw(*answer.counterfactual);
      farther(5) += 0.05;
      Answer worse = answer;
      if (!assembler.accept(worse, farther, feasible)) continue;
      if (!(worse.distance.weighted > answer.distance.weighted * (1 + 1e-6))) continue;
      worse.status = Status::optimal;
      worse.gap = 0;
      EXPECT_TRUE(speaks_of_the_gap(audited(worse)));
      ++refused;
    }
  }
  EXPECT_GT(all, 20);
  EXPECT_GT(proved, 9 * all / 10);
  EXPECT_GT(refused, 10);
}

/// Every number of a log becomes another.
void scramble(Json& log, Random& random) {
  if (log.is_number()) {
    log = log.get<double>() * (0.5 + random.uniform()) + random.normal();
  } else if (log.is_structured()) {
    for (Json& entry : log) scramble(entry, random);
  }
}

TEST(AuditEnumeration, TakesFromALogWhatProvesAndNothingElse) {
  const std::vector<Vector> rows = all_rows();
  int tried = 0;
  int needed = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Model model = train(discrete_dataset(seed, false), {}, {.l2 = 1e-2, .folds = 0}).model;
    const auto values = [&](const Vector& row) {
      return model.encoder.values({row.data(), static_cast<std::size_t>(row.size())});
    };
    constexpr double epsilon = 0.03;
    Random random(seed);
    const Vector query = rows[random.below(rows.size() / 4)];
    double best = std::numeric_limits<double>::infinity();
    for (const Vector& row : rows) {
      if (plain_robust_logit(model, epsilon, model.encoder.encode(values(row))) > 1e-9)
        best = std::min(best, plain_cost(CostKind::l2, model, query, row));
    }
    if (!std::isfinite(best) || best == 0) continue;
    const Constraints none;
    const audit::RowConstraints constraints(model.encoder, none, 0, values(query));
    const std::vector<audit::Cone> cones = audit::cones_of(model, {});
    audit::EnumerationQuestion question{.rows = {.constraints = &constraints,
                                                 .encoder = &model.encoder,
                                                 .threshold = 1e-9,
                                                 .claimed = best * (1 - 1e-8)},
                                        .models = {cones.front().center()},
                                        .cones = &cones,
                                        .epsilon = epsilon};
    const auto bound = [&](const audit::Region& region, const audit::ColumnCost& cost,
                           double enough) {
      return audit::least_cost({.cones = &cones,
                                .epsilon = epsilon,
                                .threshold = 1e-9,
                                .region = &region,
                                .cost = &cost,
                                .enough = enough,
                                .wanted = enough});
    };
    using enum audit::Enumerated;
    question.most_points = 10000;
    Json log;
    EXPECT_EQ(audit::enumerate(question, bound, &log), proved) << seed;
    question.most_points = 0;
    question.log = &log;
    EXPECT_EQ(audit::enumerate(question, bound), proved) << seed;
    const Json nothing = Json::array();
    question.log = &nothing;
    needed += audit::enumerate(question, bound) == proved ? 0 : 1;
    // What is not so is not proved, whatever the log.
    question.rows.claimed = best * 1.0001;
    question.log = &log;
    EXPECT_NE(audit::enumerate(question, bound), proved) << seed;
    question.most_points = 10000;
    for (int k = 0; k < 5; ++k) {
      scramble(log, random);
      EXPECT_NE(audit::enumerate(question, bound), proved) << seed;
    }
    ++tried;
  }
  EXPECT_GT(tried, 6);
  EXPECT_GT(needed, 2);
}

// Depth is what a log can ask for at no cost: this one divides a feature of many values one by one.
TEST(AuditEnumeration, LeavesALogOpenThatDividesForEver) {
  constexpr int values = 30000;
  Dataset data = discrete_dataset(1, false);
  data.schema.features[0].max = values;
  data.raw.col(0) *= values / 3;
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
  const Vector query = Vector::Zero(5);
  const Constraints none;
  const audit::RowConstraints constraints(
      model.encoder, none, 0,
      model.encoder.values({query.data(), static_cast<std::size_t>(query.size())}));
  const std::vector<audit::Cone> cones = audit::cones_of(model, {});
  Json log = Json::array();
  for (int k = 0; k < values; ++k) {
    log.push_back(
        {{"price", 1e-9},
         {"point", std::vector<double>(static_cast<std::size_t>(model.encoder.columns()))},
         {"split", "whole"},
         {"place", k},
         {"single", true}});
  }
  const audit::EnumerationQuestion question{.rows = {.constraints = &constraints,
                                                     .encoder = &model.encoder,
                                                     .threshold = 1e-9,
                                                     .claimed = 1e6},
                                            .cones = &cones,
                                            .epsilon = 0.01,
                                            .log = &log};
  const auto nothing = [](const audit::Region&, const audit::ColumnCost&, double) {
    return audit::CostBounds{};
  };
  EXPECT_EQ(audit::enumerate(question, nothing), audit::Enumerated::open);
}

/// What the enumeration is asked of all rows, and what it says with leaves of its own.
struct RowsAsked {
  const Model* model = nullptr;
  std::vector<audit::Cone> cones = {};
  const audit::RowConstraints* constraints = nullptr;
  Cost cost = {};
  double epsilon = 0;
  std::optional<std::int64_t> most_changes = {};
  std::vector<std::vector<std::size_t>> not_all = {};

  [[nodiscard]] audit::Enumerated with(std::optional<double> claimed, int most_points) const {
    const audit::EnumerationQuestion question{.rows = {.constraints = constraints,
                                                       .encoder = &model->encoder,
                                                       .cost = cost,
                                                       .most_changes = most_changes,
                                                       .not_all = not_all,
                                                       .threshold = 1e-9,
                                                       .claimed = claimed},
                                              .models = {cones.front().center()},
                                              .cones = &cones,
                                              .epsilon = epsilon,
                                              .most_points = most_points};
    return audit::enumerate(
        question, [&](const audit::Region& region, const audit::ColumnCost& costs, double enough) {
          return audit::least_cost({.cones = &cones,
                                    .epsilon = epsilon,
                                    .threshold = 1e-9,
                                    .region = &region,
                                    .cost = &costs,
                                    .enough = enough,
                                    .wanted = enough});
        });
  }
};

TEST(AuditEnumeration, SaysOfAllRowsWhatLookingAtEachSays) {
  using enum audit::Enumerated;
  const std::vector<Vector> rows = all_rows();
  int cheapest = 0;
  int none = 0;
  for (const std::uint64_t seed : seeds(1, 40)) {
    Random random(seed);
    std::vector<Model> models;
    for (std::uint64_t k = 0; k < 1 + random.below(2); ++k) {
      models.push_back(
          train(discrete_dataset(2 * seed + k, false), {}, {.l2 = 1e-2, .folds = 0}).model);
    }
    const auto values = [&](const Vector& row) {
      return models.front().encoder.values({row.data(), static_cast<std::size_t>(row.size())});
    };
    const Vector query = rows[random.below(rows.size() / 3)];
    const Constraints free;
    const audit::RowConstraints constraints(models.front().encoder, free, 0, values(query));
    const CostKind kinds[] = {CostKind::l2, CostKind::l1, CostKind::mixed};
    RowsAsked asked{.model = &models.front(),
                    .constraints = &constraints,
                    .cost = {.kind = kinds[random.below(3)]},
                    .epsilon = std::pow(10.0, -3 + 2.5 * random.uniform())};
    std::vector<const Model*> members;
    for (std::size_t k = 1; k < models.size(); ++k) members.push_back(&models[k]);
    SetChoice set;
    if (!members.empty()) set = {.kind = SetKind::ensemble, .members = members};
    asked.cones = audit::cones_of(models.front(), set);
    if (random.below(2) == 0) asked.most_changes = static_cast<std::int64_t>(random.below(5));
    for (std::uint64_t k = random.below(3); k > 0; --k) {
      std::vector<std::size_t> features;
      for (std::size_t j = 0; j < 5; ++j) {
        if (random.below(2) == 0) features.push_back(j);
      }
      if (!features.empty()) asked.not_all.push_back(features);
    }
    double best = std::numeric_limits<double>::infinity();
    bool is_clear = true;  // no row so near to the threshold that rounding decides
    for (const Vector& row : rows) {
      const auto changed = (row.array() != query.array()).eval();
      const bool is_admitted =
          (!asked.most_changes || changed.count() <= *asked.most_changes) &&
          std::none_of(asked.not_all.begin(), asked.not_all.end(), [&](const auto& set_of) {
            return std::all_of(set_of.begin(), set_of.end(),
                               [&](std::size_t j) { return changed(static_cast<Index>(j)); });
          });
      if (!is_admitted) continue;
      double least = std::numeric_limits<double>::infinity();
      for (const Model& model : models) {
        const Vector z = model.encoder.encode(values(row));
        least = std::min(least, plain_robust_logit(model, asked.epsilon, z));
      }
      is_clear = is_clear && std::abs(least) > 1e-7;
      if (least > 1e-9)
        best = std::min(best, plain_cost(asked.cost.kind, models.front(), query, row));
    }
    if (!is_clear) continue;
    constexpr int points = 1000;
    if (asked.cost.kind == CostKind::mixed) best *= best;
    EXPECT_EQ(asked.with({}, points) == proved, std::isinf(best)) << seed;
    EXPECT_EQ(asked.with({}, points) == refuted, std::isfinite(best)) << seed;
    if (std::isinf(best)) {
      EXPECT_EQ(asked.with(1e6, points), proved) << seed;
      ++none;
    } else if (best > 0) {
      EXPECT_EQ(asked.with(best * (1 - 1e-8), points), proved) << seed;
      for (const int few : {0, 3, points}) {
        EXPECT_NE(asked.with(best * (1 + 1e-8), few), proved) << seed;
        EXPECT_NE(asked.with(best * (1 + random.uniform()), few), proved) << seed;
      }
      ++cheapest;
    }
  }
  EXPECT_GT(cheapest, 12);
  EXPECT_GT(none, 5);
}

}  // namespace
}  // namespace ellice

// The audit reads constraints by itself. Two readings of the same documents, made apart from each
// other, must agree on every row; and on small things said plainly, with the documents.

#include "audit/audit_constraints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ellice/core/json.hpp"
#include "request/feasible_set.hpp"
#include "support/random_constraints.hpp"

namespace ellice {
namespace {

using audit::RowConstraints;
using testing_support::coarse_row;
using testing_support::ConstraintCase;
using testing_support::random_constraint_case;

RawRow written(const Encoder& encoder, const Vector& raw) {
  return encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
}

/// What the sentences are about: a feature's name, or a rule.
std::multiset<std::string> subjects(const std::vector<std::string>& sentences) {
  std::multiset<std::string> result;
  for (const std::string& sentence : sentences) {
    result.insert(sentence.starts_with("rule ") ? sentence
                                                : sentence.substr(0, sentence.find(':')));
  }
  return result;
}

std::string shown(const ConstraintCase& one, const Vector& query, const Vector& row) {
  return to_json(one.data.schema).dump() + "\n" + to_json(one.constraints).dump() + "\n" +
         row_to_json(one.data.schema, written(one.encoder, query)).dump() + " to " +
         row_to_json(one.data.schema, written(one.encoder, row)).dump();
}

TEST(AuditConstraints, AgreeWithTheSearchOnEveryRow) {
  int allowed = 0;
  int broken = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    Random random(seed);
    const ConstraintCase one = random_constraint_case(random, 2 + seed % 4);
    for (std::size_t index = 0; index < 2; ++index) {
      const Vector query = coarse_row(random, one.data.schema);
      const RowConstraints constraints(one.encoder, one.constraints, index,
                                       written(one.encoder, query), one.display_steps);
      const FeasibleSet feasible(one.encoder, one.constraints, index, query, one.display_steps);
      EXPECT_EQ(constraints.broken_by_query(), feasible.query_violations());
      EXPECT_EQ(constraints.query(), feasible.query());
      for (int k = 0; k < 20; ++k) {
        const Vector row = coarse_row(random, one.data.schema, &query);
        const auto ours = constraints.broken_by(row);
        const auto theirs = feasible.violations(row);
        ASSERT_EQ(subjects(ours), subjects(theirs)) << seed << "\n" << shown(one, query, row);
        ++(ours.empty() ? allowed : broken);
      }
    }
  }
  EXPECT_GT(allowed, 3000);
  EXPECT_GT(broken, 3000);
}

TEST(AuditConstraints, HaveTheCasesAndBoxesOfTheSearch) {
  int compared = 0;
  int rows_in_a_case = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    Random random(seed + 5000);
    const ConstraintCase one = random_constraint_case(random, 2 + seed % 4);
    const Vector query = coarse_row(random, one.data.schema);
    const RowConstraints constraints(one.encoder, one.constraints, 1, written(one.encoder, query),
                                     one.display_steps);
    const FeasibleSet feasible(one.encoder, one.constraints, 1, query, one.display_steps);
    const audit::Box whole = constraints.around(constraints.values());
    EXPECT_EQ(whole.lower, feasible.relaxed().lower) << shown(one, query, query);
    EXPECT_EQ(whole.upper, feasible.relaxed().upper) << shown(one, query, query);

    const std::vector<audit::Case> cases = constraints.cases();
    for (const FeasibleSet& branch : feasible.branches()) {
      const auto same = std::find_if(cases.begin(), cases.end(), [&](const audit::Case& own) {
        return own.supposes == branch.supposes();
      });
      ASSERT_NE(same, cases.end()) << shown(one, query, query);
      const audit::Box box = constraints.around(same->values);
      EXPECT_EQ(box.lower, branch.relaxed().lower) << seed << "\n" << shown(one, query, query);
      EXPECT_EQ(box.upper, branch.relaxed().upper) << seed << "\n" << shown(one, query, query);
      ++compared;
    }
    // The cases together are what the implications leave.
    for (int k = 0; k < 20; ++k) {
      const Vector row = coarse_row(random, one.data.schema, &query);
      const auto broken = constraints.broken_by(row);
      const bool by_rule = std::any_of(broken.begin(), broken.end(), [&](const std::string& text) {
        return std::any_of(one.data.schema.constraints.begin(), one.data.schema.constraints.end(),
                           [&](const Rule& rule) { return text == "rule " + rule.text; });
      });
      if (by_rule) continue;
      const auto holds = [&](const audit::Case& own) {
        for (std::size_t j = 0; j < own.values.size(); ++j) {
          if (!own.values[j].admits(row(static_cast<Index>(j)))) return false;
        }
        return true;
      };
      const bool in_a_case = std::any_of(cases.begin(), cases.end(), holds);
      EXPECT_EQ(in_a_case, broken.empty()) << seed << "\n" << shown(one, query, row);
      rows_in_a_case += in_a_case ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 1500);
  EXPECT_GT(rows_in_a_case, 1500);
}

/// What formats.md says, on a schema with one feature of each kind.
class AuditConstraintsSay : public testing::Test {
 protected:
  AuditConstraintsSay() {
    data_.schema.target = {.column = "outcome", .favourable = "yes"};
    data_.schema.features = {
        {.name = "income", .min = 0, .max = 900, .step = 100},
        {.name = "rate", .allowed = {0.25, 0.5, 0.75}},
        {.name = "children", .kind = FeatureKind::integer, .direction = Direction::increase},
        {.name = "school", .kind = FeatureKind::ordinal, .levels = {"none", "some", "all"}},
        {.name = "place",
         .kind = FeatureKind::categorical,
         .levels = {"p", "q", "r"},
         .allowed = {"p", "q"}},
        {.name = "debt"}};
    data_.raw.resize(2, 6);
    data_.raw << 0, 0.25, 0, 0, 0, -1, 500, 0.75, 6, 2, 1, 4;
    data_.labels = {0, 1};
    data_.classes = {"no", "yes"};
  }

  /// Whether a row that differs from the query in one value is allowed.
  [[nodiscard]] bool allows(Index feature, double value) const {
    Vector row = query_;
    row(feature) = value;
    return broken(row).empty();
  }
  [[nodiscard]] std::vector<std::string> broken(const Vector& row) const {
    const Encoder encoder = Encoder::fit(data_);
    return RowConstraints(encoder, constraints_, 0, written(encoder, query_)).broken_by(row);
  }

  Dataset data_;
  Constraints constraints_;
  Vector query_{{250, 0.4, 2, 1, 2, 1}};  // income, rate and place are not what the schema allows
};

TEST_F(AuditConstraintsSay, ThatAPersonsOwnValueIsAlwaysAllowed) {
  EXPECT_TRUE(broken(query_).empty());
  constraints_.features["debt"] = {.min = 2, .max = 3};
  EXPECT_TRUE(broken(query_).empty());
  EXPECT_TRUE(allows(5, 2.5));
  EXPECT_FALSE(allows(5, 1.5));  // between the own value and the range
}

TEST_F(AuditConstraintsSay, ThatGridsBeginWhereTheSchemaSays) {
  EXPECT_TRUE(allows(0, 300));
  EXPECT_FALSE(allows(0, 350));
  data_.schema.features[0].min = 50;
  EXPECT_TRUE(allows(0, 350));
  constraints_.features["income"] = {.min = 120};
  EXPECT_TRUE(allows(0, 350));
  EXPECT_FALSE(allows(0, 320));
  EXPECT_FALSE(allows(0, 50));
  constraints_.features["children"] = {.min = 0.5};
  EXPECT_TRUE(allows(2, 3));
  EXPECT_FALSE(allows(2, 2.5));
}

TEST_F(AuditConstraintsSay, ThatListsAndGridsBothBind) {
  EXPECT_TRUE(allows(1, 0.5));
  EXPECT_FALSE(allows(1, 0.6));
  data_.schema.features[1].step = 0.5;
  EXPECT_TRUE(allows(1, 0.5));
  EXPECT_FALSE(allows(1, 0.25));
  EXPECT_TRUE(allows(4, 0));
  EXPECT_TRUE(allows(4, 1));
}

TEST_F(AuditConstraintsSay, ThatRangesOfTrainingAreEnlargedToThePerson) {
  EXPECT_FALSE(allows(0, 600));
  query_(0) = 700;
  EXPECT_TRUE(allows(0, 600));
  EXPECT_FALSE(allows(0, 800));
  constraints_.range = RangePolicy::off;
  EXPECT_TRUE(allows(0, 800));
  EXPECT_FALSE(allows(0, 1000));  // the schema's own range holds in either case
}

TEST_F(AuditConstraintsSay, ThatARunsConstraintsStandOverTheSchemas) {
  EXPECT_FALSE(allows(2, 1));
  constraints_.features["children"] = {.direction = Direction::any};
  EXPECT_TRUE(allows(2, 1));
  constraints_.queries[0]["children"] = {.direction = Direction::decrease};
  EXPECT_FALSE(allows(2, 3));
  constraints_.features["children"].locked = true;
  EXPECT_FALSE(allows(2, 1));
  constraints_.features["debt"] = {.max = 2};
  EXPECT_FALSE(allows(5, 3));
  constraints_.queries[0]["debt"] = {.max = 3.5};
  EXPECT_TRUE(allows(5, 3));
  constraints_.queries[1]["debt"] = {.max = 1};  // somebody else's
  EXPECT_TRUE(allows(5, 3));
}

TEST_F(AuditConstraintsSay, ThatRulesBindTheRowAndImplicationsTheChange) {
  data_.schema.constraints = {parse_rule("debt <= 0.01 * income - 2")};
  EXPECT_FALSE(broken(query_).empty());  // also who keeps all values
  EXPECT_FALSE(allows(5, 0.75));
  EXPECT_TRUE(allows(5, 0.5));
  data_.schema.constraints.clear();
  data_.schema.implications = {
      parse_implication("if school rises then children rises by at least 2"),
      parse_implication("if place becomes p then debt stays")};
  EXPECT_FALSE(allows(3, 2));
  EXPECT_TRUE(allows(3, 0));
  EXPECT_TRUE(broken(Vector{{250, 0.4, 4, 2, 2, 1}}).empty());
  EXPECT_FALSE(broken(Vector{{250, 0.4, 3, 2, 2, 1}}).empty());
  EXPECT_TRUE(broken(Vector{{250, 0.4, 2, 1, 0, 1}}).empty());
  EXPECT_FALSE(broken(Vector{{250, 0.4, 2, 1, 0, 2}}).empty());
  query_(4) = 0;  // who lives there already does not move there
  EXPECT_TRUE(broken(Vector{{250, 0.4, 2, 1, 0, 2}}).empty());
}

}  // namespace
}  // namespace ellice

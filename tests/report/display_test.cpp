#include "report/display.hpp"

#include <gtest/gtest.h>

#include <set>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

TEST(StatusWords, AreDifferentForEveryStatus) {
  std::set<std::string_view> words;
  const std::size_t count = EnumNames<Status>::names.size();
  for (std::size_t i = 0; i < count; ++i) words.insert(status_words(static_cast<Status>(i)));
  EXPECT_EQ(words.size(), count);
}

TEST(EpsilonMeaning, OffTheOptimumIsNotCountedFromTheBest) {
  Model model;
  model.network.layers = {{.weights = Matrix::Ones(1, 1), .bias = Vector::Zero(1)}};
  model.training = {.objective = 0.5, .head_decrement = 0.00002};
  Problem problem{.model = &model, .epsilon = 0.0025};
  const EpsilonRule rule = parse_epsilon_rule("0.0025");
  EXPECT_EQ(epsilon_meaning(rule, problem),
            "accepted by every model of the set whose training objective is at most 0.5 % above "
            "the best");
  model.training.head_decrement = 0.0675;
  for (const SetKind kind : {SetKind::last_layer, SetKind::ensemble, SetKind::full}) {
    problem.set.kind = kind;
    const std::string text = epsilon_meaning(rule, problem);
    EXPECT_EQ(text.find("above the best"), text.rfind("above the best"));
    EXPECT_NE(text.find("itself is 13.5 % above the best"), std::string::npos) << text;
    EXPECT_NE(text.find("at most 0.5 % against it"), std::string::npos) << text;
  }
}

TEST(Differences, AreTheFeaturesThatDiffer) {
  Schema schema;
  schema.features = {{.name = "a"}, {.name = "b"}};
  const std::vector<Change> found = differences(schema, {1.0, 2.0}, {1.0, 3.0});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].feature, "b");
  EXPECT_EQ(std::get<double>(found[0].to), 3.0);
  EXPECT_THROW((void)differences(schema, {1.0}, {1.0, 3.0}), Error);
}

TEST(Titles, StandInPlaceOfNames) {
  Schema schema;
  schema.features = {{.name = "inc", .label = "Monthly income"},
                     {.name = "inc: net", .label = "Income after tax"},
                     {.name = "debt"}};
  EXPECT_EQ(title_of(schema, "inc"), "Monthly income");
  EXPECT_EQ(title_of(schema, "debt"), "debt");
  EXPECT_EQ(titles_text(schema, {"debt", "inc"}), "debt, Monthly income");
  EXPECT_EQ(constraint_words(schema, "inc: at most 4"), "Monthly income: at most 4");
  EXPECT_EQ(constraint_words(schema, "inc: net: immutable"), "Income after tax: immutable");
  EXPECT_EQ(constraint_words(schema, "debt: locked"), "debt: locked");
  EXPECT_EQ(constraint_words(schema, "rule inc <= debt"), "rule inc <= debt");
}

TEST(ProtectedReasons, AreThoseOfProtectedFeaturesOnly) {
  Schema schema;
  schema.features = {{.name = "age", .immutable = true},
                     {.name = "sex", .immutable = true, .label = "Sex", .is_protected = true}};
  EXPECT_EQ(protected_reasons({.items = {{.feature = "age"}, {.feature = "sex"}}}, schema),
            std::vector<std::string>{"Sex"});
  EXPECT_TRUE(protected_reasons({.items = {{.feature = "age"}}}, schema).empty());
  EXPECT_NE(protected_warning({"Sex"}).find("Sex"), std::string::npos);
}

TEST(DisplayContribution, NeverShowsNothing) {
  EXPECT_EQ(display_contribution(-0.834), "−0.83");
  EXPECT_EQ(display_contribution(-12), "−12.00");
  EXPECT_EQ(display_contribution(-0.00042), "−0.0004");
  EXPECT_EQ(signed_number(1.2), "+1.20");
}

}  // namespace
}  // namespace ellice

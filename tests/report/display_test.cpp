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

TEST(Differences, AreTheFeaturesThatDiffer) {
  Schema schema;
  schema.features = {{.name = "a"}, {.name = "b"}};
  const std::vector<Change> found = differences(schema, {1.0, 2.0}, {1.0, 3.0});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].feature, "b");
  EXPECT_EQ(std::get<double>(found[0].to), 3.0);
  EXPECT_THROW((void)differences(schema, {1.0}, {1.0, 3.0}), Error);
}

TEST(DisplayContribution, NeverShowsNothing) {
  EXPECT_EQ(display_contribution(-0.834), "−0.83");
  EXPECT_EQ(display_contribution(-12), "−12.00");
  EXPECT_EQ(display_contribution(-0.00042), "−0.0004");
  EXPECT_EQ(signed_number(1.2), "+1.20");
}

}  // namespace
}  // namespace ellice

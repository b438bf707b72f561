#include "ellice/core/fields.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "ellice/core/json.hpp"

namespace ellice {

enum class Colour { red, green };
template <>
struct EnumNames<Colour> {
  static constexpr std::array<std::string_view, 2> names = {"red", "green"};
};

namespace {

struct SampleOptions {
  double rate = 0.5;
  int steps = 10;
  bool fast = false;
  std::string name = "none";
  Colour colour = Colour::green;
  std::optional<double> limit = {};
  std::uint64_t seed = 18446744073709551615ULL;
  std::vector<int> widths = {16, 8};

  static void fields(auto& self, auto&& visit) {
    visit("rate", self.rate, between(0, 1), "a rate");
    visit("steps", self.steps, at_least(1), "steps");
    visit("fast", self.fast, any_value(), "a flag");
    visit("name", self.name, any_value(), "a text");
    visit("colour", self.colour, any_value(), "a choice");
    visit("limit", self.limit, greater_than(0), "maybe a limit");
    visit("seed", self.seed, any_value(), "a seed");
    visit("widths", self.widths, at_least(1), "a list");
  }
  bool operator==(const SampleOptions&) const = default;
};

TEST(Fields, DescribeNamesTypesDefaultsAndRanges) {
  const auto fields = describe_fields<SampleOptions>();
  ASSERT_EQ(fields.size(), 8U);
  EXPECT_EQ(fields[0].range, "in [0, 1]");
  EXPECT_EQ(fields[0].default_value, "0.5");
  EXPECT_EQ(fields[1].range, ">= 1");
  EXPECT_EQ(fields[4].type, "red, green");
  EXPECT_EQ(fields[4].default_value, "green");
  EXPECT_EQ(fields[5].default_value, "none");
  EXPECT_EQ(fields[5].range, "> 0");
  EXPECT_EQ(fields[7].type, "integers");
  EXPECT_EQ(fields[7].default_value, "16,8");
}

TEST(Fields, ValidateNamesFieldValueAndBound) {
  SampleOptions options;
  EXPECT_NO_THROW(validate(options, "Sample"));
  options.rate = 1.5;
  try {
    validate(options, "Sample");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::argument);
    EXPECT_STREQ(error.what(), "Sample.rate = 1.5 must be in [0, 1]");
  }
  options.rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(validate(options, "Sample"), Error);
  options = {.limit = 0};
  EXPECT_THROW(validate(options, "Sample"), Error);
}

TEST(Fields, RoundTripThroughJson) {
  const SampleOptions given{
      .rate = 0.25, .steps = 3, .fast = true, .name = "x", .colour = Colour::red, .limit = 2};
  const Json json = parse_json(to_text(fields_to_json(given)), "test");
  SampleOptions back;
  fields_from_json(JsonObject(json, "test"), back);
  EXPECT_EQ(back, given);
}

TEST(Fields, FromJsonKeepsDefaultsAndRefusesWhatIsWrong) {
  SampleOptions options;
  fields_from_json(JsonObject(parse_json(R"({"steps": 4})", "t"), "t"), options);
  EXPECT_EQ(options, (SampleOptions{.steps = 4}));
  for (const char* bad : {R"({"steps": 0})", R"({"steps": 1.5})", R"({"steps": 4294967297})",
                          R"({"rate": 2})", R"({"colour": "blue"})", R"({"unknown": 1})",
                          R"({"seed": -1})", R"({"fast": "yes"})", R"({"name": 3})"}) {
    EXPECT_THROW(fields_from_json(JsonObject(parse_json(bad, "t"), "t"), options), Error) << bad;
  }
}

TEST(Fields, ListsAreCheckedEntryByEntry) {
  SampleOptions options;
  options.widths = {4, 0};
  EXPECT_THROW(validate(options, "Sample"), Error);
  const auto read = [](const char* text) {
    SampleOptions result;
    const Json json = parse_json(text, "o.json");
    fields_from_json(JsonObject(json, "o.json"), result);
    return result.widths;
  };
  EXPECT_EQ(read(R"({"widths": [3, 5]})"), (std::vector<int>{3, 5}));
  EXPECT_EQ(read(R"({"widths": []})"), std::vector<int>{});
  for (const char* bad : {R"({"widths": [0]})", R"({"widths": [2.5]})", R"({"widths": [1e10]})",
                          R"({"widths": 3})", R"({"widths": ["3"]})"}) {
    EXPECT_THROW((void)read(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace ellice

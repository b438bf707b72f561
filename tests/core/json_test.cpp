#include "ellice/core/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/number_text.hpp"
#include "core/random.hpp"

namespace ellice {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "no error";
}

TEST(NumberText, ReadsBackToTheSameBits) {
  Random random(5);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random.bits();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const double back = std::strtod(number_text(value).c_str(), nullptr);
    ASSERT_EQ(std::memcmp(&back, &value, sizeof value), 0) << number_text(value);
  }
}

TEST(NumberText, HasNoShorterDecimalThatReadsBack) {
  Random random(6);
  for (int i = 0; i < 20000; ++i) {
    const double value = random.normal() * std::pow(10, static_cast<double>(random.below(30)) - 15);
    const std::string text = number_text(value);
    const auto digits = [](const std::string& t) {
      std::string d;
      for (const char c : t.substr(0, t.find('e'))) {
        if (c >= '0' && c <= '9') d += c;
      }
      d.erase(0, d.find_first_not_of('0'));
      d.erase(d.find_last_not_of('0') + 1);  // of a whole number
      return d.size();
    };
    if (digits(text) < 2) continue;
    const std::string shorter = fmt::format("{:.{}e}", value, digits(text) - 2);
    EXPECT_NE(std::strtod(shorter.c_str(), nullptr), value) << text << " against " << shorter;
  }
}

TEST(NumberText, IsLaidOutAsPythonWouldWithoutPointZero) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
  EXPECT_EQ(number_text(24000), "24000");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e15), "1000000000000000");
  EXPECT_EQ(number_text(1e16), "1e+16");
  EXPECT_EQ(number_text(0.0001), "0.0001");
  EXPECT_EQ(number_text(0.00001), "1e-05");
  EXPECT_EQ(number_text(-1.5e-300), "-1.5e-300");
}

TEST(NumberText, RefusesWhatIsNotFinite) {
  EXPECT_THROW((void)number_text(std::numeric_limits<double>::infinity()), Error);
  EXPECT_THROW((void)number_text(std::nan("")), Error);
}

TEST(ParseJson, NamesFileAndPlaceOfASyntaxError) {
  const std::string message =
      message_of([] { (void)parse_json("{\"a\": 1,\n \"b\" 2}", "m.json"); });
  EXPECT_NE(message.find("m.json"), std::string::npos) << message;
  EXPECT_NE(message.find("line 2"), std::string::npos) << message;
}

TEST(ParseJson, RefusesARepeatedKeyAtAnyDepth) {
  const std::string message =
      message_of([] { (void)parse_json(R"({"x": [{"a": 1, "b": {"a": 2}, "a": 3}]})", "m.json"); });
  EXPECT_NE(message.find("\"a\" stands twice"), std::string::npos) << message;
  EXPECT_NO_THROW((void)parse_json(R"({"x": {"a": 1}, "y": {"a": 1}})", "m.json"));
}

TEST(ParseJson, RefusesTruncatedTextAndHugeNumbers) {
  EXPECT_NE(message_of([] { (void)parse_json(R"({"a": [1, 2)", "m.json"); }).find("complete"),
            std::string::npos);
  EXPECT_NE(message_of([] { (void)parse_json(R"({"a": 1e999})", "m.json"); }).find("double"),
            std::string::npos);
  EXPECT_NE(message_of([] { (void)parse_json("", "m.json"); }).find("m.json"), std::string::npos);
}

TEST(ParseJson, TakesTimeInProportionToTheText) {
  // If each key were looked for among those before it, this would take minutes.
  constexpr int keys = 200000;
  std::string object = "{";
  std::string array = "[";
  for (int k = 0; k < keys; ++k) {
    object += fmt::format("{}\"k{}\": {{\"a\": {}}}", k == 0 ? "" : ",", k, k);
    array += fmt::format("{}{{\"a\": {}}}", k == 0 ? "" : ",", k);
  }
  const Json entries = parse_json(object + "}", "many.json");
  ASSERT_EQ(entries.size(), keys);
  int k = 0;
  for (const auto& [key, value] : entries.items()) {
    ASSERT_EQ(key, fmt::format("k{}", k));
    ASSERT_EQ(value.at("a"), k++);
  }
  EXPECT_EQ(parse_json(array + "]", "many.json").size(), keys);
  const std::string message =
      message_of([&] { (void)parse_json(object + ",\"k7\": 1}", "many.json"); });
  EXPECT_NE(message.find("\"k7\" stands twice"), std::string::npos) << message;
}

TEST(ToText, RoundTripsAndKeepsTheOrderOfKeys) {
  const std::string text =
      R"({"z": 1, "a": [1.5, 2, -0.0], "m": [[1, 2], [3, 4]], "e": {}, "s": "ä\n\"",
                               "big": 18446744073709551615, "t": true, "n": null})";
  const Json value = parse_json(text, "test");
  EXPECT_EQ(parse_json(to_text(value), "test"), value);
  EXPECT_LT(to_text(value).find("\"z\""), to_text(value).find("\"a\""));
}

TEST(CanonicalText, SortsKeysAndLeavesOutSpace) {
  const Json value = parse_json(R"({"b": {"y": 1, "x": [0.1, 2]}, "a": "é"})", "test");
  EXPECT_EQ(canonical_text(value), R"({"a":"é","b":{"x":[0.1,2],"y":1}})");
}

TEST(JsonObject, NamesThePathTheValueAndTheExpectation) {
  const Json value =
      parse_json(R"({"encoder": {"mean": [1, "x"], "scale": "one", "flag": 1}})", "m.json");
  JsonObject top(value, "m.json");
  JsonObject encoder = top.object("encoder");
  EXPECT_EQ(message_of([&] { (void)encoder.vector("mean"); }),
            "m.json: encoder.mean[1]: found \"x\", expected a number");
  EXPECT_EQ(message_of([&] { (void)encoder.number("scale"); }),
            "m.json: encoder.scale: found \"one\", expected a number");
  EXPECT_EQ(message_of([&] { (void)encoder.boolean("flag"); }),
            "m.json: encoder.flag: found 1, expected true or false");
  EXPECT_EQ(message_of([&] { (void)encoder.string("min"); }),
            "m.json: key \"encoder.min\" is missing");
}

TEST(JsonObject, NamesAKeyThatNobodyKnows) {
  const Json value = parse_json(R"({"known": 1, "unknwon": 2})", "m.json");
  JsonObject object(value, "m.json");
  EXPECT_EQ(object.integer("known"), 1);
  EXPECT_FALSE(object.has("optional"));
  EXPECT_EQ(message_of([&] { object.finish(); }),
            "m.json: unknown key \"unknwon\"; known here: known, optional");
  EXPECT_EQ(message_of([&] { JsonObject(value, "m.json").finish(); }),
            "m.json: unknown key \"known\"; expected none");
}

TEST(JsonObject, ChecksTheShapeOfMatrices) {
  const Json value = parse_json(R"({"h": [[1, 2], [3]], "v": [1, 2, 3]})", "m.json");
  JsonObject object(value, "m.json");
  EXPECT_EQ(message_of([&] { (void)object.matrix("h"); }),
            "m.json: h[1]: found 1 numbers, expected 2");
  EXPECT_EQ(message_of([&] { (void)object.matrix("h", 3); }),
            "m.json: h: found 2 rows, expected 3");
  EXPECT_EQ(message_of([&] { (void)object.vector("v", 2); }),
            "m.json: v: found 3 numbers, expected 2");
}

TEST(JsonObject, ChecksTheEnvelope) {
  const Json value = parse_json(R"({"format": "ellice.model", "version": 9})", "m.json");
  JsonObject object(value, "m.json");
  EXPECT_NE(
      message_of([&] { (void)object.envelope("ellice.recourse", 1); }).find("\"ellice.recourse\""),
      std::string::npos);
  EXPECT_NE(message_of([&] {
              (void)object.envelope("ellice.model", 2);
            }).find("found 9, expected 1 to 2"),
            std::string::npos);
  EXPECT_EQ(object.envelope("ellice.model", 9), 9);
}

}  // namespace
}  // namespace ellice

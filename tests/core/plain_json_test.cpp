#include "core/plain_json.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/random.hpp"
#include "ellice/core/json.hpp"

namespace ellice {
namespace {

/// Whether two trees are the same to the kinds of their numbers and the order of their keys.
bool is_same(const Json& a, const Json& b) {
  return a.type() == b.type() && a.dump() == b.dump();
}

/// Whatever it reads is what the library reads.
void expect_agreement(const std::string& text) {
  const std::optional<Json> plain = parse_plain_json(text);
  if (!plain) return;
  const Json known = Json::parse(text, nullptr, false);
  ASSERT_FALSE(known.is_discarded()) << text;
  EXPECT_TRUE(is_same(*plain, known)) << text;
}

const std::array<std::string, 20> usual = {
    "{}",
    "[]",
    " { \"a\" : [ 1 , -2.5e-3 , true , false , null , \"x\" ] , \"b\" : { \"c\" : [ [ ] , { } ] } "
    "} \n",
    "0",
    "-0",
    "-0.0",
    "1E+5",
    "1e300",
    "123456789012345678",
    "18446744073709551615",
    "-9223372036854775808",
    "0.1000000000000000055511151231257827",
    "5e-324",
    "\"\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u00e4\\u20ac\\u0000\"",
    "\"Zürich 🙂\"",
    "[1.5,2.25,3.125,100,1e5]",
    "{\"é\":1,\"e\":2}",
    "[\"\x7f\"]",
};

TEST(PlainJson, ReadsWhatProgramsWriteAsTheLibraryDoes) {
  for (const std::string& text : usual) {
    EXPECT_TRUE(parse_plain_json(text)) << text;
    expect_agreement(text);
  }
}

TEST(PlainJson, LeavesTheUnusualToTheLibrary) {
  const std::array<std::string, 29> texts = {"",
                                             " ",
                                             "{",
                                             "[1,]",
                                             "{\"a\":1,}",
                                             "{\"a\":1,\"a\":2}",
                                             "01",
                                             "+1",
                                             ".5",
                                             "1.",
                                             "1e",
                                             "-",
                                             "1e999",
                                             "1e-999",
                                             "nan",
                                             "tru",
                                             "18446744073709551616",
                                             "\"\n\"",
                                             "\"\\x\"",
                                             "\"\\ud83d\\ude42\"",
                                             "\"\\u12\"",
                                             "\"\xff\"",
                                             "\"\xed\xa0\x80\"",
                                             "1 2",
                                             "{1:2}",
                                             "{\"a\" 1}",
                                             "[1 2]",
                                             "\xef\xbb\xbf{}",
                                             std::string("1\0", 2)};
  for (const std::string& text : texts) EXPECT_FALSE(parse_plain_json(text)) << text;
  EXPECT_FALSE(parse_plain_json(std::string(100, '[') + std::string(100, ']')));
  std::string many = "{";
  for (int k = 0; k < 100; ++k) many += "\"k" + std::to_string(k) + "\":0,";
  EXPECT_TRUE(parse_plain_json(many + "\"k\":0}"));
  EXPECT_FALSE(parse_plain_json(many + "\"k50\":0}"));
}

TEST(PlainJson, AgreesOnAlteredTexts) {
  Random random(11);
  const std::string letters = "{}[]\",:0123456789.-+eEtrufalsn\\ \n\t\x80\xc3\xa4x";
  for (int round = 0; round < 40000; ++round) {
    std::string text = usual[random.below(usual.size())];
    for (std::size_t change = 0; change < 1 + random.below(3); ++change) {
      const std::size_t at = random.below(text.size() + 1);
      const char letter = letters[random.below(letters.size())];
      if (random.below(2) == 0) {
        text.insert(at, 1, letter);
      } else if (at < text.size()) {
        text[at] = letter;
      }
    }
    expect_agreement(text);
  }
}

TEST(PlainJson, ReadsNumbersToTheLastBit) {
  Random random(12);
  for (int round = 0; round < 20000; ++round) {
    const double value = std::ldexp(random.normal(), static_cast<int>(random.below(600)) - 300);
    expect_agreement(fmt::format("[{},{:.25g},{:.3f}]", value, value, random.normal()));
  }
}

}  // namespace
}  // namespace ellice

#include "core/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ellice {
namespace {

/// The first `length` bytes of a code point spelled in that many bytes, allowed or not.
std::string spelled(std::uint32_t code, int length) {
  if (length == 1) return {static_cast<char>(code)};
  std::string text(static_cast<std::size_t>(length), '\0');
  for (int i = length - 1; i > 0; --i, code >>= 6) {
    text[static_cast<std::size_t>(i)] = static_cast<char>(0x80U | (code & 0x3FU));
  }
  text[0] = static_cast<char>((0xF00U >> static_cast<unsigned>(length)) | code);
  return text;
}

int shortest_length(std::uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

TEST(Utf8, IsEachCodePointInItsShortestSpellingAndNothingElse) {
  for (std::uint32_t code = 0; code < 0x200000; ++code) {
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    for (int length = shortest_length(code); length <= 4; ++length) {
      const bool is_valid = length == shortest_length(code) && !is_surrogate && code <= 0x10FFFF;
      ASSERT_EQ(!find_invalid_utf8(spelled(code, length)).has_value(), is_valid)
          << std::hex << code << " in " << length << " bytes";
    }
  }
}

TEST(Utf8, FaultIsFoundWhereItsCharacterBegins) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("café, 東京, 🏠"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("caf\xE9"), 3U);     // Latin-1
  EXPECT_EQ(find_invalid_utf8("é\x80"), 2U);       // a byte that continues nothing
  EXPECT_EQ(find_invalid_utf8("ab\xE6\x9D"), 2U);  // cut off
  EXPECT_EQ(find_invalid_utf8("ab\xE6\x9D"
                              "c"),
            2U);  // cut short
  EXPECT_EQ(find_invalid_utf8("\xFF"), 0U);
}

TEST(Utf8, TextIsCutAtACharacter) {
  EXPECT_EQ(shortened("plain", 5), "plain");
  EXPECT_EQ(shortened("plain", 4), "plai…");
  const std::string text = "aé東🏠";  // 1 + 2 + 3 + 4 bytes
  const std::vector<std::string> expected = {"…",     "a…",    "a…",    "aé…",   "aé…",  "aé…",
                                             "aé東…", "aé東…", "aé東…", "aé東…", "aé東🏠"};
  for (std::size_t longest = 0; longest < expected.size(); ++longest) {
    EXPECT_EQ(shortened(text, longest), expected[longest]) << longest;
  }
}

TEST(Utf8, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(visible("plain, ü, 漢, 🙂"), "plain, ü, 漢, 🙂");
  EXPECT_EQ(visible("a\x1b[31mb\ac\x7f"), "a\\x1B[31mb\\x07c\\x7F");
  EXPECT_EQ(visible("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(visible("a\u0085b\u009bc\u202ed\u2066e"), "a\\u0085b\\u009Bc\\u202Ed\\u2066e");
  EXPECT_EQ(visible(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible("a\x9b\xff"), "a\\x9B\\xFF");
  EXPECT_EQ(visible_lines("a\x1b\nb"), "a\\x1B\nb");
}

TEST(Utf8, ShowsEveryCharacterOrItsEscapeAndNoOther) {
  for (unsigned code = 0; code < 0x3000; ++code) {
    std::string text;
    if (code < 0x80) {
      text = {static_cast<char>(code)};
    } else if (code < 0x800) {
      text = {static_cast<char>(0xC0U | (code >> 6U)), static_cast<char>(0x80U | (code & 0x3FU))};
    } else {
      text = {static_cast<char>(0xE0U | (code >> 12U)),
              static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
              static_cast<char>(0x80U | (code & 0x3FU))};
    }
    const std::string shown = visible(text);
    if (shown == text) {
      EXPECT_GE(code, 0x20U);
      EXPECT_FALSE(code >= 0x7F && code < 0xA0) << code;
    } else {
      EXPECT_EQ(shown.front(), '\\') << code;
      EXPECT_EQ(visible(shown), shown);
    }
  }
}

}  // namespace
}  // namespace ellice

#include "core/utf8.hpp"

#include <fmt/format.h>

#include <array>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

bool is_ascii(std::string_view text) {
  unsigned char bits = 0;
  for (const char c : text) bits |= static_cast<unsigned char>(c);  // one pass that vectorises
  return bits < 0x80;
}

/// Lead bytes and what may stand second behind them; all further bytes are 0x80 to 0xBF. The narrow
/// ranges exclude overlong spellings, surrogates and what lies beyond U+10FFFF (RFC 3629, 4).
struct Sequence {
  unsigned char first_lead = 0;
  unsigned char last_lead = 0;
  unsigned char second_from = 0;
  unsigned char second_to = 0;
  std::size_t length = 0;
};
constexpr std::array<Sequence, 9> sequences = {{{0x00, 0x7F, 0, 0, 1},
                                                {0xC2, 0xDF, 0x80, 0xBF, 2},
                                                {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                                {0xE1, 0xEC, 0x80, 0xBF, 3},
                                                {0xED, 0xED, 0x80, 0x9F, 3},
                                                {0xEE, 0xEF, 0x80, 0xBF, 3},
                                                {0xF0, 0xF0, 0x90, 0xBF, 4},
                                                {0xF1, 0xF3, 0x80, 0xBF, 4},
                                                {0xF4, 0xF4, 0x80, 0x8F, 4}}};

/// The length of the character at the start of the text; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Sequence& sequence : sequences) {
    if (byte(0) < sequence.first_lead || byte(0) > sequence.last_lead) continue;
    if (text.size() < sequence.length) return 0;
    for (std::size_t i = 1; i < sequence.length; ++i) {
      const unsigned char from = i == 1 ? sequence.second_from : 0x80;
      const unsigned char to = i == 1 ? sequence.second_to : 0xBF;
      if (byte(i) < from || byte(i) > to) return 0;
    }
    return sequence.length;
  }
  return 0;
}

/// The code point of a character of one to four bytes.
unsigned code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  unsigned value = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) value = (value << 6U) | (byte(i) & 0x3FU);
  return value;
}

/// Whether a terminal would do something else than show it.
bool is_hidden(unsigned code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string escape(unsigned code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return code < 0x80 ? fmt::format("\\x{:02X}", code) : fmt::format("\\u{:04X}", code);
  }
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string result;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = character_length(text.substr(place));
    if (length == 0) {
      result += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[place]));
      ++place;
      continue;
    }
    const std::string_view character = text.substr(place, length);
    const unsigned code = code_point(character);
    if (is_hidden(code) && !(keep_lines && code == '\n')) {
      result += escape(code);
    } else {
      result += character;
    }
    place += length;
  }
  return result;
}

}  // namespace

std::string visible(std::string_view text) {
  return escaped(text, false);
}

std::string visible_lines(std::string_view text) {
  return escaped(text, true);
}

bool looks_like_utf16(std::string_view start) {
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) return true;
  // Of two bytes for an ASCII character one is zero, which no text has.
  const auto is_text = [](char c) { return c >= ' ' || c == '\t' || c == '\n' || c == '\r'; };
  return start.size() >= 2 && ((start[0] == '\0' && (start[1] == '\0' || is_text(start[1]))) ||
                               (start[1] == '\0' && is_text(start[0])));
}

void refuse_utf16(std::string_view start, const std::string& name) {
  require_input(!looks_like_utf16(start), "{}: the text is UTF-16; save the file as UTF-8", name);
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  if (is_ascii(text)) return std::nullopt;
  for (std::size_t place = 0; place < text.size();) {
    if (static_cast<unsigned char>(text[place]) < 0x80) {
      ++place;
      continue;
    }
    const std::size_t length = character_length(text.substr(place));
    if (length == 0) return place;
    place += length;
  }
  return std::nullopt;
}

std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  const auto is_inside = [&](std::size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U;
  };
  std::size_t end = longest;
  while (end > 0 && is_inside(end)) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace ellice

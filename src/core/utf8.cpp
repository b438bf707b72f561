#include "core/utf8.hpp"

#include <array>

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

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  if (is_ascii(text)) return std::nullopt;
  for (std::size_t place = 0; place < text.size();) {
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

}  // namespace ellice

#include "core/plain_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/stop.hpp"
#include "core/utf8.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

constexpr int deepest = 64;
// Of so few keys each is held against all others; of more, their sorted list is looked through.
constexpr std::size_t few = 32;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_distinct(const Json::object_t& entries) {
  if (entries.size() <= few) {
    for (auto one = entries.begin(); one != entries.end(); ++one) {
      for (auto other = entries.begin(); other != one; ++other)
        if (other->first == one->first) return false;
    }
    return true;
  }
  std::vector<std::string_view> keys;
  keys.reserve(entries.size());
  for (const auto& entry : entries) keys.emplace_back(entry.first);
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

/// Reads from the front of a text; false wherever it goes no farther.
class PlainParser {
 public:
  explicit PlainParser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  std::optional<Json> document() {
    Json root;
    skip_space();
    if (!value(root, 0)) return std::nullopt;
    skip_space();
    if (at_ != end_) return std::nullopt;
    return root;
  }

 private:
  /// A member on its way: objects and arrays are made when their size is known.
  struct Member {
    std::string key = {};
    Json value = {};
  };

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  /// The next character, if it is this one.
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    if (!std::string_view(at_, end_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  bool value(Json& out, int depth) {
    if (at_ == end_ || depth > deepest) return false;
    switch (*at_) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"': {
        std::string text;
        if (!string(text)) return false;
        out = std::move(text);
        return true;
      }
      case 't':
        out = true;
        return word("true");
      case 'f':
        out = false;
        return word("false");
      case 'n':
        out = nullptr;
        return word("null");
      default:
        return number(out);
    }
  }

  bool object(Json& out, int depth) {
    check_stop();
    ++at_;
    out = Json::object();
    skip_space();
    if (take('}')) return true;
    const std::size_t first = members_.size();
    do {
      skip_space();
      Member member;
      if (!string(member.key)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!value(member.value, depth + 1)) return false;
      members_.push_back(std::move(member));
      skip_space();
    } while (take(','));
    if (!take('}')) return false;
    auto& entries = out.get_ref<Json::object_t&>();
    entries.reserve(members_.size() - first);
    for (std::size_t k = first; k < members_.size(); ++k)
      entries.emplace_back(std::move(members_[k].key), std::move(members_[k].value));
    members_.resize(first);
    return is_distinct(entries);
  }

  bool array(Json& out, int depth) {
    check_stop();
    ++at_;
    out = Json::array();
    skip_space();
    if (take(']')) return true;
    const std::size_t first = items_.size();
    do {
      skip_space();
      Json item;
      if (!value(item, depth + 1)) return false;
      items_.push_back(std::move(item));
      skip_space();
    } while (take(','));
    if (!take(']')) return false;
    const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first);
    out.get_ref<Json::array_t&>().assign(std::move_iterator(begin),
                                         std::move_iterator(items_.end()));
    items_.resize(first);
    return true;
  }

  bool number(Json& out) {
    const char* const begin = at_;
    const bool is_negative = take('-');
    if (at_ == end_ || !is_digit(*at_)) return false;
    if (!take('0')) skip_digits();
    const bool has_fraction = take('.');
    if (has_fraction && !skip_digits()) return false;
    bool is_whole = !has_fraction;
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      is_whole = false;
      ++at_;
      if (!take('-')) (void)take('+');
      if (!skip_digits()) return false;
    }
    if (is_whole)
      return is_negative ? read<std::int64_t>(begin, out) : read<std::uint64_t>(begin, out);
    return read<double>(begin, out);
  }
  bool skip_digits() {
    const char* const begin = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != begin;
  }
  template <class T>
  bool read(const char* begin, Json& out) {
    T value = 0;
    const auto [end, code] = std::from_chars(begin, at_, value);
    if (code != std::errc() || end != at_) return false;
    out = value;
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    const char* from = at_;  // of what is not yet copied
    bool is_ascii = true;
    while (at_ != end_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') {
        out.append(from, at_);
        ++at_;
        return is_ascii || !find_invalid_utf8(out);
      }
      if (byte < 0x20) return false;
      if (byte == '\\') {
        out.append(from, at_);
        ++at_;
        if (!escape(out)) return false;
        from = at_;
        continue;
      }
      is_ascii = is_ascii && byte < 0x80;
      ++at_;
    }
    return false;
  }

  bool escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (at_ == end_) return false;
    const char letter = *at_++;
    if (letter == 'u') return code_point(out);
    const std::size_t known = letters.find(letter);
    if (known == std::string_view::npos) return false;
    out += meanings[known];
    return true;
  }

  bool code_point(std::string& out) {
    unsigned code = 0;
    if (end_ - at_ < 4) return false;
    const auto [end, error] = std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc() || end != at_ + 4 || (code >= 0xD800 && code < 0xE000)) return false;
    at_ = end;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0U | (code >> 6U));
      out += static_cast<char>(0x80U | (code & 0x3FU));
    } else {
      out += static_cast<char>(0xE0U | (code >> 12U));
      out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
      out += static_cast<char>(0x80U | (code & 0x3FU));
    }
    return true;
  }

  const char* at_;
  const char* end_;
  std::vector<Member> members_ = {};  // of objects that have begun and not ended
  std::vector<Json> items_ = {};      // of arrays, likewise
};

}  // namespace

std::optional<Json> parse_plain_json(std::string_view text) {
  return PlainParser(text).document();
}

}  // namespace ellice

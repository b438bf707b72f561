#include "ellice/data/rule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "data/digit.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : text_(text) { rule_.text = text; }

  Rule parse() {
    parse_side(+1);
    rule_.relation = parse_relation();
    parse_side(-1);
    if (peek() != '\0') {
      wrong(is_relation(peek()) ? "the end: a rule has one relation" : "+, - or the end");
    }
    std::erase_if(rule_.terms, [](const auto& term) { return term.second == 0; });
    require_input(!rule_.terms.empty(),
                  "rule \"{}\": no feature is left in it, expected at least one, as in "
                  "\"debt <= 0.4 * income\"",
                  text_);
    for (const auto& [name, coefficient] : rule_.terms) check_finite(coefficient);
    check_finite(rule_.bound);
    return std::move(rule_);
  }

 private:
  /// One sum. Everything is brought to the left of the relation, numbers to its right: `side` is +1
  /// for what stands on the left and -1 for what stands on the right.
  void parse_side(double side) {
    double sign = side;
    if (peek() == '+' || peek() == '-') sign *= take_sign();
    while (true) {
      parse_term(sign);
      if (peek() != '+' && peek() != '-') return;
      sign = side * take_sign();
    }
  }

  double take_sign() { return text_[position_++] == '-' ? -1.0 : 1.0; }

  void parse_term(double coefficient) {
    std::optional<std::string> feature;
    while (true) {
      const char next = peek();
      if (is_digit(next) || next == '.') {
        coefficient *= parse_number();
      } else if (is_letter(next) || next == '`') {
        const std::size_t start = position_;
        std::string name = parse_name();
        if (feature) {
          position_ = start;
          wrong("a number: a rule is linear, it cannot multiply two features");
        }
        feature = std::move(name);
      } else {
        wrong("a number or a feature");
      }
      if (peek() != '*') break;
      ++position_;
    }
    if (feature) {
      add_term(*feature, coefficient);
    } else {
      rule_.bound -= coefficient;
    }
  }

  double parse_number() {
    double value = 0;
    const char* const first = text_.data() + position_;
    const auto [end, code] = std::from_chars(first, text_.data() + text_.size(), value);
    if (code != std::errc() || !std::isfinite(value)) wrong("a finite number");
    position_ += static_cast<std::size_t>(end - first);
    return value;
  }

  std::string parse_name() {
    if (text_[position_] == '`') {
      const std::size_t end = text_.find('`', position_ + 1);
      if (end == std::string_view::npos || end == position_ + 1) {
        wrong("a feature's name between two back quotes");
      }
      const std::string_view name = text_.substr(position_ + 1, end - position_ - 1);
      position_ = end + 1;
      return std::string(name);
    }
    const std::size_t start = position_;
    while (position_ < text_.size() &&
           (is_letter(text_[position_]) || is_digit(text_[position_]))) {
      ++position_;
    }
    return std::string(text_.substr(start, position_ - start));
  }

  Rule::Relation parse_relation() {
    peek();
    const std::string_view written = text_.substr(position_, 2);
    position_ += 2;
    if (written == "<=") return Rule::Relation::at_most;
    if (written == ">=") return Rule::Relation::at_least;
    if (written == "==") return Rule::Relation::equal;
    position_ -= 2;
    wrong("+, -, *, <=, >= or ==");
  }

  void add_term(const std::string& feature, double coefficient) {
    const auto same = [&](const auto& term) { return term.first == feature; };
    const auto found = std::find_if(rule_.terms.begin(), rule_.terms.end(), same);
    if (found == rule_.terms.end()) {
      rule_.terms.emplace_back(feature, coefficient);
    } else {
      found->second += coefficient;
    }
  }

  static bool is_relation(char c) { return c == '<' || c == '>' || c == '='; }

  /// The next character that is not a blank, or NUL at the end.
  char peek() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) {
      ++position_;
    }
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  void check_finite(double number) const {
    require_input(std::isfinite(number), "rule \"{}\": its numbers overflow double precision",
                  text_);
  }

  [[noreturn]] void wrong(std::string_view expected) const {
    const std::string_view rest = text_.substr(position_);
    const std::string found =
        rest.empty() ? "the end" : fmt::format("\"{}\"", rest.substr(0, rest.find(' ')));
    fail(ErrorCode::input, "rule \"{}\": at character {}: found {}, expected {}{}", text_,
         position_ + 1, found, expected,
         !rest.empty() && static_cast<unsigned char>(rest[0]) >= 0x80
             ? "; a name that is not a plain identifier stands in back quotes"
             : "");
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Rule rule_;
};

}  // namespace

Rule parse_rule(std::string_view text) {
  return RuleParser(text).parse();
}

}  // namespace ellice

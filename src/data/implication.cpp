#include <charconv>
#include <cmath>
#include <optional>

#include "ellice/core/error.hpp"
#include "ellice/data/rule.hpp"

namespace ellice {

namespace {

/// The words of an implication, and quoted names, with the places where they begin.
class ImplicationParser {
 public:
  explicit ImplicationParser(std::string_view text) : text_(text) {}

  Implication parse() {
    Implication result{.text = std::string(text_)};
    expect("if");
    result.condition = parse_move(true);
    expect("then");
    result.consequence = parse_move(false);
    advance();
    if (!word_.empty()) wrong("the end");
    return result;
  }

 private:
  Move parse_move(bool condition) {
    Move move;
    move.feature = name("a feature");
    advance();
    const std::optional<Move::Kind> kind =
        quoted_ ? std::nullopt : enum_from_name<Move::Kind>(word_);
    const bool allowed = kind && *kind != (condition ? Move::Kind::stays : Move::Kind::changes);
    if (!allowed) {
      wrong(condition ? "rises, falls, changes or becomes" : "rises, falls, stays or becomes");
    }
    move.kind = *kind;
    if (move.kind == Move::Kind::becomes) move.level = name("a level");
    const bool directed = move.kind == Move::Kind::rises || move.kind == Move::Kind::falls;
    if (condition || !directed) return move;
    const std::size_t before = position_;
    advance();
    if (word_ != "by") {
      position_ = before;
      return move;
    }
    expect("at");
    expect("least");
    move.by = number();
    return move;
  }

  void expect(std::string_view word) {
    advance();
    if (quoted_ || word_ != word) wrong(word);
  }

  std::string name(std::string_view what) {
    advance();
    if (word_.empty()) wrong(what);
    return std::string(word_);
  }

  double number() {
    advance();
    double value = 0;
    const auto [end, code] = std::from_chars(word_.data(), word_.data() + word_.size(), value);
    if (code != std::errc() || end != word_.data() + word_.size() || !std::isfinite(value) ||
        !(value > 0)) {
      wrong("a number > 0");
    }
    return value;
  }

  /// To the next word or quoted name; empty at the end.
  void advance() {
    position_ = std::min(text_.find_first_not_of(" \t,", position_), text_.size());
    start_ = position_;
    const char quote = position_ < text_.size() ? text_[position_] : ' ';
    quoted_ = quote == '`' || quote == '"';
    if (quoted_) {
      const std::size_t end = text_.find(quote, position_ + 1);
      if (end == std::string_view::npos || end == position_ + 1) {
        word_ = text_.substr(position_);
        wrong("a name between two quotes");
      }
      word_ = text_.substr(position_ + 1, end - position_ - 1);
      position_ = end + 1;
      return;
    }
    const std::size_t end = std::min(text_.find_first_of(" \t,", position_), text_.size());
    word_ = text_.substr(position_, end - position_);
    position_ = end;
  }

  [[noreturn]] void wrong(std::string_view expected) const {
    fail(ErrorCode::input, "rule \"{}\": at character {}: found {}, expected {}", text_, start_ + 1,
         word_.empty() ? std::string("the end") : fmt::format("\"{}\"", word_), expected);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t start_ = 0;
  std::string_view word_;
  bool quoted_ = false;
};

}  // namespace

bool is_implication(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  const std::string_view rest = text.substr(start);
  return rest == "if" || rest.starts_with("if ") || rest.starts_with("if\t") ||
         rest.starts_with("if`") || rest.starts_with("if\"");
}

Implication parse_implication(std::string_view text) {
  return ImplicationParser(text).parse();
}

}  // namespace ellice

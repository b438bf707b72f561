#include "report/markup_place.hpp"

#include <algorithm>
#include <array>

namespace ellice {

namespace {

// Attributes that browsers only show or compare.
constexpr std::array<std::string_view, 6> words = {"alt", "class", "datetime",
                                                   "id",  "lang",  "title"};
// Elements whose content is read by rules of its own.
constexpr std::array<std::string_view, 12> unknown_elements = {
    "iframe",    "math",   "noembed", "noframes", "noscript", "object",
    "plaintext", "script", "svg",     "template", "textarea", "xmp"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool is_letter(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}

bool contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool MarkupPlace::takes_escaped_text() const {
  if (state_ == State::text || state_ == State::title) return true;
  return state_ == State::value && quote_ != 0 && contains(words, attribute_);
}

void MarkupPlace::follow(std::string_view markup) {
  for (const char c : markup) step(c);
}

void MarkupPlace::end_tag() {
  last_.clear();
  if (unknown_.empty() && contains(unknown_elements, name_)) unknown_ = name_;
  state_ = name_ == "style" ? State::style : name_ == "title" ? State::title : State::text;
}

void MarkupPlace::step(char c) {
  switch (state_) {
    case State::text:
      if (c != '<') return;
      name_.clear();
      state_ = State::tag_name;
      return;
    case State::tag_name:
      return step_tag_name(c);
    case State::tag:
      if (c == '>') return end_tag();
      if (is_blank(c) || c == '/') return;
      attribute_.assign(1, lower(c));
      state_ = State::attribute;
      return;
    case State::attribute:
    case State::after_name:
      return step_attribute(c);
    case State::before_value:
    case State::value:
      return step_value(c);
    case State::remark:
      last_ = (last_ + c).substr(last_.size() < 4 ? 0 : 1);
      if (last_.ends_with("-->") || last_ == "--!>") state_ = State::text;
      return;
    case State::declaration:
      if (c == '>') state_ = State::text;
      return;
    case State::style:
    case State::title:
      return step_content(c);
  }
}

void MarkupPlace::step_tag_name(char c) {
  if (name_.empty() && !is_letter(c) && c != '/' && c != '!' && c != '?') {
    state_ = State::text;  // a bare < in the text
    return step(c);
  }
  if (c == '>') return end_tag();
  if (name_ == "/" && !is_letter(c)) {
    state_ = State::declaration;
    return;
  }
  const bool declares = name_.starts_with('!') || name_.starts_with('?');
  if (declares && name_ + c == "!--") {
    last_ = "--";  // <!--> is a whole remark
    state_ = State::remark;
  } else if (declares && name_ + c != "!-") {
    state_ = State::declaration;
  } else if (is_blank(c) || (c == '/' && !name_.empty())) {
    state_ = State::tag;
  } else {
    name_ += lower(c);
  }
}

void MarkupPlace::step_attribute(char c) {
  if (c == '>') return end_tag();
  if (c == '=') {
    state_ = State::before_value;
  } else if (is_blank(c)) {
    state_ = State::after_name;
  } else if (c == '/') {
    state_ = State::tag;
  } else if (state_ == State::after_name) {
    attribute_.assign(1, lower(c));
    state_ = State::attribute;
  } else {
    attribute_ += lower(c);
  }
}

void MarkupPlace::step_value(char c) {
  if (state_ == State::before_value) {
    if (is_blank(c)) return;
    if (c == '>') return end_tag();
    quote_ = c == '"' || c == '\'' ? c : '\0';
    state_ = State::value;
    return;
  }
  if (quote_ != 0 ? c == quote_ : is_blank(c)) {
    state_ = State::tag;
  } else if (quote_ == 0 && c == '>') {
    end_tag();
  }
}

void MarkupPlace::step_content(char c) {
  const std::string end = "</" + name_;
  const bool is_end = last_ == end && (is_blank(c) || c == '/' || c == '>');
  last_ += lower(c);
  if (last_.size() > end.size()) last_.erase(0, 1);
  if (!is_end) return;
  name_ = "/" + name_;
  state_ = State::tag;
  step(c);
}

}  // namespace ellice

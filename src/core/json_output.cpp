#include "core/json_output.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>

#include "core/append_number.hpp"
#include "core/utf8.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

// Numbers that a writer of text remembers.
constexpr int lately_bits = 7;
constexpr std::size_t lately = 1U << lately_bits;

/// Whether a text stands in JSON as it is, between quotes.
bool is_plain(std::string_view text) {
  unsigned special = 0;
  for (const char c : text) {  // one pass that vectorises
    const auto byte = static_cast<unsigned char>(c);
    special |= static_cast<unsigned>(byte < 0x20) | static_cast<unsigned>(byte >= 0x80) |
               static_cast<unsigned>(byte == '"') | static_cast<unsigned>(byte == '\\');
  }
  return special == 0;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  }
}

void append_text(std::string& out, std::string_view text) {
  out += '"';
  if (is_plain(text)) {
    out += text;
  } else {
    if (find_invalid_utf8(text)) {
      fail(ErrorCode::input, "text is not UTF-8: «{}»; save the file as UTF-8",
           Json(std::string(text)).dump(-1, ' ', true, Json::error_handler_t::replace));
    }
    std::size_t from = 0;  // of what is not yet copied
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
      out += text.substr(from, i - from);
      append_escape(out, text[i]);
      from = i + 1;
    }
    out += text.substr(from);
  }
  out += '"';
}

template <class T>
void append_whole(std::string& out, T value) {
  std::array<char, 24> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), end);
}

bool is_flat(const Json& array) {
  return std::none_of(array.begin(), array.end(), [](const Json& v) { return v.is_structured(); });
}

}  // namespace

void write_json(JsonOutput& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      out.begin_object();
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        out.key(key);
        write_json(out, member);
      }
      out.end_object();
      return;
    case Json::value_t::array:
      out.begin_array(is_flat(value) ? JsonOutput::Items::scalars : JsonOutput::Items::structures);
      for (const Json& item : value) write_json(out, item);
      out.end_array();
      return;
    case Json::value_t::string:
      out.text(value.get_ref<const std::string&>());
      return;
    case Json::value_t::boolean:
      out.flag(value.get<bool>());
      return;
    case Json::value_t::number_integer:
      out.whole(value.get<std::int64_t>());
      return;
    case Json::value_t::number_unsigned:
      out.whole(value.get<std::uint64_t>());
      return;
    case Json::value_t::number_float:
      out.number(value.get<double>());
      return;
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      out.null();
  }
}

void write_json_without(JsonOutput& out, const Json& object, std::string_view name) {
  out.begin_object();
  for (const auto& [key, member] : object.get_ref<const Json::object_t&>()) {
    if (key == name) continue;
    out.key(key);
    write_json(out, member);
  }
  out.end_object();
}

JsonText::JsonText(std::string& out, Style style, int depth)
    : out_(&out), style_(style), depth_(depth), spelled_(lately) {}

void JsonText::new_line() {
  *out_ += '\n';
  out_->append(2 * (static_cast<std::size_t>(depth_) + open_.size()), ' ');
}

void JsonText::separate() {
  if (open_.empty() || open_.back().is_object) return;
  Open& array = open_.back();
  if (!array.is_empty) *out_ += ',';
  if (array.on_lines) {
    new_line();
  } else if (style_ == Style::indented && !array.is_empty) {
    *out_ += ' ';
  }
  array.is_empty = false;
}

void JsonText::begin(Open open, char bracket) {
  separate();
  *out_ += bracket;
  open_.push_back(open);
}

void JsonText::end(char bracket) {
  const Open ended = open_.back();
  open_.pop_back();
  if (ended.on_lines && !ended.is_empty) new_line();
  *out_ += bracket;
}

void JsonText::begin_object() {
  begin({.on_lines = style_ == Style::indented, .is_object = true, .first_member = members_.size()},
        '{');
}

void JsonText::end_object() {
  if (style_ == Style::canonical) sort_members(open_.back().first_member);
  end('}');
}

void JsonText::begin_array(Items items) {
  begin({.on_lines = style_ == Style::indented && items == Items::structures}, '[');
}

void JsonText::end_array() {
  end(']');
}

void JsonText::key(std::string_view name) {
  Open& object = open_.back();
  assert(object.is_object);
  if (!object.is_empty) *out_ += ',';
  object.is_empty = false;
  if (style_ == Style::indented) new_line();
  if (style_ == Style::canonical) members_.push_back({.key = name, .begin = out_->size()});
  append_text(*out_, name);
  *out_ += style_ == Style::indented ? std::string_view(": ") : std::string_view(":");
}

void JsonText::sort_members(std::size_t first) {
  const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto before = [](const Member& a, const Member& b) { return a.key < b.key; };
  if (!std::is_sorted(begin, members_.end(), before)) {
    // Members are separated by one comma each; the last has none behind it.
    const std::size_t start = begin->begin;
    const std::size_t stop = out_->size();
    std::vector<std::pair<Member, std::size_t>> spans;  // with where each ends
    for (auto member = begin; member != members_.end(); ++member) {
      const auto next = member + 1;
      spans.emplace_back(*member, next == members_.end() ? stop : next->begin - 1);
    }
    std::sort(spans.begin(), spans.end(),
              [&](const auto& a, const auto& b) { return before(a.first, b.first); });
    sorted_.clear();
    for (const auto& [member, last] : spans) {
      if (!sorted_.empty()) sorted_ += ',';
      sorted_.append(*out_, member.begin, last - member.begin);
    }
    out_->replace(start, stop - start, sorted_);
  }
  members_.erase(begin, members_.end());
}

void JsonText::number(double value) {
  separate();
  const auto bits = std::bit_cast<std::uint64_t>(value);
  Spelled& known = spelled_[(bits * 0x9E3779B97F4A7C15U) >> (64 - lately_bits)];
  if (known.value == value && value != 0) {
    out_->append(known.text.data(), known.size);
    return;
  }
  const std::size_t begin = out_->size();
  append_number(*out_, value);
  known.value = value;
  known.size = out_->copy(known.text.data(), known.text.size(), begin);
}

void JsonText::whole(std::int64_t value) {
  separate();
  append_whole(*out_, value);
}

void JsonText::whole(std::uint64_t value) {
  separate();
  append_whole(*out_, value);
}

void JsonText::flag(bool value) {
  separate();
  *out_ += value ? "true" : "false";
}

void JsonText::text(std::string_view value) {
  separate();
  append_text(*out_, value);
}

void JsonText::null() {
  separate();
  *out_ += "null";
}

JsonTree::JsonTree() : root_(Json()) {}
JsonTree::~JsonTree() = default;

Json JsonTree::take() {
  assert(open_.empty());
  return std::move(*root_);
}

Json& JsonTree::add(Json value) {
  if (open_.empty()) return *root_ = std::move(value);
  Json& parent = *open_.back();
  if (parent.is_object()) return parent[key_] = std::move(value);
  parent.push_back(std::move(value));
  return parent.back();
}

void JsonTree::begin_object() {
  open_.push_back(&add(Json::object()));
}

void JsonTree::end_object() {
  open_.pop_back();
}

void JsonTree::begin_array(Items /*items*/) {
  open_.push_back(&add(Json::array()));
}

void JsonTree::end_array() {
  open_.pop_back();
}

void JsonTree::key(std::string_view name) {
  key_ = name;
}

void JsonTree::number(double value) {
  add(value);
}

void JsonTree::whole(std::int64_t value) {
  add(value);
}

void JsonTree::whole(std::uint64_t value) {
  add(value);
}

void JsonTree::flag(bool value) {
  add(value);
}

void JsonTree::text(std::string_view value) {
  add(std::string(value));
}

void JsonTree::null() {
  add(nullptr);
}

}  // namespace ellice

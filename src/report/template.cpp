#include "report/template.hpp"

#include <algorithm>
#include <optional>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/schema.hpp"
#include "report/markup_place.hpp"
#include "report/svg.hpp"

namespace ellice {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Deeper lists than any page has; keeps a hostile template from exhausting the stack.
constexpr std::size_t deepest = 16;

}  // namespace

class Template::Reader {
 public:
  Reader(std::string_view text, const std::string& source, const TemplateFields& fields)
      : text_(text), source_(source), around_{&fields} {}

  std::vector<Part> read() {
    if (const std::optional<std::size_t> at = find_invalid_utf8(text_)) fault(*at, "not UTF-8");
    std::vector<Part> parts = read_until({}, 0);
    if (!place_.is_text())
      fault(text_.size(), "the last tag, remark, script or style is not closed");
    return parts;
  }

 private:
  template <class... Args>
  [[noreturn]] void fault(std::size_t at, fmt::format_string<Args...> text, Args&&... args) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    fail(ErrorCode::input, "{}:{}: {}", source_, line,
         fmt::format(text, std::forward<Args>(args)...));
  }

  /// Up to the end of the list `name`, which opened at `opened`, or of the text.
  std::vector<Part> read_until(std::string_view name, std::size_t opened) {
    std::vector<Part> parts;
    while (true) {
      const std::size_t start = std::min(text_.find("{{", at_), text_.size());
      if (start > at_) {
        const std::string_view literal = text_.substr(at_, start - at_);
        place_.follow(literal);
        if (!place_.unknown_element().empty())
          fault(start, "<{}> has no place in a template", place_.unknown_element());
        parts.push_back({.text = std::string(literal)});
      }
      at_ = start;
      if (start == text_.size()) {
        if (!name.empty()) fault(opened, "{{{{#{}}}}} is never closed by {{{{/{}}}}}", name, name);
        return parts;
      }
      const std::size_t end = text_.find("}}", start);
      if (end == std::string_view::npos) fault(start, "{{{{ without }}}}");
      std::string_view inner = trimmed(text_.substr(start + 2, end - start - 2));
      at_ = end + 2;
      const char sign = inner.empty() ? '\0' : inner.front();
      if (sign == '!') continue;
      if (sign == '{' || sign == '&' || sign == '>' || sign == '=')
        fault(start,
              "\"{{{{{}\" is not understood: every field is escaped, and there are no other files",
              sign);
      if (sign == '#' || sign == '^' || sign == '/') inner = trimmed(inner.substr(1));
      if (sign == '/') {
        check_end(start, inner, name);
        return parts;
      }
      parts.push_back(sign == '#' || sign == '^' ? list(start, sign, inner) : field(start, inner));
    }
  }

  void check_end(std::size_t at, std::string_view found, std::string_view name) const {
    if (name.empty()) fault(at, "{{{{/{}}}}} closes nothing", found);
    if (found != name) fault(at, "{{{{/{}}}}} stands where {{{{/{}}}}} is expected", found, name);
    check_between_tags(at, found);
  }

  void check_between_tags(std::size_t at, std::string_view name) const {
    if (!place_.is_text())
      fault(at,
            "field \"{}\": lists and conditions begin and end between tags, not inside of a tag, "
            "remark, script or style",
            name);
  }

  Part field(std::size_t at, std::string_view name) const {
    const bool known = std::any_of(around_.begin(), around_.end(), [&](const auto* fields) {
      return fields->texts.contains(name);
    });
    if (!known) unknown(at, name);
    if (!place_.takes_escaped_text())
      fault(at,
            "field \"{}\" stands in a tag, remark, script or style; fields are for the text "
            "between tags and for quoted values of alt, class, datetime, id, lang and title",
            name);
    return {.kind = Part::Kind::field, .text = std::string(name)};
  }

  Part list(std::size_t at, char sign, std::string_view name) {
    const TemplateFields* inner = nullptr;
    for (const TemplateFields* const fields : around_) {
      const auto found = fields->lists.find(name);
      if (found != fields->lists.end()) inner = &found->second;
    }
    if (inner == nullptr) unknown(at, name);
    check_between_tags(at, name);
    if (around_.size() > deepest)
      fault(at, "field \"{}\": more than {} lists inside of each other", name, deepest);
    Part part{.kind = sign == '#' ? Part::Kind::each : Part::Kind::none, .text = std::string(name)};
    const TemplateFields nothing;
    around_.push_back(sign == '#' ? inner : &nothing);
    part.inside = read_until(name, at);
    around_.pop_back();
    return part;
  }

  [[noreturn]] void unknown(std::size_t at, std::string_view name) const {
    std::set<std::string> known;
    std::set<std::string> other;
    for (const TemplateFields* const fields : around_) {
      known.insert(fields->texts.begin(), fields->texts.end());
      for (const auto& [list, inside] : fields->lists) {
        known.insert(list);
        if (inside.texts.contains(name) || inside.lists.contains(name)) other.insert(list);
      }
    }
    if (!other.empty())
      fault(at, "field \"{}\" is known inside of {{{{#{}}}}} only", name, *other.begin());
    if (known.contains(std::string(name)))
      fault(at, "field \"{}\" is a text where a list is expected, or a list where a text is", name);
    fault(at, "unknown field \"{}\"; {}", shortened(name, 40),
          suggestion(name, std::vector<std::string>(known.begin(), known.end())));
  }

  std::string_view text_;
  const std::string& source_;
  std::vector<const TemplateFields*> around_;  // the innermost last
  std::size_t at_ = 0;
  MarkupPlace place_;
};

Template::Template(std::string_view text, const std::string& source, const TemplateFields& fields)
    : parts_(Reader(text, source, fields).read()) {}

std::string Template::render(const TemplateValues& values) const {
  std::string out;
  std::vector<const TemplateValues*> around{&values};
  render(parts_, around, out);
  return out;
}

void Template::render(const std::vector<Part>& parts, std::vector<const TemplateValues*>& around,
                      std::string& out) {
  // The innermost that has the name.
  const auto find = [&](const std::string& name, auto member) {
    const auto holder = std::find_if(around.rbegin(), around.rend(), [&](const auto* values) {
      return (values->*member).contains(name);
    });
    return holder == around.rend() ? nullptr : &(*holder->*member).find(name)->second;
  };
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::literal) {
      out += part.text;
    } else if (part.kind == Part::Kind::field) {
      if (const std::string* const text = find(part.text, &TemplateValues::texts))
        out += svg::escape(*text);
    } else {
      const auto* const entries = find(part.text, &TemplateValues::lists);
      const bool empty = entries == nullptr || entries->empty();
      if (part.kind == Part::Kind::none) {
        if (empty) render(part.inside, around, out);
        continue;
      }
      if (empty) continue;
      for (const TemplateValues& entry : *entries) {
        around.push_back(&entry);
        render(part.inside, around, out);
        around.pop_back();
      }
    }
  }
}

}  // namespace ellice

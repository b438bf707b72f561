#pragma once

// Pages from templates that users write, in a small part of Mustache: {{name}}, {{#name}}…{{/name}}
// for each entry of a list, {{^name}}…{{/name}} where there is none, {{! a remark}}. Whatever is
// filled in is escaped, and only places where that is enough are allowed, so that no value can
// become markup.

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ellice {

/// The names that a template may use; inside of a list also those around it.
struct TemplateFields {
  std::set<std::string, std::less<>> texts = {};
  std::map<std::string, TemplateFields, std::less<>> lists = {};
};

/// What is filled in. A condition is a list of one or no entry.
struct TemplateValues {
  std::map<std::string, std::string, std::less<>> texts = {};
  std::map<std::string, std::vector<TemplateValues>, std::less<>> lists = {};
};

class Template {
 public:
  /// Checks all of the text, which came from `source`. Throws Error{input} naming file, line and
  /// field: a name that `fields` lacks, lists that are not closed in order, and fields where
  /// escaped text could still do something: in scripts, styles, remarks, and in tags outside of the
  /// quoted value of a harmless attribute.
  Template(std::string_view text, const std::string& source, const TemplateFields& fields);

  /// Texts and lists that `values` lacks are empty.
  [[nodiscard]] std::string render(const TemplateValues& values) const;

 private:
  struct Part {
    enum class Kind { literal, field, each, none } kind = Kind::literal;
    std::string text = {};          // literal text, or the name
    std::vector<Part> inside = {};  // of each and none
  };
  class Reader;

  static void render(const std::vector<Part>& parts, std::vector<const TemplateValues*>& around,
                     std::string& out);

  std::vector<Part> parts_;
};

}  // namespace ellice

#pragma once

// YAML that people write, read strictly: typed values, no unknown and no repeated keys, and errors
// that name file, line, key, what was found and what was expected.

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/core/fields.hpp"

namespace ellice {

class YamlEntry;

/// One document; its entries point into it.
class YamlDocument {
 public:
  enum class Lines { show, hide };

  YamlDocument(const std::string& text, std::string source, Lines lines = Lines::show);

  [[nodiscard]] YamlEntry top() const;
  /// «FILE:LINE» for messages, or «FILE» where lines mean nothing.
  [[nodiscard]] std::string place(const YAML::Mark& mark) const;

 private:
  /// Throws unless the text is one document; ends on every text.
  void check_single(const std::string& text) const;

  std::string source_;
  Lines lines_;
  YAML::Node root_;
};

/// One value of a document and the keys that lead to it.
class YamlEntry {
 public:
  /// `mark` is where messages point: to the key, for a member of a map.
  YamlEntry(const YamlDocument& document, const YAML::Node& node, const YAML::Mark& mark,
            std::string path)
      : document_(&document), node_(node), mark_(mark), path_(std::move(path)) {}

  /// A scalar as it is written: `yes` and `1` stay "yes" and "1".
  [[nodiscard]] std::string text(std::string_view expected = "a text") const;
  [[nodiscard]] std::string filled_text(std::string_view expected) const;  // not empty
  [[nodiscard]] double number(std::string_view expected = "a finite number") const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] bool is_null() const { return node_.IsNull(); }
  [[nodiscard]] bool is_list() const { return node_.IsSequence(); }
  [[nodiscard]] bool is_map() const { return node_.IsMap(); }
  [[nodiscard]] std::vector<YamlEntry> list(std::string_view expected) const;
  /// The members of a map, in order; a key that stands twice is refused.
  [[nodiscard]] std::vector<std::pair<std::string, YamlEntry>> members(
      std::string_view expected) const;

  template <class E>
  [[nodiscard]] E choice() const {
    const std::string expected = "one of " + join_names(EnumNames<E>::names);
    const std::optional<E> value = enum_from_name<E>(text(expected));
    if (!value) wrong(expected);
    return *value;
  }

  /// Throws: «FILE:LINE: path: found …, expected …».
  [[noreturn]] void wrong(std::string_view expected) const;
  /// Throws: «FILE:LINE: path: text».
  template <class... Args>
  [[noreturn]] void fault(fmt::format_string<Args...> text, Args&&... args) const {
    fail(ErrorCode::input, "{}: {}{}{}", document_->place(mark_), path_, path_.empty() ? "" : ": ",
         fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  [[nodiscard]] bool is_unquoted() const;

  const YamlDocument* document_;
  YAML::Node node_;
  YAML::Mark mark_;
  std::string path_;
};

/// A map all of whose keys are known.
class YamlRecord {
 public:
  YamlRecord(YamlEntry entry, const std::vector<std::string>& known, std::string_view expected);

  [[nodiscard]] const YamlEntry* find(std::string_view key) const;  // null if absent
  [[nodiscard]] const YamlEntry& at(std::string_view key, std::string_view expected) const;

 private:
  YamlEntry entry_;
  std::vector<std::pair<std::string, YamlEntry>> members_;
};

}  // namespace ellice

#pragma once

// A value's JSON, said piece by piece: what a type's file form is stands in one place, and its
// text (on a line, indented, for hashing) and its tree follow from it. Text is written straight
// away, without a tree.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

class JsonOutput {
 public:
  JsonOutput() = default;
  virtual ~JsonOutput() = default;
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;
  JsonOutput(JsonOutput&&) = delete;
  JsonOutput& operator=(JsonOutput&&) = delete;

  virtual void begin_object() = 0;
  virtual void end_object() = 0;
  /// Indented text keeps arrays of scalars on one line.
  enum class Items { scalars, structures };
  virtual void begin_array(Items items) = 0;
  virtual void end_array() = 0;
  /// Of the value that follows; the name must stay where it is until the object ends.
  virtual void key(std::string_view name) = 0;
  virtual void number(double value) = 0;
  virtual void whole(std::int64_t value) = 0;
  virtual void whole(std::uint64_t value) = 0;
  virtual void flag(bool value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void null() = 0;

  /// A scalar, an enum with names, a text, a list of texts or a vector of numbers.
  template <class T>
  void value(const T& given) {
    if constexpr (std::is_same_v<T, bool>) {
      flag(given);
    } else if constexpr (std::is_enum_v<T>) {
      text(enum_name(given));
    } else if constexpr (std::is_floating_point_v<T>) {
      number(given);
    } else if constexpr (std::is_unsigned_v<T>) {
      whole(std::uint64_t{given});
    } else if constexpr (std::is_integral_v<T>) {
      whole(std::int64_t{given});
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      text(given);
    } else {
      begin_array(Items::scalars);
      for (const auto& item : given) value(item);
      end_array();
    }
  }
  template <class T>
  void put(std::string_view name, const T& given) {
    key(name);
    value(given);
  }
  /// The same where there is a value; nothing otherwise.
  template <class T>
  void put_if(std::string_view name, const T& given) {
    if (given) put(name, *given);
  }
};

/// A tree, piece by piece.
void write_json(JsonOutput& out, const Json& value);
/// An object without the member of that name.
void write_json_without(JsonOutput& out, const Json& object, std::string_view name);

/// Appends text to a string. Throws Error{input} for text that is not UTF-8.
class JsonText final : public JsonOutput {
 public:
  enum class Style {
    compact,    // on one line, without white space
    canonical,  // the same, with the keys of each object sorted by their bytes
    indented,   // by two spaces per level, the first line apart
  };
  /// `depth` is the level at which indented text stands in its file.
  JsonText(std::string& out, Style style, int depth = 0);

  void begin_object() override;
  void end_object() override;
  void begin_array(Items items) override;
  void end_array() override;
  void key(std::string_view name) override;
  void number(double value) override;
  void whole(std::int64_t value) override;
  void whole(std::uint64_t value) override;
  void flag(bool value) override;
  void text(std::string_view value) override;
  void null() override;

 private:
  /// An object or array that has begun and not ended.
  struct Open {
    bool is_empty = true;
    bool on_lines = false;  // its items stand on lines of their own
    bool is_object = false;
    std::size_t first_member = 0;  // in members_
  };
  /// Where a member of an object begins, for sorting.
  struct Member {
    std::string_view key = {};
    std::size_t begin = 0;
  };
  /// A number that was written lately.
  struct Spelled {
    double value = 0;  // 0, which is spelt at once, stands for none
    std::size_t size = 0;
    std::array<char, 32> text = {};
  };
  /// What stands between the item before and the next one.
  void separate();
  void begin(Open open, char bracket);
  void end(char bracket);
  void new_line();
  void sort_members(std::size_t first);

  std::string* out_;
  Style style_;
  int depth_;
  std::vector<Open> open_;
  std::vector<Member> members_;  // of the open objects, for sorting
  std::string sorted_;
  std::vector<Spelled> spelled_;  // records repeat most of their numbers
};

/// Builds a tree.
class JsonTree final : public JsonOutput {
 public:
  JsonTree();
  ~JsonTree() override;
  /// What was written, which must be whole.
  [[nodiscard]] Json take();

  void begin_object() override;
  void end_object() override;
  void begin_array(Items items) override;
  void end_array() override;
  void key(std::string_view name) override;
  void number(double value) override;
  void whole(std::int64_t value) override;
  void whole(std::uint64_t value) override;
  void flag(bool value) override;
  void text(std::string_view value) override;
  void null() override;

 private:
  Json& add(Json value);

  HeldJson root_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace ellice

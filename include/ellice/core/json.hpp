#pragma once

// JSON as our files use it: an envelope {"format", "version"}, numbers as the shortest decimal that
// reads back identically, no non-finite numbers, no unknown and no repeated keys. Errors name the
// file, the key, what was found and what was expected.

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

using Json = nlohmann::ordered_json;  // keys stay in the order in which a person would read them

/// The shortest decimal that reads back identically, in the layout of Python's repr except that
/// whole numbers carry no ".0". Throws Error{internal} for a number that is not finite.
[[nodiscard]] std::string number_text(double value);

/// Parses text that came from `source` (a file's name, for messages).
[[nodiscard]] Json parse_json(std::string_view text, const std::string& source);

/// For people and programs: indented; arrays of scalars stay on one line.
[[nodiscard]] std::string to_text(const Json& value);

/// On one line, in the order of the keys: a record of a JSON Lines file.
[[nodiscard]] std::string compact_text(const Json& value);

/// For hashing: keys sorted by their bytes, no white space. Python's
/// json.dumps(x, sort_keys=True, separators=(",", ":"), ensure_ascii=False) gives the same bytes.
[[nodiscard]] std::string canonical_text(const Json& value);

[[nodiscard]] Json make_envelope(std::string_view format, int version);

/// The value as it is shown in a message: JSON, cut after some forty characters.
[[nodiscard]] std::string shown(const Json& value);

[[nodiscard]] Json to_json_array(VectorArg values);
[[nodiscard]] Json to_json_rows(MatrixArg matrix);  // array of rows

/// One object being read: hands out typed values and remembers which keys were asked for, so that
/// finish() can name a key that nobody knows.
class JsonObject {
 public:
  /// `path` is the key under which the object stands in `source`; empty at the top.
  JsonObject(const Json& value, std::string source, std::string path = {});

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const Json& at(std::string_view key);  // error if absent
  [[nodiscard]] double number(std::string_view key);
  [[nodiscard]] std::int64_t integer(std::string_view key);
  [[nodiscard]] std::uint64_t seed(std::string_view key);
  [[nodiscard]] bool boolean(std::string_view key);
  [[nodiscard]] std::string string(std::string_view key);
  [[nodiscard]] std::vector<std::string> strings(std::string_view key);
  /// An array of finite numbers; of the given length, if one is given.
  [[nodiscard]] Vector vector(std::string_view key, std::optional<Index> size = {});
  /// An array of equally long rows of finite numbers, of the given size where one is given.
  [[nodiscard]] Matrix matrix(std::string_view key, std::optional<Index> rows = {},
                              std::optional<Index> columns = {});
  [[nodiscard]] JsonObject object(std::string_view key);
  [[nodiscard]] std::vector<JsonObject> objects(std::string_view key);

  template <class E>
  [[nodiscard]] E choice(std::string_view key) {
    const std::string name = string(key);
    const std::optional<E> value = enum_from_name<E>(name);
    if (!value) wrong(key, "one of " + join_names(EnumNames<E>::names));
    return *value;
  }

  /// Checks the envelope: the format must be this one and the version not newer than `newest`.
  int envelope(std::string_view format, int newest);

  /// Throws if a key was never asked for.
  void finish() const;

  /// Throws: «source: path.key: found …, expected …».
  [[noreturn]] void wrong(std::string_view key, std::string_view expected) const;

  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const Json& value() const { return *value_; }

 private:
  [[nodiscard]] std::string place(std::string_view key) const;

  const Json* value_;
  std::string source_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};

/// The fields of an options struct as a JSON object; absent optionals are left out.
template <class T>
[[nodiscard]] Json fields_to_json(const T& options) {
  Json result = Json::object();
  T::fields(options, [&]<class F>(std::string_view name, const F& value, const Range& /*range*/,
                                  std::string_view /*text*/) {
    const auto put = [&](const auto& present) {
      if constexpr (std::is_enum_v<std::decay_t<decltype(present)>>) {
        result[std::string(name)] = std::string(enum_name(present));
      } else {
        result[std::string(name)] = present;
      }
    };
    if constexpr (IsOptional<F>::value) {
      if (value) put(*value);
    } else {
      put(value);
    }
  });
  return result;
}

/// Reads the fields that are present into `options`; the others keep their values. Checks ranges
/// and unknown keys.
template <class T>
void fields_from_json(JsonObject object, T& options) {
  T::fields(options, [&]<class F>(std::string_view name, F& value, const Range& range,
                                  std::string_view /*text*/) {
    if (!object.has(name)) return;
    const auto get = [&]<class V>(V& target) {
      if constexpr (std::is_enum_v<V>) {
        target = object.choice<V>(name);
      } else if constexpr (std::is_same_v<V, bool>) {
        target = object.boolean(name);
      } else if constexpr (std::is_same_v<V, std::string>) {
        target = object.string(name);
      } else if constexpr (std::is_same_v<V, std::uint64_t>) {
        target = object.seed(name);
      } else if constexpr (std::is_same_v<V, std::vector<int>>) {
        target.clear();
        for (const double number : object.vector(name)) {
          if (number != std::floor(number) || std::abs(number) > std::numeric_limits<int>::max() ||
              !range.contains(number)) {
            object.wrong(name, "whole numbers, each " + range.text());
          }
          target.push_back(static_cast<int>(number));
        }
      } else if constexpr (std::is_integral_v<V>) {
        const std::int64_t number = object.integer(name);
        if (!std::in_range<V>(number) || !range.contains(static_cast<double>(number))) {
          object.wrong(name, "a whole number, " + range.text());
        }
        target = static_cast<V>(number);
      } else {
        target = object.number(name);
        if (!range.contains(target)) object.wrong(name, range.text());
      }
    };
    if constexpr (IsOptional<F>::value) {
      get(value.emplace());
    } else {
      get(value);
    }
  });
  object.finish();
}

}  // namespace ellice

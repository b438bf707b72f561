#pragma once

// JSON as our files use it: an envelope {"format", "version"}, numbers as the shortest decimal that
// reads back identically, no non-finite numbers, no unknown and no repeated keys. Errors name the
// file, the key, what was found and what was expected.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

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
  /// Of an options struct's field: inside the field's range.
  [[nodiscard]] double number(std::string_view key, const Range& range);
  [[nodiscard]] int whole_number(std::string_view key, const Range& range);
  [[nodiscard]] std::vector<int> whole_numbers(std::string_view key, const Range& range);
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
  mutable std::set<std::string, std::less<>> known_;  // also those that were only looked for
};

/// Puts values under their names into an object: the one place where fields become JSON.
class JsonFields {
 public:
  explicit JsonFields(Json& object) : object_(&object) {}

  void put(std::string_view name, bool value);
  void put(std::string_view name, std::int64_t value);
  void put(std::string_view name, std::uint64_t value);
  void put(std::string_view name, double value);
  void put(std::string_view name, std::string_view value);
  void put(std::string_view name, const std::vector<int>& value);

  template <class F>
  void put_field(std::string_view name, const F& value) {
    if constexpr (IsOptional<F>::value) {
      if (value) put_field(name, *value);
    } else if constexpr (std::is_enum_v<F>) {
      put(name, enum_name(value));
    } else if constexpr (std::is_same_v<F, std::string>) {
      put(name, std::string_view(value));
    } else if constexpr (std::is_same_v<F, int>) {
      put(name, std::int64_t{value});
    } else {
      put(name, value);
    }
  }

 private:
  Json* object_;
};

/// The fields of an options struct as a JSON object; absent optionals are left out.
template <class T>
[[nodiscard]] Json fields_to_json(const T& options) {
  Json result = Json::object();
  JsonFields target(result);
  T::fields(options, [&](std::string_view name, const auto& value, const Range& /*range*/,
                         std::string_view /*text*/) { target.put_field(name, value); });
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
        target = object.whole_numbers(name, range);
      } else if constexpr (std::is_same_v<V, int>) {
        target = object.whole_number(name, range);
      } else {
        target = object.number(name, range);
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

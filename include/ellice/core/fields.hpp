#pragma once

// One list of fields per options struct feeds the command line's flags, the JSON form, the checks
// and the generated reference (docs/reference/options.md). A struct lists its fields once:
//
//   static void fields(auto& self, auto&& visit) {
//     visit("l2", self.l2, at_least(0), "weight of the penalty (l2/2)·‖θ‖²");
//   }
//
// Field types: bool, int, std::uint64_t, double, std::string, enums with names (EnumNames),
// std::optional of these, and std::vector<int>, whose entries the range bounds.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ellice/core/error.hpp"

namespace ellice {

/// The numbers a field may hold; fields that are not numbers ignore it.
struct Range {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  bool lower_open = false;
  bool upper_open = false;

  [[nodiscard]] bool contains(double value) const {
    return std::isfinite(value) && (lower_open ? value > lower : value >= lower) &&
           (upper_open ? value < upper : value <= upper);
  }
  [[nodiscard]] std::string text() const;  // ">= 0", "in [0, 1)", "finite"
};

constexpr Range any_value() {
  return {};
}
constexpr Range at_least(double lower) {
  return {.lower = lower};
}
constexpr Range greater_than(double lower) {
  return {.lower = lower, .lower_open = true};
}
constexpr Range between(double lower, double upper) {
  return {.lower = lower, .upper = upper};
}
constexpr Range from_to_below(double lower, double upper) {
  return {.lower = lower, .upper = upper, .upper_open = true};
}

/// The spelling of an enum's values, in the order of its enumerators, which count from 0.
/// Specialise with `static constexpr std::array<std::string_view, N> names`.
template <class E>
struct EnumNames;

template <class E>
[[nodiscard]] std::string_view enum_name(E value) {
  return EnumNames<E>::names.at(static_cast<std::size_t>(value));
}

/// "logistic, squared": what a message offers instead.
[[nodiscard]] std::string join_names(std::span<const std::string_view> names);

template <class E>
[[nodiscard]] std::optional<E> enum_from_name(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i) {
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// A field's value as text: for messages and the reference. A list as the command line takes it.
template <class T>
[[nodiscard]] std::string field_text(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? field_text(*value) : "none";
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    return value.empty() ? "none" : fmt::format("{}", fmt::join(value, ","));
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(enum_name(value));
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
[[nodiscard]] std::string field_type() {
  if constexpr (IsOptional<T>::value) {
    return field_type<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    return "integers";
  } else if constexpr (std::is_enum_v<T>) {
    return join_names(EnumNames<T>::names);
  } else if constexpr (std::is_same_v<T, bool>) {
    return "flag";
  } else if constexpr (std::is_integral_v<T>) {
    return "integer";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "number";
  } else {
    return "text";
  }
}

struct FieldDescription {
  std::string name = {};
  std::string type = {};
  std::string default_value = {};
  std::string range = {};  // empty where any value of the type will do
  std::string text = {};
};

/// What the fields of T are, with the defaults of a T{}.
template <class T>
[[nodiscard]] std::vector<FieldDescription> describe_fields() {
  std::vector<FieldDescription> result;
  const T defaults = {};
  T::fields(defaults, [&]<class F>(std::string_view name, const F& value, const Range& range,
                                   std::string_view text) {
    const bool bounded = std::isfinite(range.lower) || std::isfinite(range.upper);
    result.push_back({.name = std::string(name),
                      .type = field_type<F>(),
                      .default_value = field_text(value),
                      .range = bounded ? range.text() : "",
                      .text = std::string(text)});
  });
  return result;
}

template <class F>
void validate_field(std::string_view owner, std::string_view name, const F& value,
                    const Range& range) {
  if constexpr (IsOptional<F>::value) {
    if (value) validate_field(owner, name, *value, range);
  } else if constexpr (std::is_same_v<F, std::vector<int>>) {
    for (const int entry : value) validate_field(owner, name, entry, range);
  } else if constexpr (std::is_arithmetic_v<F> && !std::is_same_v<F, bool>) {
    require(range.contains(static_cast<double>(value)), "{}.{} = {} must be {}", owner, name, value,
            range.text());
  }
}

/// Throws Error{argument} naming the first field that is out of its range.
template <class T>
void validate(const T& options, std::string_view owner) {
  T::fields(options, [&](std::string_view name, const auto& value, const Range& range,
                         std::string_view /*text*/) { validate_field(owner, name, value, range); });
}

}  // namespace ellice

#include "data/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/number_text.hpp"

namespace ellice {

namespace {

/// The double nearest to the number with so many digits that is nearest to a finite value.
double with_digits(double value, int significant) {
  std::array<char, 40> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::scientific, significant - 1);
  double result = value;
  std::from_chars(buffer.data(), end, result);
  return result;
}

}  // namespace

std::string display_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  std::string text = number_text(value);
  if (text.find('e') != std::string::npos) return text;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  std::size_t end = std::min(text.find('.'), text.size());
  while (end > first + 3) {
    end -= 3;
    text.insert(end, " ");
  }
  return text;
}

std::string display_rounded(double value, int significant) {
  return display_number(std::isfinite(value) ? with_digits(value, significant) : value);
}

std::string display_value(const Value& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr ? display_number(*number) : std::get<std::string>(value);
}

std::string display_value(const Feature& feature, const Value& value) {
  const auto* const level = std::get_if<std::string>(&value);
  if (level != nullptr) return feature.level_text(*level);
  const Bins::Code* const code =
      feature.is_binned() ? feature.bins.code(std::get<double>(value)) : nullptr;
  return code != nullptr ? code->text : display_value(value);
}

std::string display_start(const Value& from, const Value& to, int digits) {
  const double* start = std::get_if<double>(&from);
  const double* end = std::get_if<double>(&to);
  if (start == nullptr || end == nullptr || !std::isfinite(*start)) return display_value(from);
  // Whole digits stay: 1 234 567.125 is 1 234 567.
  const int whole =
      *start == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(*start)))) + 1;
  const double shown = with_digits(*start, std::clamp(whole, digits, 17));
  const bool same_side = *start == *end || (shown != *end && (shown < *end) == (*start < *end));
  return display_number(same_side ? shown : *start);
}

std::string display_start(const Feature& feature, const Value& from, const Value& to) {
  return std::holds_alternative<std::string>(from) ? display_value(feature, from)
                                                   : display_start(from, to);
}

std::string display_with_unit(const Feature& feature, const Value& value) {
  return display_value(feature, value) + (feature.unit.empty() ? "" : " " + feature.unit);
}

std::string display_points(double points) {
  return display_number(std::round(points * 100) / 100 + 0.0);
}

std::string display_percent(double share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  if (share < 1 && share >= 0.9995) return "> 99.9 %";
  return fmt::format("{:.1f} %", 100 * share);
}

std::string feature_label(const Feature& feature) {
  if (!feature.label.empty()) return feature.label;
  std::string label = feature.name;
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

}  // namespace ellice

#pragma once

// How numbers, values and features are spelt for people, the same in every text and on every page.

#include <string>

#include "ellice/data/schema.hpp"

namespace ellice {

/// All digits that the number has (it reads back identically), thousands grouped: 26 500, 0.125.
[[nodiscard]] std::string display_number(double value);

/// So many significant digits, thousands grouped: 1 230.
[[nodiscard]] std::string display_rounded(double value, int significant = 3);

[[nodiscard]] std::string display_value(const Value& value);
/// The same with the display text of a level, where the schema has one.
[[nodiscard]] std::string display_value(const Feature& feature, const Value& value);

/// A value that is told beside another: so many digits of a number tell enough (whole ones stay),
/// more where fewer would not show on which side of `to` it lies. Where a change leads is never
/// rounded: it is certified as shown.
[[nodiscard]] std::string display_start(const Value& from, const Value& to, int digits = 6);
[[nodiscard]] std::string display_start(const Feature& feature, const Value& from, const Value& to);

/// With the feature's unit, if it has one: 26 500 EUR/year.
[[nodiscard]] std::string display_with_unit(const Feature& feature, const Value& value);

/// Points of a scorecard, to two digits behind the point: 1 512, 37.25.
[[nodiscard]] std::string display_points(double points);

/// 0.312 as 31.2 %; what rounds to 0 or 100 % without being it becomes < 0.1 % or > 99.9 %.
[[nodiscard]] std::string display_percent(double share);

/// A feature as it reads in a sentence: its label, or else its name, in which loan_amount becomes
/// loan amount.
[[nodiscard]] std::string feature_label(const Feature& feature);

}  // namespace ellice

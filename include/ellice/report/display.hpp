#pragma once

// How numbers, values and outcomes are spelt for people, the same in every rendering.

#include <string>
#include <string_view>
#include <vector>

#include "ellice/data/schema.hpp"
#include "ellice/recourse/recourse.hpp"

namespace ellice {

/// All digits that the number has (it reads back identically), thousands grouped: 26 500, 0.125.
[[nodiscard]] std::string display_number(double value);

/// So many significant digits, thousands grouped: 1 230.
[[nodiscard]] std::string display_rounded(double value, int significant = 3);

[[nodiscard]] std::string display_value(const Value& value);

/// The value that a change starts from: six digits of a number tell enough, more where fewer would
/// not show on which side of `to` it lies. Where a change leads is never rounded: it is certified
/// as shown.
[[nodiscard]] std::string display_start(const Value& from, const Value& to);

/// With the feature's unit, if it has one: 26 500 EUR/year.
[[nodiscard]] std::string display_with_unit(const Feature& feature, const Value& value);

/// 0.312 as 31.2 %; what rounds to 0 or 100 % without being it becomes < 0.1 % or > 99.9 %.
[[nodiscard]] std::string display_percent(double share);

/// A feature's name as it reads in a sentence: loan_amount becomes loan amount.
[[nodiscard]] std::string feature_label(const Feature& feature);

/// An outcome in a few words: «nearest certified plan».
[[nodiscard]] std::string_view status_words(Status status);

/// The favourable answer: «approved = yes».
[[nodiscard]] std::string favourable_answer(const Schema& schema);
/// The same for another class, or «one of setosa, virginica».
[[nodiscard]] std::string answer_text(const Schema& schema, const std::string& wanted);

/// What distinguishes two rows, in the schema's order.
[[nodiscard]] std::vector<Change> differences(const Schema& schema, const RawRow& from,
                                              const RawRow& to);

}  // namespace ellice

#pragma once

// What letters say, by language: a catalogue of messages with the marks of numbers, the names of
// months and the words of units. Ours are files in src/report/letters; users may bring their own.

#include <array>
#include <chrono>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/core/fields.hpp"

namespace ellice {

enum class Language { en, de, fr };
template <>
struct EnumNames<Language> {
  static constexpr std::array<std::string_view, 3> names = {"en", "de", "fr"};
};

using Date = std::chrono::year_month_day;

/// A day of the calendar as YYYY-MM-DD. Throws Error{argument} naming `field`.
[[nodiscard]] Date parse_date(std::string_view text, std::string_view field);

[[nodiscard]] std::string_view default_letter_template();
[[nodiscard]] std::string_view letter_messages_text(Language language);

class LetterMessages {
 public:
  /// YAML that came from `source`. Throws Error{input} naming file, line and message: one that is
  /// missing, unknown or empty, and names in braces that it must or must not have.
  LetterMessages(const std::string& text, const std::string& source);
  explicit LetterMessages(Language language);

  using Names = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  /// The message with what its braces name filled in.
  [[nodiscard]] std::string text(std::string_view key, Names names = {}) const;
  /// Those without braces, which templates may use by their keys.
  [[nodiscard]] std::map<std::string, std::string, std::less<>> plain() const;
  [[nodiscard]] static std::vector<std::string> plain_keys();

  /// A number as display_number() spells it, with the marks of the language: 26.500,5.
  [[nodiscard]] std::string number(std::string_view displayed) const;
  /// 0.0312 as 3.1%; two digits that count.
  [[nodiscard]] std::string percent(double share) const;
  [[nodiscard]] std::string date(const Date& date) const;
  /// Known words of it in the language: EUR/year as EUR/Jahr.
  [[nodiscard]] std::string unit(std::string_view unit) const;

 private:
  std::map<std::string, std::string, std::less<>> messages_;
  std::vector<std::string> months_;
  std::map<std::string, std::string, std::less<>> units_;
};

}  // namespace ellice

#include "report/letter_messages.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

constexpr std::array<Language, 3> languages = {Language::en, Language::de, Language::fr};

std::string own(Language language) {
  return std::string(letter_messages_text(language));
}

std::string fault_of(const std::string& text) {
  try {
    (void)LetterMessages(text, "m.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(LetterMessages, AreWholeInEveryLanguage) {
  for (const Language language : languages) {
    const LetterMessages messages(language);
    EXPECT_EQ(messages.text("language"), enum_name(language));
    EXPECT_EQ(messages.plain().size(), LetterMessages::plain_keys().size());
  }
}

TEST(LetterMessages, MissOneByNameWhicheverItIs) {
  for (const Language language : languages) {
    std::istringstream lines(own(language));
    std::string line;
    int messages = 0;
    while (std::getline(lines, line)) {
      if (line.empty() || line[0] == '#') continue;
      ++messages;
      const std::string key = line.substr(0, line.find(':'));
      const std::string fault = fault_of(replaced(own(language), "\n" + line + "\n", "\n"));
      EXPECT_NE(fault.find("m.yaml"), std::string::npos) << line;
      EXPECT_NE(fault.find(key), std::string::npos) << fault;
    }
    EXPECT_EQ(messages, 53);
  }
}

TEST(LetterMessages, NameFileLineAndMessageOfWhatIsWrong) {
  const std::string text = own(Language::en);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {replaced(text, "subject:", "subjct:"), "subjct"},
      {replaced(text, "{feature}: raise", "{featur}: raise"),
       "step_raise: unknown name {featur} in braces; there are: feature, from, to"},
      {replaced(text, "{feature}: raise", "raise"), "step_raise: {feature} is missing in"},
      {replaced(text, "Dear applicant", "Dear {name}"),
       "greeting: unknown name {name} in braces; this message has none"},
      {replaced(text, "Dear applicant", "Dear } applicant"), "greeting: a brace alone"},
      {replaced(text, "[January, ", "["), "months"},
      {replaced(text, "Yours sincerely", "\"\""), "closing"},
      {text + "\nclosing: twice\n", "closing"},
  };
  for (const auto& [changed, words] : cases) {
    const std::string fault = fault_of(changed);
    EXPECT_EQ(fault.find("m.yaml:"), 0) << fault;
    EXPECT_NE(fault.find(words), std::string::npos) << words << "\n" << fault;
  }
}

TEST(LetterMessages, SpellNumbersUnitsAndDaysByLanguage) {
  const LetterMessages en(Language::en), de(Language::de), fr(Language::fr);
  EXPECT_EQ(en.number("-1 234 567.5"), "−1,234,567.5");
  EXPECT_EQ(de.number("-1 234 567.5"), "−1.234.567,5");
  EXPECT_EQ(fr.number("1 234.5"), "1\u202F234,5");
  EXPECT_EQ(en.percent(0.0312), "3.1%");
  EXPECT_EQ(de.percent(0.0312), "3,1\u00A0%");
  EXPECT_EQ(fr.percent(0.0312), "3,1\u202F%");
  EXPECT_EQ(en.unit("EUR/year"), "EUR/year");
  EXPECT_EQ(de.unit("EUR/year"), "EUR/Jahr");
  EXPECT_EQ(fr.unit("hours per week"), "heures par semaine");
  EXPECT_EQ(de.unit("m²"), "m²");
  const Date day = parse_date("2028-02-29", "--date"), first = parse_date("2026-05-01", "--date");
  EXPECT_EQ(en.date(day), "29 February 2028");
  EXPECT_EQ(de.date(first), "1. Mai 2026");
  EXPECT_EQ(fr.date(first), "1er mai 2026");
  EXPECT_EQ(fr.date(day), "29 février 2028");
}

TEST(LetterMessages, FillInWhatLooksLikeANameOnce) {
  const LetterMessages en(Language::en);
  EXPECT_EQ(en.text("step_raise", {{"feature", "{to}"}, {"from", "1"}, {"to", "{from}"}}),
            "{to}: raise from 1 to {from}");
}

TEST(LetterMessages, KnowTheCalendar) {
  for (const std::string_view wrong :
       {"", "2026", "2026-02-29", "2026-13-01", "2026-00-10", "26-01-01", "2026-1-1", "2026/01/01",
        "2026-01-01 ", "+026-01-01", "2026--1-01", "0000-01-01"}) {
    try {
      (void)parse_date(wrong, "--date");
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::argument);
      EXPECT_NE(std::string(error.what()).find("--date: found \"" + std::string(wrong)),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ellice

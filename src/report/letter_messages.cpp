#include "report/letter_messages.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/utf8.hpp"
#include "data/spelling.hpp"
#include "data/yaml_entry.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// A message and the names that stand in its braces.
struct Message {
  std::string_view key;
  std::vector<std::string_view> names = {};
};

const std::vector<Message>& all_messages() {
  static const std::vector<Message> messages = {
      {"language"},
      {"decimal"},
      {"thousands"},
      {"percent", {"number"}},
      {"date", {"day", "month", "year"}},
      {"first_day"},
      {"subject"},
      {"reference_label"},
      {"greeting"},
      {"declined"},
      {"reasons_heading"},
      {"reasons_lead"},
      {"reason_number", {"feature", "value", "people", "average"}},
      {"reason_level", {"feature", "value"}},
      {"people_accepted"},
      {"people_borderline"},
      {"people_average"},
      {"people_centre"},
      {"no_reasons"},
      {"plan_heading"},
      {"plan_lead"},
      {"step_raise", {"feature", "from", "to"}},
      {"step_lower", {"feature", "from", "to"}},
      {"step_change", {"feature", "from", "to"}},
      {"step_points", {"step", "points"}},
      {"score_at_least", {"now", "after", "needed"}},
      {"score_at_most", {"now", "after", "needed"}},
      {"order"},
      {"keep"},
      {"holds_heading"},
      {"holds_until", {"date"}},
      {"holds_open"},
      {"condition_entries"},
      {"condition_horizon", {"date"}},
      {"condition_range", {"share"}},
      {"condition_true_range", {"share"}},
      {"condition_near"},
      {"condition_present"},
      {"condition_narrower"},
      {"condition_approximate"},
      {"checked_heading"},
      {"checked"},
      {"checked_present"},
      {"no_plan_heading"},
      {"no_plan_infeasible"},
      {"no_plan_not_found"},
      {"no_plan_unreliable"},
      {"no_plan_next"},
      {"review_heading"},
      {"review"},
      {"closing"},
  };
  return messages;
}

/// Calls `literal` and `name` for the pieces of a message in turn; false for a brace alone.
bool split(std::string_view text, auto&& literal, auto&& name) {
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    if (text.substr(0, open).find('}') != std::string_view::npos) return false;
    literal(text.substr(0, open));
    if (open == text.size()) return true;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return false;
    name(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  return true;
}

std::string braced(std::string_view name) {
  return "{" + std::string(name) + "}";
}

void check_names(const Message& message, const std::string& text, const YamlEntry& entry) {
  std::set<std::string, std::less<>> found;
  const bool whole = split(
      text, [](std::string_view) {}, [&](std::string_view name) { found.emplace(name); });
  if (!whole) entry.fault("a brace alone in \"{}\"", shortened(text, 60));
  for (const std::string& name : found) {
    if (std::find(message.names.begin(), message.names.end(), name) == message.names.end())
      entry.fault("unknown name {} in braces; {}", braced(shortened(name, 40)),
                  message.names.empty()
                      ? "this message has none"
                      : fmt::format("there are: {}", fmt::join(message.names, ", ")));
  }
  for (const std::string_view name : message.names) {
    if (!found.contains(name))
      entry.fault("{} is missing in \"{}\"", braced(name), shortened(text, 60));
  }
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys = {"months", "units"};
  for (const Message& message : all_messages()) keys.emplace_back(message.key);
  return keys;
}

std::vector<std::string> read_months(const YamlEntry& entry) {
  constexpr std::string_view expected = "a list of the names of the twelve months";
  std::vector<std::string> months;
  for (const YamlEntry& month : entry.list(expected)) months.push_back(month.filled_text(expected));
  if (months.size() != 12) entry.wrong(expected);
  return months;
}

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Date parse_date(std::string_view text, std::string_view field) {
  const auto part = [&](std::size_t at, std::size_t size) {
    int value = -1;
    const char* const begin = text.data() + at;
    const auto result = std::from_chars(begin, begin + size, value);
    return result.ec == std::errc() && result.ptr == begin + size ? value : -1;
  };
  Date date = {};  // its own constructor leaves it as it is
  if (text.size() == 10 && text[4] == '-' && text[7] == '-' && part(0, 4) > 0 && part(5, 2) > 0 &&
      part(8, 2) > 0) {
    date = {std::chrono::year(part(0, 4)), std::chrono::month(static_cast<unsigned>(part(5, 2))),
            std::chrono::day(static_cast<unsigned>(part(8, 2)))};
  }
  require(date.ok(), "{}: found \"{}\", expected a day as YYYY-MM-DD", field, shortened(text, 40));
  return date;
}

LetterMessages::LetterMessages(const std::string& text, const std::string& source) {
  const YamlDocument document(text, source);
  const YamlRecord record(document.top(), known_keys(), "a map from messages to texts");
  for (const Message& message : all_messages()) {
    const YamlEntry& entry = record.at(message.key, "a message");
    const std::string said = entry.filled_text("a message");
    check_names(message, said, entry);
    messages_.emplace(message.key, said);
  }
  // «1,234» must not be two numbers.
  if (messages_["decimal"] == messages_["thousands"])
    record.at("thousands", "a message")
        .fault("\"{}\" is the decimal mark, too, so that nobody can tell 1.234 from 1234",
               shortened(messages_["thousands"], 40));
  for (const char* const mark : {"decimal", "thousands"}) {
    if (messages_[mark].find_first_of("0123456789-") != std::string::npos)
      record.at(mark, "a message")
          .fault("\"{}\" has a digit or a sign, which numbers have themselves",
                 shortened(messages_[mark], 40));
  }
  months_ = read_months(record.at("months", "a list of the names of the twelve months"));
  for (const auto& [word, entry] :
       record.at("units", "a map from words to words").members("a map from words to words"))
    units_.emplace(word, entry.filled_text("a word"));
}

LetterMessages::LetterMessages(Language language)
    : LetterMessages(std::string(letter_messages_text(language)),
                     fmt::format("the messages of language {}", enum_name(language))) {}

std::string LetterMessages::text(std::string_view key, Names names) const {
  std::string out;
  split(
      messages_.find(key)->second, [&](std::string_view literal) { out += literal; },
      [&](std::string_view name) {
        const auto* const found = std::find_if(
            names.begin(), names.end(), [&](const auto& entry) { return entry.first == name; });
        out += found->second;
      });
  return out;
}

std::vector<std::string> LetterMessages::plain_keys() {
  std::vector<std::string> keys;
  for (const Message& message : all_messages()) {
    if (message.names.empty()) keys.emplace_back(message.key);
  }
  return keys;
}

std::map<std::string, std::string, std::less<>> LetterMessages::plain() const {
  std::map<std::string, std::string, std::less<>> result;
  for (const std::string& key : plain_keys()) result[key] = messages_.find(key)->second;
  return result;
}

std::string LetterMessages::number(std::string_view displayed) const {
  std::string out;
  for (const char c : displayed) {
    if (c == ' ') {
      out += messages_.find("thousands")->second;
    } else if (c == '.') {
      out += messages_.find("decimal")->second;
    } else if (c == '-') {
      out += "−";
    } else {
      out += c;
    }
  }
  return out;
}

std::string LetterMessages::percent(double share) const {
  return text("percent", {{"number", number(display_rounded(100 * share, 2))}});
}

std::string LetterMessages::date(const Date& date) const {
  const auto day = static_cast<unsigned>(date.day());
  return text("date", {{"day", day == 1 ? text("first_day") : fmt::format("{}", day)},
                       {"month", months_[static_cast<unsigned>(date.month()) - 1]},
                       {"year", fmt::format("{}", static_cast<int>(date.year()))}});
}

std::string LetterMessages::unit(std::string_view unit) const {
  std::string out;
  for (std::size_t at = 0; at < unit.size();) {
    std::size_t end = at;
    while (end < unit.size() && is_word_byte(unit[end])) ++end;
    const std::string_view word = unit.substr(at, end - at);
    const auto found = units_.find(word);
    out += found != units_.end() ? std::string_view(found->second) : word;
    if (end < unit.size()) out += unit[end++];
    at = end;
  }
  return out;
}

}  // namespace ellice

#include "data/schema_format.hpp"

#include <algorithm>
#include <set>

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

ReadLevel read_pair(const std::pair<std::string, YamlEntry>& member) {
  return {.level = member.first,
          .text = member.second.filled_text("the text that people read for the level"),
          .entry = member.second};
}

char read_mark(const YamlEntry& entry, std::string_view marks, std::string_view expected) {
  const std::string text = entry.text(expected);
  if (text.size() != 1 || marks.find(text.front()) == std::string_view::npos) entry.wrong(expected);
  return text.front();
}

/// What could not be told from a part of the number that it stands beside.
bool could_be_of_a_number(std::string_view symbol) {
  return symbol.find_first_of("0123456789+-.,'\"") != std::string_view::npos ||
         symbol.find_first_not_of(" \t") == std::string_view::npos;
}

void read_symbols(const YamlEntry& entry, const Schema& schema, CsvFormat& format) {
  const auto columns = entry.members("a map from a feature to a list of signs such as [EUR, €]");
  for (const auto& [name, member] : columns) {
    const std::optional<std::size_t> found = schema.find(name);
    if (!found || !schema.features[*found].is_number()) {
      member.fault("found \"{}\", expected a numeric or integer feature", name);
    }
    std::vector<std::string>& symbols = format.symbols[name];
    for (const YamlEntry& item : member.list("a list of signs such as [EUR, €]")) {
      std::string symbol = item.text("a sign such as % or EUR");
      if (could_be_of_a_number(symbol)) {
        item.wrong("a sign such as % or EUR, without digits, points, commas and signs of numbers");
      }
      if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end()) {
        item.fault("\"{}\" stands twice, expected each once", symbol);
      }
      symbols.push_back(std::move(symbol));
    }
    if (symbols.empty()) member.fault("found an empty list, expected at least one sign");
  }
}

void read_format(const YamlEntry& entry, Schema& schema) {
  const YamlRecord record(entry, {"separator", "decimal", "thousands", "encoding", "symbols"},
                          "a map such as {separator: \";\", decimal: \",\"}");
  CsvFormat& format = schema.format;
  if (const YamlEntry* const separator = record.find("separator")) {
    format.separator = read_mark(*separator, separators, R"(",", ";", "\t" or "|")");
  }
  if (const YamlEntry* const decimal = record.find("decimal")) {
    format.decimal = read_mark(*decimal, decimal_marks, R"("." or ",")");
  }
  if (const YamlEntry* const thousands = record.find("thousands")) {
    format.thousands = read_mark(*thousands, thousands_marks, R"(".", ",", " " or "'")");
    if (format.thousands == format.decimal) {
      thousands->fault("found \"{}\", which also stands before decimals; change one of the two",
                       format.thousands);
    }
  }
  if (const YamlEntry* const encoding = record.find("encoding")) {
    format.encoding = encoding->choice<Encoding>();
  }
  if (const YamlEntry* const symbols = record.find("symbols")) {
    read_symbols(*symbols, schema, format);
  }
}

void read_missing_values(const YamlEntry& entry, Schema& schema) {
  std::set<std::string> seen;
  for (const YamlEntry& item :
       entry.list("a list of cells that mean nothing, such as [NA, \"?\"]")) {
    std::string text = item.filled_text("a text that is not empty; empty cells are missing anyway");
    if (text.front() == ' ' || text.back() == ' ') {
      item.wrong("a text without blanks around it; those of cells do not count");
    }
    if (!seen.insert(text).second) item.fault("\"{}\" stands twice, expected each once", text);
    for (const Feature& feature : schema.features) {
      if (feature.one_hot.empty() && feature.level_index(text)) {
        item.fault("\"{}\" is also a level of \"{}\"; remove one of the two", text, feature.name);
      }
    }
    if (text == schema.target.favourable) {
      item.fault("\"{}\" is also the favourable value of the target", text);
    }
    schema.missing_values.push_back(std::move(text));
  }
}

}  // namespace

std::vector<ReadLevel> read_level_entries(const YamlEntry& entry, std::string_view expected) {
  std::vector<ReadLevel> result;
  if (entry.is_map()) {
    for (const auto& member : entry.members(expected)) result.push_back(read_pair(member));
    return result;
  }
  for (const YamlEntry& item : entry.list(expected)) {
    if (!item.is_map()) {
      result.push_back({.level = item.filled_text("a text that is not empty"), .entry = item});
      continue;
    }
    const auto members = item.members("a level, or {LEVEL: text for people}");
    if (members.size() != 1) {
      item.fault("found a map of {} levels, expected one level in each", members.size());
    }
    result.push_back(read_pair(members.front()));
  }
  return result;
}

Pace read_pace(const YamlEntry& entry, const Feature& feature) {
  constexpr std::string_view expected =
      "a number > 0 and a time, as in \"1 per year\" (day, week, month, year)";
  if (!feature.is_number() && feature.kind != FeatureKind::ordinal) {
    entry.fault("a feature of kind {} has no pace; leave this key out", enum_name(feature.kind));
  }
  if (feature.immutable) {
    entry.fault("the feature does not change at all ({}: true); leave one of the two out",
                feature.is_protected ? "protected" : "immutable");
  }
  const std::string text = entry.text(expected);
  constexpr std::string_view between = " per ";
  const std::size_t place = text.find(between);
  if (place == std::string::npos) entry.wrong(expected);
  Pace pace;
  const std::optional<Pace::Period> period =
      enum_from_name<Pace::Period>(text.substr(place + between.size()));
  if (!period || !parse_number(text.substr(0, place), pace.amount) || pace.amount <= 0) {
    entry.wrong(expected);
  }
  pace.per = *period;
  return pace;
}

void read_spelling(const YamlRecord& top, Schema& schema) {
  if (const YamlEntry* const format = top.find("format")) read_format(*format, schema);
  if (const YamlEntry* const marks = top.find("missing_values"))
    read_missing_values(*marks, schema);
}

Json levels_to_json(const Feature& feature) {
  // A list also where texts stand beside the levels: their order has a meaning, and that of the
  // members of an object has none in JSON.
  Json result = Json::array();
  for (const std::string& level : feature.levels) {
    const auto text = feature.level_texts.find(level);
    if (text != feature.level_texts.end()) {
      Json pair = Json::object();
      pair[level] = text->second;
      result.push_back(std::move(pair));
    } else if (feature.one_hot.empty()) {
      result.push_back(level);
    }
  }
  return result;
}

Json format_to_json(const CsvFormat& format) {
  const CsvFormat defaults = {};
  Json result = Json::object();
  const auto mark = [&](const char* key, char value, char usual) {
    if (value != usual) result[key] = std::string(1, value);
  };
  mark("separator", format.separator, defaults.separator);
  mark("decimal", format.decimal, defaults.decimal);
  mark("thousands", format.thousands, defaults.thousands);
  if (format.encoding != defaults.encoding) result["encoding"] = enum_name(format.encoding);
  for (const auto& [name, symbols] : format.symbols) result["symbols"][name] = symbols;
  return result;
}

}  // namespace ellice

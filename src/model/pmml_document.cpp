#include "model/pmml_document.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/utf8.hpp"
#include "data/csv_encoding.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

/// Names of elements without the prefix of a namespace, where the root has one: <p:PMML>.
void drop_prefix(pugi::xml_document& document) {
  struct Walker : pugi::xml_tree_walker {
    std::string prefix = {};
    bool for_each(pugi::xml_node& node) override {
      const std::string name = node.name();
      if (name.starts_with(prefix)) node.set_name(name.substr(prefix.size()).c_str());
      return true;
    }
  };
  const std::string root = document.document_element().name();
  const std::size_t colon = root.find(':');
  if (colon == std::string::npos) return;
  Walker walker;
  walker.prefix = root.substr(0, colon + 1);
  document.traverse(walker);
}

/// XML has no attribute twice in one element; the parser takes both, and readers the first.
void refuse_repeated_attributes(pugi::xml_document& document, const std::string& source) {
  struct Walker : pugi::xml_tree_walker {
    const std::string* source = nullptr;
    bool for_each(pugi::xml_node& node) override {
      std::set<std::string_view> seen;
      for (const pugi::xml_attribute one : node.attributes()) {
        require_input(seen.insert(one.name()).second,
                      "{}: <{}>: the attribute {} stands twice, expected each once", *source,
                      node.name(), one.name());
      }
      return true;
    }
  };
  Walker walker;
  walker.source = &source;
  document.traverse(walker);
}

/// What the first line of the document says of its encoding; UTF-8 unless it says something.
std::string declared_encoding(std::string_view text) {
  const std::string_view line = text.substr(0, text.find("?>"));
  const std::size_t start = line.find("<?xml");
  std::size_t at = start == std::string_view::npos ? start : line.find("encoding", start);
  if (at != std::string_view::npos) at = line.find_first_of("\"'", at);
  if (at == std::string_view::npos) return "UTF-8";
  const std::string_view rest = line.substr(at + 1);
  return std::string(rest.substr(0, rest.find(line[at])));
}

/// The document as UTF-8. One in Latin-1, as SAS and SPSS write it, is read as what it says.
std::string as_utf8(const std::string& text, const std::string& source) {
  refuse_utf16(text, source);
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text;
  const std::string declared = declared_encoding(text);
  const std::string name = lower_case(declared);
  if (name == "iso-8859-1" || name == "latin1" || name == "windows-1252") {
    std::string result;
    append_latin1(text, result);
    return result;
  }
  const std::optional<std::size_t> fault = find_invalid_utf8(text);
  require_input((name == "utf-8" || name == "utf8") && !fault,
                "{}: the text is not UTF-8{} (encoding=\"{}\"), expected UTF-8, ISO-8859-1 or "
                "windows-1252 as its first line says; save the file as UTF-8",
                source, fault ? fmt::format(" at byte {}", *fault) : "", declared);
  return text;
}

/// The element with its name, for messages.
std::string place_of(const pugi::xml_node& node, const char* key) {
  return fmt::format("<{} {}=\"{}\">", node.name(), key, node.attribute(key).value());
}

/// Attributes that are not read may change what the model says.
void check_attributes(const pugi::xml_node& node,
                      std::initializer_list<std::string_view> attributes,
                      const std::string& place) {
  for (const pugi::xml_attribute one : node.attributes()) {
    const std::string_view name = one.name();
    const bool is_known = std::find(attributes.begin(), attributes.end(), name) != attributes.end();
    require_input(
        is_known || name.starts_with("x-") || name.starts_with("xmlns"),
        "{}: {}=\"{}\" cannot be imported, since it may change what the model says; leave "
        "it out if it does not",
        place, name, one.value());
  }
}

void check_scores(const pugi::xml_node& node, const std::string& source) {
  require_input(node.attribute("isScorable").as_bool(true),
                "{}: <{}>: isScorable: found \"{}\", expected a model that scores", source,
                node.name(), node.attribute("isScorable").value());
}

/// Which values a field takes as they are: all but those outside of intervals, which are declined
/// or replaced unless `invalidValueTreatment` says "asIs".
void check_values(const pugi::xml_node& field, const std::string& treatment,
                  const std::string& source) {
  const std::string place = place_of(field, "name");
  for (const pugi::xml_node interval : field.children("Interval")) {
    const std::string low = interval.attribute("leftMargin").as_string("-inf");
    const std::string high = interval.attribute("rightMargin").as_string("inf");
    const bool is_open =
        interval.attribute("leftMargin").empty() && interval.attribute("rightMargin").empty();
    require_input(
        is_open || treatment == "asIs",
        "{}: {}: <Interval>: numbers outside of {} to {} get no score of their own "
        "(invalidValueTreatment: {}); say invalidValueTreatment=\"asIs\" in <MiningField> "
        "if the model scores them, or leave <Interval> out and give `min` and `max` in "
        "the schema",
        source, place, low, high, treatment);
  }
  for (const pugi::xml_node value : field.children("Value")) {
    const std::string property = value.attribute("property").as_string("valid");
    require_input(
        property == "valid",
        "{}: {}: <Value value=\"{}\">: property: found \"{}\", expected \"valid\": values "
        "that count as missing cannot be imported",
        source, place, value.attribute("value").value(), property);
    require_input(treatment == "asIs" || treatment == "returnInvalid",
                  "{}: {}: invalidValueTreatment: found \"{}\", expected \"asIs\" or "
                  "\"returnInvalid\": levels that are replaced cannot be imported",
                  source, place, treatment);
  }
}

/// Whether a model is given the field: neither what it predicts nor what it leaves alone.
bool is_active(const pugi::xml_node& mining_field) {
  const std::string_view usage = mining_field.attribute("usageType").as_string("active");
  return usage != "target" && usage != "predicted" && usage != "supplementary";
}

/// Of MiningField: known are those that say nothing of a value, or that are checked here. How empty
/// cells were replaced (missingValueTreatment) is a remark beside missingValueReplacement.
void check_mining_field(const pugi::xml_node& field, const std::string& source) {
  const std::string place = source + ": " + place_of(field, "name");
  check_attributes(
      field,
      {"name", "usageType", "optype", "importance", "outliers", "lowValue", "highValue",
       "missingValueReplacement", "missingValueTreatment", "invalidValueTreatment"},
      place);
  const std::string outliers = field.attribute("outliers").as_string("asIs");
  require_input(outliers == "asIs",
                "{}: outliers: found \"{}\", expected \"asIs\": the model scores other numbers "
                "than people have; fit it to the columns themselves",
                place, outliers);
  const pugi::xml_attribute replacement = field.attribute("missingValueReplacement");
  require_input(replacement.empty() || !is_active(field),
                "{}: missingValueReplacement: found \"{}\", expected none: the model scores other "
                "values than the empty cells that people have; leave it out, and fill empty cells "
                "in the rows",
                place, replacement.value());
}

void check_fields(const pugi::xml_node& root, const pugi::xml_node& model,
                  const std::string& source) {
  const pugi::xml_node mining = model.child("MiningSchema");
  std::set<std::string> names;
  for (const pugi::xml_node field : mining.children("MiningField")) {
    check_mining_field(field, source);
    require_input(names.insert(field.attribute("name").value()).second,
                  "{}: {} stands twice, expected each field once", source, place_of(field, "name"));
  }
  for (const pugi::xml_node field : root.child("DataDictionary").children("DataField")) {
    check_attributes(field, {"name", "displayName", "optype", "dataType", "isCyclic"},
                     source + ": " + place_of(field, "name"));
    const pugi::xml_node used =
        mining.find_child_by_attribute("MiningField", "name", field.attribute("name").value());
    if (!is_active(used)) continue;
    check_values(field, used.attribute("invalidValueTreatment").as_string("returnInvalid"), source);
  }
}

/// A <Target> that only names its field changes nothing.
void check_targets(const pugi::xml_node& model, const std::string& source) {
  for (const pugi::xml_node target : model.child("Targets").children("Target")) {
    const std::string place = place_of(target, "field");
    for (const pugi::xml_attribute one : target.attributes()) {
      const std::string_view name = one.name();
      const auto is = [&](double neutral) {
        return pmml_number(target, one.name(), source + ": " + place) == neutral;
      };
      const bool is_neutral = name == "field" || name == "optype" ||
                              (name == "rescaleConstant" && is(0)) ||
                              (name == "rescaleFactor" && is(1));
      require_input(is_neutral,
                    "{}: {}: {}=\"{}\" changes the score and cannot be imported; write the model "
                    "without <Targets>",
                    source, place, name, one.value());
    }
    for (const pugi::xml_node value : target.children("TargetValue")) {
      for (const char* name : {"priorProbability", "defaultValue"}) {
        require_input(
            value.attribute(name).empty(),
            "{}: {}: <TargetValue>: {}=\"{}\" cannot be imported; write the model without "
            "<Targets>",
            source, place, name, value.attribute(name).value());
      }
    }
  }
  for (const pugi::xml_node field : model.child("Output").children("OutputField")) {
    require_input(field.attribute("feature").value() != std::string_view("decision"),
                  "{}: {}: feature: found \"decision\", which may have a threshold of its own and "
                  "cannot be imported",
                  source, place_of(field, "name"));
  }
}

}  // namespace

void check_pmml_surroundings(const pugi::xml_node& root, const pugi::xml_node& model,
                             std::initializer_list<std::string_view> attributes,
                             const std::string& source) {
  check_attributes(model, attributes, fmt::format("{}: <{}>", source, model.name()));
  check_scores(model, source);
  check_fields(root, model, source);
  check_targets(model, source);
}

pugi::xml_node load_pmml(pugi::xml_document& document, const std::string& text,
                         const std::string& source) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  require_input(text.size() <= most_bytes, "{}: more than 64 MiB", source);
  const std::string decoded = as_utf8(text, source);
  const pugi::xml_parse_result parsed = document.load_buffer(
      decoded.data(), decoded.size(), pugi::parse_default, pugi::encoding_utf8);
  require_input(static_cast<bool>(parsed), "{}: no XML: {} at byte {}", source,
                parsed.description(), parsed.offset);
  drop_prefix(document);
  refuse_repeated_attributes(document, source);
  const pugi::xml_node root = document.child("PMML");
  require_input(!root.empty(), "{}: found <{}>, expected <PMML>", source,
                document.document_element().name());
  return root;
}

double pmml_number(const pugi::xml_node& node, const char* name, const std::string& place) {
  const pugi::xml_attribute found = node.attribute(name);
  require_input(!found.empty(), "{}: no {}", place, name);
  double value = 0;
  require_input(parse_number(found.value(), value) && std::isfinite(value),
                "{}: {}: found \"{}\", expected a number", place, name, found.value());
  return value;
}

double pmml_number_or(const pugi::xml_node& node, const char* name, double otherwise,
                      const std::string& place) {
  return node.attribute(name).empty() ? otherwise : pmml_number(node, name, place);
}

std::string pmml_tool(const pugi::xml_node& root) {
  const pugi::xml_node application = root.child("Header").child("Application");
  std::string result = application.attribute("name").value();
  const std::string version = application.attribute("version").value();
  if (!version.empty()) result += " " + version;
  return result;
}

}  // namespace ellice

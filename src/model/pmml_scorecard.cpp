// The <Scorecard> of PMML: characteristics, attributes with partial scores, reason codes.

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/pmml_document.hpp"
#include "model/scorecard.hpp"

namespace ellice {

namespace {

using pugi::xml_node;

class PmmlScorecard {
 public:
  PmmlScorecard(const std::string& text, const std::string& source)
      : source_(&source), root_(load_pmml(document_, text, source)) {}

  Scorecard read() {
    const xml_node model = root_.child("Scorecard");
    require_input(!model.empty(), "{}: found no <Scorecard>", *source_);
    require_input(model.next_sibling("Scorecard").empty(),
                  "{}: found several elements <Scorecard>, expected one", *source_);
    for (const char* place : {"TransformationDictionary", "Scorecard/LocalTransformations"}) {
      const xml_node derived = root_.first_element_by_path(place).child("DerivedField");
      require_input(derived.empty(),
                    "{}: <DerivedField name=\"{}\">: transformed columns cannot be imported",
                    *source_, derived.attribute("name").value());
    }
    check_pmml_surroundings(
        root_, model,
        {"functionName", "modelName", "algorithmName", "initialScore", "useReasonCodes",
         "reasonCodeAlgorithm", "baselineScore", "baselineMethod", "isScorable"},
        *source_);
    Scorecard card{.source = *source_, .first_decides = true, .tool = pmml_tool(root_)};
    card.initial = pmml_number_or(model, "initialScore", 0, *source_ + ": <Scorecard>");
    std::size_t count = 0;
    for (const xml_node child : model.child("Characteristics").children("Characteristic"))
      card.characteristics.push_back(read_characteristic(child, ++count));
    require_input(!card.characteristics.empty(), "{}: <Scorecard>: no <Characteristic>", *source_);
    return card;
  }

 private:
  Characteristic read_characteristic(xml_node node, std::size_t count) {
    const std::string name = node.attribute("name").value();
    Characteristic result;
    result.place = fmt::format(
        "{}: <Characteristic{}>", *source_,
        name.empty() ? fmt::format("> number {}", count) : fmt::format(" name=\"{}\"", name));
    std::size_t attributes = 0;
    for (const xml_node child : node.children("Attribute")) {
      const std::string place = fmt::format(
          "{}: <Characteristic name=\"{}\">: <Attribute> number {}", *source_, name, ++attributes);
      ScorecardBin bin{.points = pmml_number(child, "partialScore", place), .place = place};
      bin.reason = child.attribute("reasonCode").value();
      if (bin.reason.empty()) bin.reason = node.attribute("reasonCode").value();
      for (ScorecardBin& one : read_predicate(child, bin, result.feature))
        result.bins.push_back(std::move(one));
    }
    require_input(!result.bins.empty(), "{}: no <Attribute>", result.place);
    check_order(result);
    check_empty_cells(result);
    return result;
  }

  /// The first attribute that is true decides, and bins know no order: a number of its own stands
  /// before the interval around it. Intervals that overlap are refused where bins are made.
  static void check_order(const Characteristic& one) {
    for (std::size_t k = 0; k < one.bins.size(); ++k) {
      if (!one.bins[k].is_single()) continue;
      const double number = *one.bins[k].from;
      for (std::size_t before = 0; before < k; ++before) {
        const ScorecardBin& other = one.bins[before];
        const bool is_interval = (other.from || other.to) && !other.is_single();
        const bool is_above =
            !other.from || number > *other.from || (number == *other.from && other.has_from);
        const bool is_below =
            !other.to || number < *other.to || (number == *other.to && other.has_to);
        require_input(
            !(is_interval && is_above && is_below) || other.place == one.bins[k].place,
            "{}: {} never gets these points, since {} holds for it as well and the first attribute "
            "that is true decides; write it before that one, or leave it out",
            one.bins[k].place, one.bins[k].spelled, other.place);
      }
    }
  }

  /// Points of empty cells that get no score at all are nobody's.
  void check_empty_cells(const Characteristic& one) const {
    const xml_node field = root_.first_element_by_path("Scorecard/MiningSchema")
                               .find_child_by_attribute("MiningField", "name", one.feature.c_str());
    const std::string_view treatment = field.attribute("missingValueTreatment").value();
    for (const ScorecardBin& bin : one.bins) {
      require_input(!bin.is_missing || treatment != "returnInvalid",
                    "{}: isMissing is never true: <MiningField name=\"{}\"> has "
                    "missingValueTreatment=\"returnInvalid\"; leave one of them out",
                    bin.place, one.feature);
    }
  }

  /// The bins for which the predicate of an attribute holds: one, or one for each level of a set.
  std::vector<ScorecardBin> read_predicate(xml_node attribute, const ScorecardBin& bin,
                                           std::string& feature) {
    xml_node predicate;
    for (const xml_node child : attribute.children()) {
      const std::string_view name = child.name();
      if (name == "Extension" || name == "ComplexPartialScore") {
        require_input(name == "Extension",
                      "{}: <ComplexPartialScore> cannot be imported, only partialScore", bin.place);
        continue;
      }
      predicate = child;
    }
    return read_parts(predicate, bin, feature);
  }

  std::vector<ScorecardBin> read_parts(xml_node predicate, const ScorecardBin& bin,
                                       std::string& feature) {
    const std::string_view kind = predicate.name();
    if (kind == "SimpleSetPredicate") return read_set(predicate, bin, feature);
    ScorecardBin result = bin;
    if (kind == "SimplePredicate") {
      apply(predicate, result, feature);
      return {result};
    }
    if (kind != "CompoundPredicate") {
      fail(ErrorCode::input,
           "{}: found {}, expected <SimplePredicate>, <CompoundPredicate> or <SimpleSetPredicate>",
           bin.place, kind.empty() ? std::string("no predicate") : fmt::format("<{}>", kind));
    }
    const std::string_view operation = predicate.attribute("booleanOperator").value();
    if (operation == "or") {
      std::vector<ScorecardBin> parts;
      for (const xml_node part : predicate.children()) {
        require_input(part.name() != std::string_view("CompoundPredicate") ||
                          part.attribute("booleanOperator").value() != std::string_view("or"),
                      "{}: <CompoundPredicate>: found \"or\" within \"or\", expected one of them",
                      bin.place);
        for (ScorecardBin& one : read_parts(part, bin, feature)) parts.push_back(std::move(one));
      }
      require_input(!parts.empty(), "{}: <CompoundPredicate>: found nothing in it", bin.place);
      return parts;
    }
    require_input(operation == "and",
                  "{}: <CompoundPredicate>: booleanOperator: found \"{}\", expected \"and\" or "
                  "\"or\"",
                  bin.place, operation);
    for (const xml_node part : predicate.children()) {
      require_input(part.name() == std::string_view("SimplePredicate"),
                    "{}: <CompoundPredicate>: found <{}>, expected <SimplePredicate>", bin.place,
                    part.name());
      apply(part, result, feature);
    }
    require_input(result.from || result.to || !result.level.empty(),
                  "{}: <CompoundPredicate>: found nothing in it", bin.place);
    return {result};
  }

  void take_field(xml_node predicate, const ScorecardBin& bin, std::string& feature) const {
    const std::string field = predicate.attribute("field").value();
    require_input(!field.empty(), "{}: <{}>: no field", bin.place, predicate.name());
    require_input(feature.empty() || feature == field,
                  "{}: found the fields \"{}\" and \"{}\" in one <Characteristic>, expected one",
                  bin.place, feature, field);
    feature = field;
  }

  void apply(xml_node predicate, ScorecardBin& bin, std::string& feature) {
    take_field(predicate, bin, feature);
    // An `and` of a value and anything else holds for that value or for none.
    const bool has_ends = bin.from || bin.to;
    const bool has_value = bin.is_missing || !bin.level.empty() || bin.is_single();
    const std::string_view kind = predicate.attribute("operator").value();
    const bool gives_value = kind == "equal" || kind == "isMissing";
    require_input(
        !has_value && !(has_ends && gives_value),
        "{}: <CompoundPredicate>: found {} beside other predicates in one \"and\", expected "
        "it alone: the two are never true together, or one of them says nothing",
        bin.place, has_value ? "a single value" : std::string(kind));
    const std::string operation = predicate.attribute("operator").value();
    const std::string text = predicate.attribute("value").value();
    double value = 0;
    const bool is_number = parse_number(text, value);
    if (operation == "isMissing") {
      bin.is_missing = true;
      return;
    }
    if (operation == "equal") {
      if (is_number) {
        bin.from = bin.to = value;
        bin.spelled = text;
      } else {
        bin.level = text;
      }
      return;
    }
    const bool is_lower = operation == "greaterThan" || operation == "greaterOrEqual";
    const bool is_upper = operation == "lessThan" || operation == "lessOrEqual";
    require_input(is_lower || is_upper,
                  "{}: operator: found \"{}\", expected equal, lessThan, lessOrEqual, greaterThan, "
                  "greaterOrEqual or isMissing",
                  bin.place, operation);
    require_input(is_number, "{}: value: found \"{}\", expected a number", bin.place, text);
    std::optional<double>& end = is_lower ? bin.from : bin.to;
    require_input(!end, "{}: two {} ends, expected one", bin.place, is_lower ? "lower" : "upper");
    end = value;
    (is_lower ? bin.has_from : bin.has_to) =
        operation == "greaterOrEqual" || operation == "lessOrEqual";
  }

  std::vector<ScorecardBin> read_set(xml_node predicate, const ScorecardBin& bin,
                                     std::string& feature) const {
    take_field(predicate, bin, feature);
    require_input(predicate.attribute("booleanOperator").value() == std::string_view("isIn"),
                  "{}: <SimpleSetPredicate>: booleanOperator: found \"{}\", expected \"isIn\"",
                  bin.place, predicate.attribute("booleanOperator").value());
    std::vector<ScorecardBin> result;
    for (const std::string& level : words_of(predicate.child("Array").child_value())) {
      result.push_back(bin);
      double value = 0;
      if (parse_number(level, value)) {
        result.back().from = result.back().to = value;
        result.back().spelled = level;
      } else {
        result.back().level = level;
      }
    }
    require_input(!result.empty(), "{}: <SimpleSetPredicate>: an empty <Array>", bin.place);
    return result;
  }

  /// Words between blanks; those with blanks of their own stand in quotes.
  [[nodiscard]] static std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool is_quoted = false;
    bool has_word = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\\' && i + 1 < text.size() && text[i + 1] == '"') {
        word += text[++i];
      } else if (c == '"') {
        is_quoted = !is_quoted;
        has_word = true;
      } else if (!is_quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) {
        if (has_word) words.push_back(std::exchange(word, {}));
        has_word = false;
      } else {
        word += c;
        has_word = true;
      }
    }
    if (has_word) words.push_back(word);
    return words;
  }

  const std::string* source_;
  pugi::xml_document document_;
  xml_node root_;
};

}  // namespace

Scorecard parse_scorecard_pmml(const std::string& text, const std::string& source) {
  return PmmlScorecard(text, source).read();
}

}  // namespace ellice

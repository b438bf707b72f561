#include "model/pmml.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <pugixml.hpp>

#include "ellice/core/error.hpp"
#include "model/pmml_document.hpp"

namespace ellice {

namespace {

using pugi::xml_node;

/// A document of which one regression is read; messages name its file.
class Pmml {
 public:
  Pmml(const std::string& text, const std::string& source)
      : source_(&source), root_(load_pmml(document_, text, source)) {}

  Coefficients read() {
    Coefficients result{.source = *source_, .tool = pmml_tool(root_)};
    xml_node model;
    for (const xml_node child : root_.children()) {
      const std::string_view name = child.name();
      if (!name.ends_with("Model") && !name.ends_with("Network") && name != "Scorecard") continue;
      require_input(model.empty(), "{}: found <{}> and <{}>, expected one model", *source_,
                    model.name(), name);
      model = child;
    }
    const std::string_view kind = model.name();
    require_input(kind == "RegressionModel" || kind == "GeneralRegressionModel",
                  "{}: found {}, expected <RegressionModel> or <GeneralRegressionModel>", *source_,
                  model.empty() ? "no model" : fmt::format("<{}>", kind));
    require_input(attribute(model, "functionName") == "classification",
                  "{}: <{}>: functionName: found \"{}\", expected \"classification\"", *source_,
                  kind, attribute(model, "functionName"));
    if (kind == "RegressionModel") {
      check_pmml_surroundings(root_, model,
                              {"functionName", "modelName", "modelType", "algorithmName",
                               "targetFieldName", "normalizationMethod", "isScorable"},
                              *source_);
      read_tables(model, result);
    } else {
      check_pmml_surroundings(
          root_, model,
          {"functionName", "modelName", "modelType", "algorithmName", "targetVariableName",
           "targetReferenceCategory", "linkFunction", "distribution", "isScorable"},
          *source_);
      read_general(model, result);
    }
    take_labels(model, result);
    return result;
  }

 private:
  [[nodiscard]] std::string attribute(xml_node node, const char* name) const {
    const pugi::xml_attribute found = node.attribute(name);
    require_input(!found.empty(), "{}: <{}>: no {}", *source_, node.name(), name);
    return found.value();
  }

  [[nodiscard]] double number(xml_node node, const char* name) const {
    return pmml_number(node, name, fmt::format("{}: <{}>", *source_, node.name()));
  }
  [[nodiscard]] double number_or(xml_node node, const char* name, double otherwise) const {
    return pmml_number_or(node, name, otherwise, fmt::format("{}: <{}>", *source_, node.name()));
  }

  void refuse_derived(const std::string& field) const {
    for (const char* const place :
         {"TransformationDictionary", "RegressionModel/LocalTransformations",
          "GeneralRegressionModel/LocalTransformations"}) {
      const xml_node found = root_.first_element_by_path(place).find_child_by_attribute(
          "DerivedField", "name", field.c_str());
      require_input(
          found.empty(),
          "{}: <DerivedField name=\"{}\">: transformed columns cannot be imported; fit the "
          "model to the columns themselves",
          *source_, field);
    }
  }

  /// Both labels, as tables, the reference and the field name them; of a model that names the
  /// reference alone its coefficients speak for the other one.
  void take_labels(xml_node model, Coefficients& result) const {
    std::vector<std::string>& labels = result.labels;
    const auto take = [&](const char* label) {
      if (*label != '\0' && std::find(labels.begin(), labels.end(), label) == labels.end())
        labels.emplace_back(label);
    };
    const std::string reference = model.attribute("targetReferenceCategory").value();
    take(result.event.c_str());
    take(reference.c_str());
    for (const xml_node table : model.children("RegressionTable"))
      take(table.attribute("targetCategory").value());
    const xml_node field =
        root_.child("DataDictionary")
            .find_child_by_attribute("DataField", "name", target_of(model).c_str());
    for (const xml_node value : field.children("Value")) {
      const std::string_view property = value.attribute("property").as_string("valid");
      if (property == "valid") take(value.attribute("value").value());
    }
    if (result.event.empty() && !reference.empty()) {
      require_input(labels.size() == 2,
                    "{}: <GeneralRegressionModel>: targetReferenceCategory is \"{}\", and nothing "
                    "says what the other label is, for which the coefficients speak; expected a "
                    "targetCategory in each <PCell>",
                    *source_, reference);
      result.event = labels[labels[0] == reference ? 1 : 0];
    }
    if (labels.size() < 2) labels.clear();
  }

  /// The field whose labels are predicted.
  static std::string target_of(xml_node model) {
    for (const xml_node field : model.child("MiningSchema").children("MiningField")) {
      const std::string_view usage = field.attribute("usageType").value();
      if (usage == "target" || usage == "predicted") return field.attribute("name").value();
    }
    return model.attribute("targetVariableName").value();
  }

  // ---- RegressionModel: one table for each class, of which all but one are empty.

  void read_tables(xml_node model, Coefficients& result) {
    const std::string method = model.attribute("normalizationMethod").as_string("none");
    require_input(method == "logit" || method == "softmax",
                  "{}: <RegressionModel>: normalizationMethod: found \"{}\", expected \"logit\" or "
                  "\"softmax\"",
                  *source_, method);
    xml_node table;
    std::size_t tables = 0;
    for (const xml_node child : model.children("RegressionTable")) {
      ++tables;
      if (child.first_child().empty() && number_or(child, "intercept", 0) == 0) continue;
      require_input(
          table.empty() && (method != "logit" || tables == 1),
          "{}: found coefficients in <RegressionTable> number {}, expected them in the first alone",
          *source_, tables);
      table = child;
    }
    require_input(!table.empty(), "{}: no <RegressionTable> has coefficients", *source_);
    require_input(tables == 2,
                  "{}: found {} elements <RegressionTable>, expected 2, one for each class",
                  *source_, tables);
    result.event = attribute(table, "targetCategory");
    result.terms.push_back({.term = "(Intercept)", .estimate = number(table, "intercept")});
    for (const xml_node predictor : table.children()) read_predictor(predictor, result);
  }

  void read_predictor(xml_node predictor, Coefficients& result) const {
    const std::string_view kind = predictor.name();
    if (kind == "Extension") return;
    require_input(kind == "NumericPredictor" || kind == "CategoricalPredictor",
                  "{}: <{}> cannot be imported, only <NumericPredictor> and <CategoricalPredictor>",
                  *source_, kind);
    const std::string field = attribute(predictor, "name");
    refuse_derived(field);
    const double coefficient = number(predictor, "coefficient");
    if (kind == "NumericPredictor") {
      require_input(number_or(predictor, "exponent", 1) == 1,
                    "{}: \"{}\" enters by its power {}; powers cannot be imported", *source_, field,
                    predictor.attribute("exponent").value());
      result.terms.push_back({.term = field, .estimate = coefficient});
      return;
    }
    // The reference level is written by some programs, with a coefficient of 0.
    if (coefficient == 0) return;
    result.terms.push_back({.term = fmt::format("{}={}", field, attribute(predictor, "value")),
                            .estimate = coefficient});
  }

  // ---- GeneralRegressionModel: parameters, which predictors they belong to, and their covariance.

  void read_general(xml_node model, Coefficients& result) {
    const std::string type = attribute(model, "modelType");
    const std::string link = model.attribute("linkFunction").as_string("logit");
    require_input(type == "multinomialLogistic" || type == "generalizedLinear",
                  "{}: <GeneralRegressionModel>: modelType: found \"{}\", expected "
                  "\"multinomialLogistic\" or \"generalizedLinear\"",
                  *source_, type);
    require_input(link == "logit",
                  "{}: <GeneralRegressionModel>: linkFunction: found \"{}\", "
                  "expected \"logit\"",
                  *source_, link);
    std::map<std::string, std::string> terms = terms_of(model);
    std::vector<std::string> names;
    for (const xml_node cell : model.child("ParamMatrix").children("PCell")) {
      const std::string parameter = attribute(cell, "parameterName");
      const auto term = terms.find(parameter);
      require_input(term != terms.end(), "{}: <PCell>: \"{}\" is no parameter of <ParameterList>",
                    *source_, parameter);
      require_input(std::find(names.begin(), names.end(), parameter) == names.end(),
                    "{}: <PCell>: \"{}\" stands there twice, expected two classes", *source_,
                    parameter);
      const std::string event = cell.attribute("targetCategory").value();
      require_input(
          names.empty() || event == result.event,
          "{}: <PCell>: found the classes \"{}\" and \"{}\", expected coefficients of one",
          *source_, result.event, event);
      result.event = event;
      names.push_back(parameter);
      result.terms.push_back({.term = term->second, .estimate = number(cell, "beta")});
    }
    require_input(!names.empty(), "{}: <GeneralRegressionModel>: no <PCell>", *source_);
    read_general_covariance(model.child("PCovMatrix"), names, result);
  }

  /// What a parameter is called, by its name: the intercept, a number, a level of a factor.
  [[nodiscard]] std::map<std::string, std::string> terms_of(xml_node model) const {
    std::map<std::string, std::string> terms;
    for (const xml_node parameter : model.child("ParameterList").children("Parameter")) {
      terms.emplace(attribute(parameter, "name"), "(Intercept)");
      require_input(number_or(parameter, "referencePoint", 0) == 0,
                    "{}: <Parameter name=\"{}\">: referencePoint: found \"{}\", expected 0",
                    *source_, attribute(parameter, "name"),
                    parameter.attribute("referencePoint").value());
    }
    refuse_contrasts(model);
    const auto is_factor = [&](const std::string& field) {
      return !model.child("FactorList")
                  .find_child_by_attribute("Predictor", "name", field.c_str())
                  .empty();
    };
    std::map<std::string, int> predictors;
    for (const xml_node cell : model.child("PPMatrix").children("PPCell")) {
      const std::string parameter = attribute(cell, "parameterName");
      const std::string field = attribute(cell, "predictorName");
      const auto term = terms.find(parameter);
      require_input(term != terms.end(), "{}: <PPCell>: \"{}\" is no parameter of <ParameterList>",
                    *source_, parameter);
      refuse_derived(field);
      require_input(cell.attribute("targetCategory").empty(),
                    "{}: <PPCell>: targetCategory: found \"{}\", expected the same predictors for "
                    "all classes",
                    *source_, cell.attribute("targetCategory").value());
      require_input(
          ++predictors[parameter] == 1,
          "{}: <PPCell>: \"{}\" is a product of several columns, which cannot be imported",
          *source_, parameter);
      if (is_factor(field)) {
        term->second = fmt::format("{}={}", field, attribute(cell, "value"));
      } else {
        require_input(number(cell, "value") == 1,
                      "{}: \"{}\" enters by its power {}; powers cannot be imported", *source_,
                      field, attribute(cell, "value"));
        term->second = field;
      }
    }
    return terms;
  }

  /// Levels that are coded otherwise than as 0 and 1.
  void refuse_contrasts(xml_node model) const {
    for (const xml_node predictor : model.child("FactorList").children("Predictor")) {
      require_input(
          predictor.attribute("contrastMatrixType").empty() && predictor.child("Matrix").empty(),
          "{}: <Predictor name=\"{}\">: a matrix of contrasts cannot be imported, only "
          "levels as 0 and 1",
          *source_, attribute(predictor, "name"));
    }
  }

  void read_general_covariance(xml_node matrix, const std::vector<std::string>& names,
                               Coefficients& result) const {
    if (matrix.empty()) return;
    require_input(
        matrix.attribute("type").as_string("model") == std::string_view("model"),
        "{}: <PCovMatrix>: type: found \"{}\", expected \"model\": only that covariance is the "
        "inverse of the loss's curvature",
        *source_, matrix.attribute("type").value());
    const auto p = static_cast<Index>(names.size());
    const auto place = [&](xml_node cell, const char* key) {
      const std::string name = attribute(cell, key);
      const auto found = std::find(names.begin(), names.end(), name);
      require_input(found != names.end(), "{}: <PCovCell>: {}: \"{}\" has no coefficient", *source_,
                    key, name);
      return found - names.begin();
    };
    result.covariance = Matrix::Constant(p, p, NAN);
    for (const xml_node cell : matrix.children("PCovCell")) {
      const Index row = place(cell, "pRow");
      const Index column = place(cell, "pCol");
      result.covariance(row, column) = number(cell, "value");
      // One triangle is enough.
      if (std::isnan(result.covariance(column, row)))
        result.covariance(column, row) = result.covariance(row, column);
    }
    for (Index i = 0; i < p; ++i) {
      for (Index j = 0; j < p; ++j) {
        require_input(!std::isnan(result.covariance(i, j)),
                      "{}: <PCovMatrix>: nothing for \"{}\" and \"{}\"", *source_,
                      names[static_cast<std::size_t>(i)], names[static_cast<std::size_t>(j)]);
      }
    }
  }

  const std::string* source_;
  pugi::xml_document document_;
  xml_node root_;
};

}  // namespace

Coefficients parse_pmml(const std::string& text, const std::string& source) {
  return Pmml(text, source).read();
}

}  // namespace ellice

// Models that were fitted elsewhere: by coefficients alone, or with the rows of their training.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "ellice/core/error.hpp"
#include "ellice/model/coefficients.hpp"
#include "ellice/model/deployed.hpp"
#include "ellice/model/onnx.hpp"
#include "keywords.hpp"
#include "model/scorecard.hpp"
#include "objects.hpp"
#include "work.hpp"

namespace ellice::python {

namespace {

HeldModel of_coefficients(const std::string& text, const std::string& schema) {
  return held(model_of(parse_coefficients(text, "coefficients"), schema_of(schema)));
}

/// What a model of the rows of a frame becomes, beside Python.
HeldModel of_rows(const HeldFrame& frame, const nb::object& progress, const Schema& schema,
                  const std::string& weights, const std::function<Model(const Dataset&)>& make) {
  std::optional<Model> model;
  run_whole(progress, 1, [&](const Execution& execution) {
    const Dataset data =
        read_frame(frame, schema, weights, ClassValues::of_schema, execution.progress);
    model = make(data);
  });
  return held(std::move(*model));
}

/// A model that decides elsewhere (the JSON form of docs/import.md).
HeldModel of_deployed(const std::string& text, const HeldFrame& frame, const std::string& schema,
                      bool store_rows, const nb::object& progress) {
  DeployedModel given = parse_deployed(text, "model");
  given.store_rows = store_rows;
  return of_rows(frame, progress, schema_of(schema), given.weights ? given.weights->column : "",
                 [&](const Dataset& data) { return model_of(given, data); });
}

/// What ONNX files do not say, as keywords.
struct OnnxKeywords {
  LossKind loss = LossKind::logistic;
  double l2 = 0;
  bool penalize_bias = false;
  std::string weights = {};
  ClassWeight class_weight = ClassWeight::none;
  std::string event = {};
  std::string tool = {};
  bool store_rows = false;

  static void fields(auto& self, auto&& visit) {
    visit("loss", self.loss, any_value(), "the loss that was minimised");
    visit("l2", self.l2, at_least(0), "λ of the penalty (λ/2)·Σw² beside the mean loss");
    visit("penalize_bias", self.penalize_bias, any_value(), "of networks");
    visit("weights", self.weights, any_value(), "column with the weights of the rows");
    visit("class_weight", self.class_weight, any_value(), "weights of the classes");
    visit("event", self.event, any_value(), "label of its second class");
    visit("tool", self.tool, any_value(), "what fitted the model");
    visit("store_rows", self.store_rows, any_value(), "keep the rows, for the true set");
  }
};

HeldModel of_onnx(const nb::bytes& bytes, const std::string& source, const HeldFrame& frame,
                  const std::string& schema, const Keywords& keywords, const nb::object& progress) {
  OnnxKeywords given;
  read_only(keywords, "from_onnx", given);
  const std::string_view file(bytes.c_str(), bytes.size());
  require_input(looks_like_onnx(file), "{} is no ONNX file", source);
  OnnxOptions options{.loss = given.loss,
                      .l2 = given.l2,
                      .penalize_bias = given.penalize_bias,
                      .event = given.event,
                      .tool = given.tool,
                      .store_rows = given.store_rows};
  if (!given.weights.empty() || given.class_weight != ClassWeight::none)
    options.weights = RowWeights{.column = given.weights, .class_weight = given.class_weight};
  return of_rows(frame, progress, schema_of(schema), given.weights,
                 [&](const Dataset& data) { return model_of_onnx(file, source, data, options); });
}

HeldModel of_scorecard(const std::string& path, const std::string& closed, double pdo, double score,
                       double odds, std::optional<double> cut_off, const HeldFrame& frame,
                       const std::string& schema, double l2, const std::string& tool,
                       bool store_rows, const nb::object& progress) {
  const std::optional<CardEnds> ends = enum_from_name<CardEnds>(closed);
  require(ends.has_value(), "closed = \"{}\" must be one of {}", closed,
          join_names(EnumNames<CardEnds>::names));
  Scorecard card = read_scorecard(path, *ends);
  if (!tool.empty()) card.tool = tool;
  return of_rows(frame, progress, schema_of(card, schema_of(schema)), "", [&](const Dataset& data) {
    return model_of(card, {.pdo = pdo, .score = score, .odds = odds}, cut_off, data, l2,
                    store_rows);
  });
}

/// How inputs of a deployed model name the bins of a feature.
std::vector<std::string> bin_names(const std::string& schema, const std::string& feature) {
  const Schema known = schema_of(schema);
  const Bins& bins = known.features.at(*known.find(feature)).bins;
  std::vector<std::string> result;
  for (std::size_t bin = 0; bin < bins.count(); ++bin) result.push_back(bins.name(bin));
  return result;
}

}  // namespace

void bind_importing(nb::module_& module) {
  module.def("of_coefficients", &of_coefficients, nb::arg("text"), nb::arg("schema"));
  module.def("of_deployed", &of_deployed, nb::arg("text"), nb::arg("frame"), nb::arg("schema"),
             nb::arg("store_rows"), nb::arg("progress").none());
  module.def("bin_names", &bin_names, nb::arg("schema"), nb::arg("feature"));
  module.def("of_onnx", &of_onnx, nb::arg("bytes"), nb::arg("source"), nb::arg("frame"),
             nb::arg("schema"), nb::arg("keywords"), nb::arg("progress").none());
  module.def("of_scorecard", &of_scorecard, nb::arg("path"), nb::arg("closed"), nb::arg("pdo"),
             nb::arg("score"), nb::arg("odds"), nb::arg("cut_off").none(), nb::arg("frame"),
             nb::arg("schema"), nb::arg("l2"), nb::arg("tool"), nb::arg("store_rows"),
             nb::arg("progress").none());
}

}  // namespace ellice::python

#include "import_deployed.hpp"

#include <cmath>

#include "core/utf8.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/deployed.hpp"
#include "ellice/model/onnx.hpp"
#include "ellice/model/training.hpp"
#include "report/text_table.hpp"

namespace ellice::cli {

namespace {

std::optional<RowWeights> weights_of(const DeployedArguments& arguments) {
  if (arguments.weights.empty() && arguments.class_weight == ClassWeight::none) return std::nullopt;
  return RowWeights{.column = arguments.weights, .class_weight = arguments.class_weight};
}

/// Whether an option says how the model was fitted.
bool says_how(const DeployedArguments& arguments) {
  return arguments.l2 || arguments.loss != LossKind::logistic || weights_of(arguments);
}

}  // namespace

Dataset read_rows(const DeployedArguments& arguments, const Schema& schema,
                  const std::string& weights, const Console& console) {
  CsvReader source = open_rows(arguments.data, schema.format,
                               [&](const std::string& remark) { console.warning(remark); });
  return read_dataset(source, schema, console.progress(), ClassValues::of_schema, weights);
}

void add_deployed_options(Verb& verb, DeployedArguments& arguments) {
  verb.add_option("--data", arguments.data,
                  "CSV file with the rows that a deployed model (JSON, ONNX) was fitted to");
  verb.add_field(
      "--l2", arguments.l2, at_least(0),
      "of ONNX and scorecards: λ of the penalty (λ/2)·Σw² beside the mean loss; 1/(C·rows) of "
      "scikit-learn");
  add_choice(verb, "--loss", arguments.loss, "of ONNX: the loss that was minimised");
  verb.add_option("--weights", arguments.weights, "of ONNX: column with the weights of the rows");
  add_choice(verb, "--class-weight", arguments.class_weight, "of ONNX: weights of the classes");
  verb.add_flag("--store-rows", arguments.store_rows,
                "keep the encoded rows in the model file, for the true set");
}

bool is_given(const DeployedArguments& arguments) {
  return !arguments.data.empty() || says_how(arguments) || arguments.store_rows;
}

bool needs_rows(const std::string& text) {
  if (looks_like_onnx(text)) return true;
  return text.find("\"ellice.deployed\"") != std::string::npos;
}

Model import_deployed(const std::string& text, const std::string& source, const Schema& schema,
                      const DeployedArguments& arguments, const std::string& event,
                      const std::string& tool, const Console& console) {
  require(!arguments.data.empty(), "{} holds a model that needs the rows it was fitted to: --data",
          source);
  if (looks_like_onnx(text)) {
    require(arguments.l2.has_value(),
            "{} does not say which penalty was minimised: give --l2, 0 where there was none",
            source);
    return model_of_onnx(text, source, read_rows(arguments, schema, arguments.weights, console),
                         {.loss = arguments.loss,
                          .l2 = *arguments.l2,
                          .weights = weights_of(arguments),
                          .event = event,
                          .tool = tool,
                          .store_rows = arguments.store_rows});
  }
  DeployedModel given = parse_deployed(text, source);
  require(!says_how(arguments),
          "{} says itself how the model was fitted; leave out --l2, --loss, --weights and "
          "--class-weight",
          source);
  if (!event.empty()) given.event = event;
  if (!tool.empty()) given.tool = tool;
  given.store_rows = arguments.store_rows;
  const std::string column = given.weights ? given.weights->column : "";
  return model_of(given, read_rows(arguments, schema, column, console));
}

void warn_of_misfit(const Model& model, const Console& console) {
  const double coin = std::log(2.0);
  const double mean = model.training.loss + model.deployed->excess;
  if (model.training.loss_kind != LossKind::logistic || mean <= coin) return;
  console.warning(
      fmt::format("on these rows what decides is worse than a coin: its mean loss is {}, a coin's "
                  "{}; are scale, event and labels what they should be?",
                  rounded(mean), rounded(coin)));
}

std::string deployed_report(const Model& model, const std::string& source, OutputFormat format,
                            const std::string& output) {
  const Deployed& deployed = *model.deployed;
  const double difference = model.origin->self_check.value_or(0);
  if (format == OutputFormat::json) {
    Json document = make_envelope("ellice.import", 1);
    document["source"] = source;
    document["kind"] = model.origin->kind;
    document["rows"] = model.training.rows;
    document["loss"] = model.training.loss;
    document["excess"] = deployed.excess;
    document["precision"] = std::string(enum_name(deployed.precision));
    document["margin"] = deployed.margin;
    document["self_check"] = difference;
    document["model_sha256"] = model.sha256;
    return to_text(document);
  }
  TextTable table({TextTable::Align::left, TextTable::Align::left});
  table.row({"model",
             fmt::format("{}, {} layer{}, fitted to {} rows", source, model.network.layers.size(),
                         model.network.layers.size() == 1 ? "" : "s",
                         grouped(static_cast<std::size_t>(model.training.rows)))});
  table.row({"features", fmt::format("{}, encoded as {} columns", model.schema().features.size(),
                                     model.encoder.columns())});
  table.row({"loss", fmt::format("{} ({}, mean)", rounded(model.training.loss),
                                 enum_name(model.training.loss_kind))});
  table.row(
      {"excess", fmt::format("{:.3g} above the minimum of its objective = {:.3g} % of it; "
                             "every epsilon counts from there",
                             deployed.excess, 100 * deployed.excess / model.training.objective)});
  table.row({"arithmetic", fmt::format("{}; plans keep {:.3g} above the threshold",
                                       enum_name(deployed.precision), deployed.margin)});
  table.row({"self-check", fmt::format("scores differ from the model's own operators by {:.3g} at "
                                       "most",
                                       difference)});
  table.row({"written", fmt::format("{}  sha256 {}", output, model.sha256.substr(0, 16))});
  return visible_lines(table.text());
}

}  // namespace ellice::cli

#include <memory>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/coefficients.hpp"
#include "ellice/model/model_file.hpp"
#include "import_deployed.hpp"
#include "import_scorecard.hpp"
#include "report/text_table.hpp"
#include "sets/epsilon_rule.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct ImportArguments {
  CommonOptions common = {};
  std::string file = {};
  std::string coefficients = {};
  std::string covariance = {};
  std::string schema = {};
  std::optional<int> rows = {};
  std::optional<double> log_likelihood = {};
  std::string event = {};
  std::string tool = {};
  DeployedArguments deployed = {};
  ScorecardArguments scorecard = {};
  OutputFormat format = OutputFormat::table;
  std::string output = {};
};

/// What the file says, and the options add.
Coefficients read(const ImportArguments& arguments) {
  require(
      arguments.file.empty() != arguments.coefficients.empty(),
      "import needs one file: JSON or PMML, or --coefficients with a CSV file; docs/import.md has "
      "the lines that write them in Python, R and SAS");
  Coefficients result =
      read_coefficients(arguments.file.empty() ? arguments.coefficients : arguments.file);
  const auto once = [&](bool is_known, bool is_given, const char* option, const char* what) {
    require(!is_known || !is_given, "{} holds {} already; leave out {}", result.source, what,
            option);
    require(is_known || is_given, "import needs {}: {}", option, what);
  };
  once(result.covariance.size() > 0, !arguments.covariance.empty(), "--covariance",
       "the covariance of the estimates");
  if (!arguments.covariance.empty()) read_covariance(arguments.covariance, result);
  once(result.rows != 0, arguments.rows.has_value(), "--rows",
       "how many rows the model was fitted to");
  if (arguments.rows) result.rows = *arguments.rows;
  once(result.log_likelihood != 0, arguments.log_likelihood.has_value(), "--log-likelihood",
       "the log-likelihood of the fitted model, −1/2 of its deviance, which a share of the loss "
       "such "
       "as 1% rests on");
  if (arguments.log_likelihood) result.log_likelihood = *arguments.log_likelihood;
  if (!arguments.event.empty()) {
    result.event = arguments.event;
    result.labels.clear();  // those of the file have other names
  }
  if (!arguments.tool.empty()) result.tool = arguments.tool;
  return result;
}

/// A model that decides elsewhere, with its rows.
ExitStatus run_deployed(const ImportArguments& arguments, const std::string& text,
                        const Schema& schema, const Console& console) {
  const std::string source = input_name(arguments.file);
  require(arguments.coefficients.empty() && arguments.covariance.empty() && !arguments.rows &&
              !arguments.log_likelihood,
          "{} holds a model that comes with its rows; leave out --coefficients, --covariance, "
          "--rows and --log-likelihood",
          source);
  const Model model = import_deployed(text, source, schema, arguments.deployed, arguments.event,
                                      arguments.tool, console);
  warn_of_misfit(model, console);
  write_model(arguments.output, model);
  report_beside(arguments.output,
                deployed_report(model, source, arguments.format, arguments.output), console);
  return done;
}

/// The lines that `import` prints of a model without rows, or the JSON document.
std::string coefficients_report(const Model& model, const std::string& source, std::size_t terms,
                                const std::string& event, const ImportArguments& arguments) {
  const double epsilon = parse_epsilon_rule("auto").resolve(model);
  if (arguments.format == OutputFormat::json) {
    Json document = make_envelope("ellice.import", 1);
    document["source"] = source;
    document["kind"] = model.origin->kind;
    document["terms"] = terms;
    document["rows"] = model.training.rows;
    document["loss"] = model.training.loss;
    document["epsilon"] = epsilon;
    document["model_sha256"] = model.sha256;
    return to_text(document);
  }
  const Schema& schema = model.schema();
  TextTable table({TextTable::Align::left, TextTable::Align::left});
  table.row({"coefficients", fmt::format("{}, {} terms, fitted to {} rows", source, terms,
                                         grouped(static_cast<std::size_t>(model.training.rows)))});
  table.row({"features", fmt::format("{}, encoded as {} columns", schema.features.size(),
                                     model.encoder.columns())});
  const std::string& favourable = schema.target.favourable;
  const bool is_turned = !event.empty() && event != favourable;
  table.row({"event", is_turned
                          ? fmt::format("{}; turned, so that they speak for {}", event, favourable)
                          : favourable});
  table.row({"loss", fmt::format("{} (logistic, mean)", rounded(model.training.loss))});
  table.row(
      {"epsilon", fmt::format("{} = {} % of the loss unless another is given", rounded(epsilon),
                              rounded(100 * epsilon / model.training.objective, 3))});
  table.row({"", "the models of the coefficients' 95 % confidence region"});
  table.row({"model", fmt::format("{}  sha256 {}", arguments.output, model.sha256.substr(0, 16))});
  return visible_lines(table.text());
}

/// Points, with the rows from which they were made, or with their covariance.
ExitStatus run_scorecard(const ImportArguments& arguments, const Schema& schema,
                         const Console& console) {
  const bool has_covariance =
      !arguments.covariance.empty() || arguments.rows || arguments.log_likelihood;
  require(arguments.file.empty() && arguments.coefficients.empty() && arguments.event.empty(),
          "--scorecard does not go with another file, --coefficients or --event");
  require(!has_covariance || !is_given(arguments.deployed),
          "--scorecard takes either --data, --l2 and --store-rows, or --covariance, --rows and "
          "--log-likelihood");
  std::string report;
  Model model;
  if (has_covariance) {
    require(!arguments.covariance.empty() && arguments.rows && arguments.log_likelihood,
            "--scorecard without --data needs --covariance, --rows and --log-likelihood");
    Coefficients known{.rows = *arguments.rows, .log_likelihood = *arguments.log_likelihood};
    read_covariance(arguments.covariance, known);
    model = import_scorecard(arguments.scorecard, schema, known, arguments.tool);
    report = coefficients_report(model, arguments.scorecard.file, known.covariance_terms.size(), "",
                                 arguments);
  } else {
    model =
        import_scorecard(arguments.scorecard, schema, arguments.deployed, arguments.tool, console);
    warn_of_misfit(model, console);
    report = deployed_report(model, arguments.scorecard.file, arguments.format, arguments.output);
  }
  for (const Feature& feature : model.schema().features) {
    if (!feature.bins.lowest && !feature.bins.highest) continue;
    console.info(fmt::format("{}: people and plans have {}; the card has no points for others",
                             feature.name, feature.bins.range_words()));
  }
  write_model(arguments.output, model);
  report_beside(arguments.output, report, console);
  return done;
}

/// Whether a file is one that goes without rows: PMML, or JSON with terms.
bool may_be_coefficients(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start == std::string::npos) return false;
  return text[start] == '<' || text.find("\"terms\"") != std::string::npos;
}

ExitStatus run_import(const ImportArguments& arguments) {
  const Console console = begin(arguments.common);
  const Schema schema = read_schema(arguments.schema);
  if (!arguments.scorecard.file.empty()) return run_scorecard(arguments, schema, console);
  require(!arguments.scorecard.pdo && !arguments.scorecard.score && !arguments.scorecard.odds &&
              !arguments.scorecard.cut_off,
          "--pdo, --score, --odds and --cut-off say what a score of --scorecard means");
  if (!arguments.file.empty()) {
    const std::string text = read_file(arguments.file);
    refuse_utf16(text, input_name(arguments.file));
    if (needs_rows(text)) return run_deployed(arguments, text, schema, console);
    // With rows the file was meant to be a model that decides: what is wrong is the file.
    require_input(arguments.deployed.data.empty() || may_be_coefficients(text),
                  "{}: found neither an ONNX file nor a deployed model in JSON (\"format\": "
                  "\"ellice.deployed\"), expected one of them beside --data; docs/import.md says "
                  "how they are written",
                  input_name(arguments.file));
  }
  require(!is_given(arguments.deployed),
          "--data, --l2, --loss, --weights, --class-weight and --store-rows are for ONNX and for "
          "deployed models in JSON; docs/import.md says how they are written");
  const Coefficients coefficients = read(arguments);
  const Model model = model_of(coefficients, schema);
  write_model(arguments.output, model);
  const std::string text = coefficients_report(
      model, coefficients.source, coefficients.terms.size(), coefficients.event, arguments);
  report_beside(arguments.output, text, console);
  return done;
}

}  // namespace

void add_import(Verb& program, Job& job) {
  auto arguments = std::make_shared<ImportArguments>();
  Verb& verb =
      *program.add_subcommand("import", "take a model fitted elsewhere, with its rows or without");
  verb.add_option(
      "file", arguments->file,
      "JSON file with terms, estimates, covariance, rows and log_likelihood, or PMML; with "
      "--data: ONNX, or the JSON form of a deployed model");
  verb.add_option(
      "--coefficients", arguments->coefficients,
      "instead: CSV file with term and estimate, and mean, scale, min, max where known");
  verb.add_option("--covariance", arguments->covariance,
                  "CSV file with the covariance of the estimates, terms in the first column");
  verb.add_field("--rows", arguments->rows, at_least(2), "how many rows the model was fitted to");
  verb.add_option("--log-likelihood", arguments->log_likelihood, "of the fitted model, all rows");
  verb.add_option("--schema", arguments->schema, "what the features mean (YAML)")->required();
  verb.add_option("--event", arguments->event,
                  "label whose log-odds the coefficients give; the favourable one unless given");
  verb.add_option("--tool", arguments->tool, "what fitted the model, for the record");
  add_deployed_options(verb, arguments->deployed);
  add_scorecard_options(verb, arguments->scorecard);
  verb.add_option("-o,--output", arguments->output, "model file to write, or - for standard output")
      ->required();
  add_format(verb, arguments->format);
  add_flags(verb, arguments->common, {"seed", "threads"});
  verb.footer(
      "Examples:\n"
      "  ellice import fit.json --schema loans.yaml -o m.json\n"
      "  ellice import clf.onnx --data train.csv --l2 0.001 --schema loans.yaml -o m.json\n"
      "  ellice import --scorecard card.csv --pdo 20 --score 600 --odds 50 --data train.csv \\\n"
      "    --schema loans.yaml -o m.json\n"
      "  ellice import --coefficients coef.csv --covariance cov.csv --rows 1000 \\\n"
      "    --log-likelihood -512.25 --schema loans.yaml --tool 'R 4.2.2, glm' -o m.json");
  verb.callback([arguments, &job] { job = [arguments] { return run_import(*arguments); }; });
}

}  // namespace ellice::cli

#include <algorithm>
#include <memory>
#include <optional>

#include "core/utf8.hpp"
#include "data/recipe.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "model/training_forecast.hpp"
#include "report/text_table.hpp"
#include "sets/ellipsoid.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

// An epsilon is usually some per cent of the objective: a head that is farther than this from its
// minimum moves the set of models noticeably.
constexpr double tolerable_decrement = 1e-3;
constexpr double worth_telling_seconds = 120;

/// What can be fitted; an additive model is a logistic one on bins.
enum class ModelChoice { logistic, mlp, softmax, additive };

}  // namespace

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::ModelChoice> {
  static constexpr std::array<std::string_view, 4> names = {"logistic", "mlp", "softmax",
                                                            "additive"};
};

namespace ellice::cli {

namespace {

struct TrainArguments {
  CommonOptions common = {};
  std::string data = {};
  std::string schema = {};
  std::string dataset = {};
  std::optional<bool> balance = {};
  Selection selection = {};
  TrainingOptions training = {};
  ModelChoice model = ModelChoice::logistic;
  OutputFormat format = OutputFormat::table;
  std::string output = {};
};

Dataset load_data(const TrainArguments& arguments, const Console& console) {
  if (!arguments.dataset.empty()) {
    require(arguments.data.empty() && arguments.schema.empty(),
            "--dataset {} brings its own data and schema; leave out {}", arguments.dataset,
            arguments.data.empty() ? "--schema" : arguments.data);
    require(arguments.training.weights.empty(),
            "--weights names a column of a CSV file; --dataset {} has none", arguments.dataset);
    return load_recipe(arguments.dataset);
  }
  require(!arguments.data.empty(),
          "train needs a CSV file with --schema, or --dataset with one of {}",
          fmt::join(recipe_names(), ", "));
  require(
      !arguments.schema.empty(),
      "train {0} needs --schema; `ellice schema {0} --target COLUMN --favourable VALUE` drafts one",
      arguments.data);
  const Schema schema = read_schema(arguments.schema);
  CsvReader source = open_rows(arguments.data, schema.format,
                               [&](const std::string& remark) { console.warning(remark); });
  const bool many = arguments.training.model == NetworkKind::softmax;
  return read_dataset(source, schema, console.progress(),
                      many ? ClassValues::all : ClassValues::of_schema, arguments.training.weights);
}

/// The columns that a counterfactual may move.
std::vector<bool> movable_columns(const Model& model) {
  std::vector<bool> movable;
  for (Index column = 0; column < model.encoder.columns(); ++column) {
    movable.push_back(!model.schema().features[model.encoder.feature_of(column)].immutable);
  }
  return movable;
}

std::size_t favourable_class(const Model& model) {
  const std::vector<std::string>& classes = model.decision.classes;
  const auto found = std::find(classes.begin(), classes.end(), model.schema().target.favourable);
  return static_cast<std::size_t>(found - classes.begin());
}

/// «500 used: 250 yes, 250 no», the favourable class first where there are two.
std::string rows_text(const Model& model, const TrainingSummary& summary) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < summary.class_rows.size(); ++k) {
    parts.push_back(
        fmt::format("{} {}", grouped(summary.class_rows[k]), model.decision.classes[k]));
  }
  if (model.network.has_one_output()) std::reverse(parts.begin(), parts.end());
  return fmt::format("{} used: {}", grouped(static_cast<std::size_t>(model.training.rows)),
                     fmt::join(parts, ", "));
}

std::vector<Index> hidden_units(const Network& network) {
  std::vector<Index> units;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    units.push_back(network.layers[l].bias.size());
  }
  return units;
}

struct Report {
  const Dataset* data = nullptr;
  const TrainingResult* result = nullptr;
  std::optional<double> epsilon_limit = {};  // of linear models
};

Json report_json(const Report& report) {
  const Model& model = report.result->model;
  const TrainingSummary& summary = report.result->summary;
  Json dropped = Json::object();
  for (const auto& [reason, rows] : report.data->dropped) dropped[reason] = rows;
  if (summary.dropped_by_balancing > 0) dropped["balancing"] = summary.dropped_by_balancing;
  Json accuracy = {{"train", summary.train_accuracy}};
  if (summary.holdout_accuracy) accuracy["holdout"] = *summary.holdout_accuracy;
  if (summary.validation_accuracy) accuracy["validation"] = *summary.validation_accuracy;
  if (summary.cross_validated_accuracy)
    accuracy["cross_validated"] = *summary.cross_validated_accuracy;
  Json document = make_envelope("ellice.training", 1);
  document["source"] = report.data->source;
  const std::vector<std::string>& classes = model.decision.classes;
  document["rows"] = {{"used", model.training.rows},
                      {"favourable", summary.class_rows[favourable_class(model)]},
                      {"holdout", summary.holdout_rows},
                      {"dropped", dropped}};
  if (model.network.kind == NetworkKind::softmax) {
    for (std::size_t k = 0; k < classes.size(); ++k) {
      document["rows"]["classes"][classes[k]] = summary.class_rows[k];
    }
  }
  if (summary.validation_rows > 0) document["rows"]["validation"] = summary.validation_rows;
  document["features"] = model.schema().features.size();
  document["columns"] = model.encoder.columns();
  document["accuracy"] = accuracy;
  document["loss"] = model.training.loss;
  document["objective"] = model.training.objective;
  document["iterations"] = summary.iterations;
  document["gradient_norm"] = summary.gradient_norm;
  document["condition_number"] = summary.hessian_spectrum.condition();
  document["shift"] = model.curvature.shift;
  if (report.epsilon_limit) document["epsilon_max"] = *report.epsilon_limit;
  if (model.network.layers.size() > 1) {
    Json& network = document["network"];
    network = {{"hidden", hidden_units(model.network)}, {"parameters", model.network.parameters()}};
    if (model.curvature.full) network["rank"] = model.curvature.full->values.size();
    network["epochs"] = summary.epochs;
    network["stopped_early"] = summary.stopped_early;
    network["head_decrement"] = model.training.head_decrement;
  }
  document["model_sha256"] = model.sha256;
  return document;
}

std::string report_text(const Report& report, const std::string& output) {
  const Model& model = report.result->model;
  const TrainingSummary& summary = report.result->summary;
  const TrainingRecord& training = model.training;
  TextTable table({TextTable::Align::left, TextTable::Align::left});
  const auto line = [&](const char* name, std::string text) { table.row({name, std::move(text)}); };

  line("data", report.data->source);
  line("rows", rows_text(model, summary));
  for (const auto& [reason, rows] : report.data->dropped) {
    line("", fmt::format("{} dropped: {}", grouped(rows), reason));
  }
  if (summary.dropped_by_balancing > 0) {
    line("",
         fmt::format("{} left out to balance the classes", grouped(summary.dropped_by_balancing)));
  }
  if (summary.holdout_rows > 0) line("", fmt::format("{} held out", grouped(summary.holdout_rows)));
  if (summary.validation_rows > 0) {
    line("", fmt::format("{} to decide when to stop", grouped(summary.validation_rows)));
  }
  line("features", fmt::format("{}, encoded as {} columns", model.schema().features.size(),
                               model.encoder.columns()));
  std::string accuracy = fmt::format("{:.1f} % on these rows", 100 * summary.train_accuracy);
  if (summary.holdout_accuracy) {
    accuracy += fmt::format(", {:.1f} % on the rows held out", 100 * *summary.holdout_accuracy);
  }
  if (summary.validation_accuracy) {
    accuracy += fmt::format(", {:.1f} % on those that decided when to stop",
                            100 * *summary.validation_accuracy);
  }
  if (summary.cross_validated_accuracy) {
    accuracy += fmt::format(", {:.1f} % cross-validated", 100 * *summary.cross_validated_accuracy);
  }
  line("accuracy", accuracy);
  line("loss", fmt::format("{} ({}, mean)", rounded(training.loss), enum_name(training.loss_kind)));
  line("objective",
       fmt::format("{} with l2 = {}{}{}", rounded(training.objective), number_text(training.l2),
                   training.penalize_bias ? "" : ", bias not penalised",
                   training.penalty_factors.size() > 0 ? ", bins by their rows" : ""));
  if (training.weights) {
    const std::string& column = training.weights->column;
    const bool is_balanced = training.weights->class_weight == ClassWeight::balanced;
    line("weights", fmt::format("{}{}{}", column.empty() ? "" : "column " + column,
                                !column.empty() && is_balanced ? ", " : "",
                                is_balanced ? "classes balanced" : ""));
  }
  if (model.network.layers.size() > 1) {
    line("layers",
         fmt::format("{} {} units, {} parameters", fmt::join(hidden_units(model.network), ", "),
                     enum_name(model.network.layers.front().activation),
                     grouped(static_cast<std::size_t>(model.network.parameters()))));
    line("training", fmt::format("{} epochs{}", summary.epochs,
                                 summary.stopped_early ? ", stopped early" : ""));
  }
  if (const std::optional<GaussNewton>& full = model.curvature.full; full) {
    line("all layers", fmt::format("curvature of rank {} with damping {}", full->values.size(),
                                   number_text(full->damping)));
  }
  if (model.network.is_linear() || summary.iterations > 0) {
    line("optimum", fmt::format("{} Newton steps, |gradient| = {}", summary.iterations,
                                rounded(summary.gradient_norm, 2)));
  } else {
    line("last layer", fmt::format("{} above its minimum = {} % of the objective",
                                   rounded(training.head_decrement, 3),
                                   rounded(100 * training.head_decrement / training.objective, 3)));
  }
  line("H", fmt::format("{0} x {0}, condition number {1}", model.curvature.hessian.rows(),
                        rounded(summary.hessian_spectrum.condition(), 3)));
  if (report.epsilon_limit) {
    line("eps_max", fmt::format("{} = {} % of the objective", rounded(*report.epsilon_limit),
                                rounded(100 * *report.epsilon_limit / training.objective, 3)));
    line("",
         "below it everyone has recourse (ranges, directions and rules apart), above it only those "
         "whose fixed features "
         "suffice");
  }
  line("model", fmt::format("{}  sha256 {}", output, model.sha256.substr(0, 16)));
  return table.text();
}

/// Says before the work begins that it will take long, and what would shorten it; refuses what
/// cannot be done.
void foretell(const Dataset& data, const TrainingOptions& options, const Console& console) {
  const auto classes = static_cast<Index>(data.classes.size());
  require_feasible_training(data.schema, data.rows(), classes, options);
  const double seconds = forecast_training(data.schema, data.rows(), classes, options).seconds;
  if (seconds < worth_telling_seconds) return;
  const bool is_linear = options.network.hidden.empty() || options.model == NetworkKind::logistic;
  console.warning(fmt::format(
      "training will take about {:.0f} minutes on one core: {} rows, {} columns{}", seconds / 60,
      data.rows(), encoded_columns(data.schema),
      is_linear ? "; --folds 0 leaves out the cross-validation, five sixths of it"
                : ", and a network; fewer units (--hidden) or --epochs, or --no-full-curvature, "
                  "take less"));
}

/// The options that the chosen model stands for.
void take_model(TrainArguments& arguments) {
  TrainingOptions& training = arguments.training;
  training.bin_penalty = arguments.model == ModelChoice::additive;
  switch (arguments.model) {
    case ModelChoice::logistic:
    case ModelChoice::additive:
      training.model = NetworkKind::logistic;
      return;
    case ModelChoice::mlp:
      training.model = NetworkKind::mlp;
      return;
    case ModelChoice::softmax:
      training.model = NetworkKind::softmax;
      return;
  }
}

void require_bins(const Schema& schema) {
  const bool has_bins = std::any_of(schema.features.begin(), schema.features.end(),
                                    [](const Feature& feature) { return feature.is_binned(); });
  require(has_bins,
          "--model additive is for schemas with features of kind binned; `ellice schema --bins 5` "
          "drafts one");
}

ExitStatus run_train(TrainArguments arguments, bool gives_hidden) {
  take_model(arguments);
  // A softmax model has hidden layers only where some are asked for.
  if (arguments.training.model == NetworkKind::softmax && !gives_hidden) {
    arguments.training.network.hidden.clear();
  }
  const Console console = begin(arguments.common);
  validate(arguments.training, "options");
  Selection& selection = arguments.selection;
  selection.seed = arguments.common.seed;
  validate(selection, "options");
  if (!arguments.dataset.empty()) selection.recipe = arguments.dataset;
  // The paper balances its data sets; a user's own rows, and the embedded ones, are used as they
  // are.
  const bool of_the_paper = !arguments.dataset.empty() && arguments.dataset != "lending";
  selection.balance = arguments.balance.value_or(of_the_paper);

  const Dataset data = load_data(arguments, console);
  if (arguments.model == ModelChoice::additive) require_bins(data.schema);
  foretell(data, arguments.training, console);
  const TrainingResult result =
      train(data, selection, arguments.training,
            {.threads = arguments.common.threads, .progress = console.progress()});
  const Model& model = result.model;
  Report report{.data = &data, .result = &result};
  if (model.network.kind == NetworkKind::logistic) {
    report.epsilon_limit =
        epsilon_limit(model.network.head(), model.curvature.hessian, movable_columns(model));
  }
  write_model(arguments.output, model);
  if (model.curvature.shift > 0) {
    console.warning(fmt::format(
        "H is singular: {} was added to its diagonal and is recorded in the model file; "
        "use a larger --l2 than {} to give the models a bounded set",
        rounded(model.curvature.shift, 3), number_text(model.training.l2)));
  }
  if (model.training.head_decrement > tolerable_decrement * model.training.objective) {
    console.warning(fmt::format(
        "the last layer is {} above the minimum of its own objective ({} % of the objective), as "
        "training stopped first; sets of models around it are centred off that minimum. Use "
        "--refit to fit it to the end",
        rounded(model.training.head_decrement, 3),
        rounded(100 * model.training.head_decrement / model.training.objective, 3)));
  }
  if (const std::string& failure = result.summary.cross_validation_failure; !failure.empty()) {
    console.warning(
        fmt::format("no cross-validated accuracy, as a fold has no model: {}", failure));
  }
  console.debug(fmt::format("trained in {:.3f} s", result.summary.seconds));
  const std::string text = arguments.format == OutputFormat::json
                               ? to_text(report_json(report))
                               : visible_lines(report_text(report, arguments.output));
  report_beside(arguments.output, text, console);
  return done;
}

}  // namespace

void add_train(Verb& program, Job& job) {
  auto arguments = std::make_shared<TrainArguments>();
  Verb& verb = *program.add_subcommand("train", "train a model and store its curvature");
  verb.add_option("data", arguments->data, "CSV file with a header, or - for standard input");
  verb.add_option("--schema", arguments->schema, "what the columns mean (YAML)");
  verb.add_option("--dataset", arguments->dataset,
                  fmt::format("built-in data set instead of data and schema: {}",
                              fmt::join(recipe_names(), ", ")));
  verb.add_flag_callback(
      "--balance", [arguments] { arguments->balance = true; },
      "under-sample the larger classes to the size of the smallest (default for the "
      "paper's data sets)");
  verb.add_flag_callback(
      "--no-balance", [arguments] { arguments->balance = false; },
      "use all rows of one of the paper's data sets");
  add_flags(verb, arguments->selection, {"recipe", "balance", "seed"});
  add_choice(
      verb, "--model", arguments->model,
      "kind of model; additive: logistic on bins, the weight of a bin penalised as the share "
      "of rows in it");
  add_flags(verb, arguments->training, {"model"});
  add_flags(verb, arguments->training.network, {}, "Networks (--model mlp or softmax)");
  verb.add_option("-o,--output", arguments->output, "model file to write, or - for standard output")
      ->required();
  add_format(verb, arguments->format);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice train --dataset lending -o m.json\n"
      "  ellice train loans.csv --schema loans.yaml -o m.json\n"
      "  ellice train loans.csv --schema loans.yaml --l2 0.01 --holdout 0.25 --seed 7 -o m.json\n"
      "  ellice train --dataset german --format json -o german.json\n"
      "  ellice train --dataset lending --model mlp --hidden 16 --refit -o n.json\n"
      "  ellice train loans.csv --schema loans.yaml --model softmax -o classes.json");
  verb.callback([arguments, &job, &verb] {
    const bool gives_hidden = verb.gives("--hidden");
    job = [arguments, gives_hidden] { return run_train(*arguments, gives_hidden); };
  });
}

}  // namespace ellice::cli

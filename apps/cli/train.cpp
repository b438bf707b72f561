#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "core/number_text.hpp"
#include "core/utf8.hpp"
#include "data/recipe.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "feature_pair.hpp"
#include "model/training_forecast.hpp"
#include "report/text_table.hpp"
#include "sets/ellipsoid.hpp"
#include "train_report.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

// An epsilon is usually some per cent of the objective: a head that is farther than this from its
// minimum moves the set of models noticeably.
constexpr double tolerable_decrement = 1e-3;
constexpr double worth_telling_seconds = 120;

/// What can be fitted; an additive model is a logistic one on bins.
enum class ModelChoice { logistic, mlp, softmax, nam, additive };

}  // namespace

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::ModelChoice> {
  static constexpr std::array<std::string_view, 5> names = {"logistic", "mlp", "softmax", "nam",
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
  std::vector<std::string> monotone = {};
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
    case ModelChoice::nam:
      training.model = NetworkKind::nam;
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

std::map<std::string, Monotone> parse_monotone(const std::vector<std::string>& texts) {
  std::map<std::string, Monotone> result;
  for (const std::string& text : texts) {
    const FeaturePair pair = split_feature_pair("--monotone", text, "income=increase");
    const std::optional<Monotone> way = enum_from_name<Monotone>(pair.value);
    require(way.has_value(),
            "--monotone: found \"{}\", expected increase, decrease or any, e.g. income=increase",
            text);
    const auto [given, is_new] = result.emplace(pair.feature, *way);
    require(is_new || given->second == *way,
            "--monotone: {} is to {} and to {}; give one of the two", pair.feature,
            enum_name(given->second), enum_name(*way));
  }
  return result;
}

ExitStatus run_train(TrainArguments arguments, bool gives_hidden) {
  take_model(arguments);
  arguments.training.monotone = parse_monotone(arguments.monotone);
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
  TrainingReport report{.data = &data, .result = &result};
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
  const bool is_monotone = parameter_signs(model.network).size() > 0;
  if (model.training.head_decrement > tolerable_decrement * model.training.objective) {
    console.warning(fmt::format(
        "the last layer is {} above the minimum of its own objective ({} % of the objective), as "
        "{}; sets of models around it are centred off that minimum{}",
        rounded(model.training.head_decrement, 3),
        rounded(100 * model.training.head_decrement / model.training.objective, 3),
        is_monotone ? "its signs are kept" : "training stopped first",
        is_monotone ? "" : ". Use --refit to fit it to the end"));
  }
  if (const std::string& failure = result.summary.cross_validation_failure; !failure.empty()) {
    console.warning(
        fmt::format("no cross-validated accuracy, as a fold has no model: {}", failure));
  }
  console.debug(fmt::format("trained in {:.3f} s", result.summary.seconds));
  const std::string text = arguments.format == OutputFormat::json
                               ? to_text(training_json(report))
                               : visible_lines(training_text(report, arguments.output));
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
  add_choice(verb, "--model", arguments->model,
             "kind of model; nam: a network for each feature, whose scores are added up; additive: "
             "logistic on bins, the weight of a bin penalised as the share of rows in it");
  add_flags(verb, arguments->training, {"model"});
  add_flags(verb, arguments->training.network, {}, "Networks (--model mlp, nam or softmax)");
  verb.add_option(
          "--monotone", arguments->monotone,
          "F=increase or F=decrease, of --model nam: the score never falls, or never rises, "
          "as the feature grows")
      ->group("Networks (--model mlp, nam or softmax)");
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
      "  ellice train --dataset lending --model nam --hidden 16,8 --monotone income=increase -o "
      "a.json\n"
      "  ellice train loans.csv --schema loans.yaml --model softmax -o classes.json");
  verb.callback([arguments, &job, &verb] {
    const bool gives_hidden = verb.gives("--hidden");
    job = [arguments, gives_hidden] { return run_train(*arguments, gives_hidden); };
  });
}

}  // namespace ellice::cli

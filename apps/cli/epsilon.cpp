#include <algorithm>
#include <memory>

#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/rashomon/epsilon_rule.hpp"
#include "ellice/recourse/epsilon_table.hpp"
#include "ellice/recourse/selection_effect.hpp"
#include "ellice/recourse/survival_check.hpp"
#include "ellice/report/display.hpp"
#include "ellice/report/text_table.hpp"
#include "problem_arguments.hpp"
#include "training_rows.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct EpsilonArguments {
  CommonOptions common = {};
  std::string model = {};
  RowArguments rows = {};
  ProblemArguments problem = {.set = "last-layer"};
  std::vector<std::string> epsilons = {"0", "0.5%", "1%", "2%", "5%", "10%"};
  std::vector<double> survival = {0.9, 0.95, 0.99};
  bool check = false;
  SurvivalCheckOptions measuring = {};
  OutputFormat format = OutputFormat::table;
};

/// An ε by which a survival is reached.
struct Wanted {
  double survival = 0;
  double epsilon = 0;
};

struct Findings {
  EpsilonTable table = {};
  std::vector<Wanted> wanted = {};  // linear models
  std::optional<SurvivalCheck> check = {};
  std::optional<double> suggested = {};
  std::string reason = {};  // for the suggestion
};

Json check_json(const std::vector<SurvivalLevel>& levels) {
  Json list = Json::array();
  for (const SurvivalLevel& level : levels) {
    Json json = {{"wanted", level.wanted},     {"epsilon", level.epsilon},
                 {"trials", level.trials},     {"predicted", level.predicted},
                 {"measured", level.measured}, {"standard_error", level.standard_error}};
    if (level.corrected) json["corrected"] = *level.corrected;
    list.push_back(json);
  }
  return list;
}

Json findings_json(const Findings& findings, const EpsilonArguments& arguments,
                   const Problem& problem) {
  Json document = make_envelope("ellice.epsilon", 1);
  document["model_sha256"] = problem.model->sha256;
  document["set"] = std::string(enum_name(problem.set.kind));
  document["retrain"] = problem.retraining.text();
  document["options"] = to_json(problem.constraints);
  document["options"]["threshold"] = problem.threshold;
  document["seed"] = arguments.common.seed;
  document["rows"] = problem.model->training.rows;
  document["people"] = findings.table.people;
  if (findings.table.epsilon_max) document["epsilon_max"] = *findings.table.epsilon_max;
  if (findings.suggested)
    document["suggested"] = {{"epsilon", *findings.suggested}, {"reason", findings.reason}};
  document["survival"] = Json::array();
  for (const Wanted& wanted : findings.wanted)
    document["survival"].push_back({{"survival", wanted.survival}, {"epsilon", wanted.epsilon}});
  document["levels"] = Json::array();
  for (const EpsilonLevel& level : findings.table.levels) {
    Json json = {{"epsilon", level.epsilon}, {"objective", level.objective}};
    if (level.survival) json["survival"] = *level.survival;
    if (level.accuracy) {
      json["accuracy"] = {{"base", level.accuracy->base},
                          {"mean", level.accuracy->mean},
                          {"worst", level.accuracy->worst}};
    }
    if (level.share_with_recourse) json["share_with_recourse"] = *level.share_with_recourse;
    if (level.median_distance) json["median_distance"] = *level.median_distance;
    document["levels"].push_back(json);
  }
  if (findings.check) {
    document["check"] = {{"options", fields_to_json(arguments.measuring)},
                         {"same", check_json(findings.check->same)},
                         {"fresh", check_json(findings.check->fresh)}};
  }
  return document;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string check_text(const std::string& title, const std::vector<SurvivalLevel>& levels) {
  TextTable table(std::vector<TextTable::Align>(6, TextTable::Align::right));
  table.header({"wanted", "epsilon", "predicted", "corrected", "measured", "trials"});
  for (const SurvivalLevel& level : levels) {
    table.row({percent(level.wanted), rounded(level.epsilon, 3), percent(level.predicted),
               level.corrected ? percent(*level.corrected) : "-",
               fmt::format("{} ± {:.1f}", percent(level.measured), 100 * level.standard_error),
               std::to_string(level.trials)});
  }
  return "\n" + title + "\n\n" + table.text();
}

std::string findings_text(const Findings& findings, const Problem& problem) {
  const Model& model = *problem.model;
  const bool with_rows = findings.table.people > 0;
  std::vector<std::string> header = {"epsilon", "objective", "survival"};
  if (with_rows) {
    header.insert(header.end(),
                  {"accuracy: mean", "worst seen", "with recourse", "median distance"});
  }
  TextTable table(std::vector<TextTable::Align>(header.size(), TextTable::Align::right));
  table.header(header);
  for (const EpsilonLevel& level : findings.table.levels) {
    std::vector<std::string> cells = {rounded(level.epsilon, 3), rounded(level.objective, 4),
                                      level.survival ? display_percent(*level.survival) : "-"};
    if (with_rows) {
      cells.push_back(percent(level.accuracy->mean));
      cells.push_back(percent(level.accuracy->worst));
      cells.push_back(percent(*level.share_with_recourse));
      cells.push_back(level.median_distance ? fmt::format("{:.3f}", *level.median_distance) : "-");
    }
    table.row(cells);
  }
  std::string text = fmt::format("A model of {} rows with objective {}; retraining: {}\n\n",
                                 model.training.rows, rounded(model.training.objective, 4),
                                 problem.retraining.fresh_rows
                                     ? fmt::format("{} fresh rows", *problem.retraining.fresh_rows)
                                     : "as many rows, drawn from the old ones");
  text += table.text();
  if (with_rows) {
    text += fmt::format(
        "\nAccuracy is that of {} boundary models on the training rows ({} for the model itself); "
        "recourse that of {} declined people among them.\n",
        BoundaryModels::default_count, percent(findings.table.levels.front().accuracy->base),
        findings.table.people);
  }
  if (findings.table.epsilon_max) {
    text += fmt::format(
        "eps_max = {}: beyond it only those have recourse for whom what cannot change suffices.\n",
        rounded(*findings.table.epsilon_max));
  }
  for (const Wanted& wanted : findings.wanted) {
    text += fmt::format("survival {} needs epsilon = {}\n", percent(wanted.survival),
                        rounded(wanted.epsilon));
  }
  if (findings.suggested)
    text += fmt::format("suggested: epsilon = {} ({})\n", rounded(*findings.suggested),
                        findings.reason);
  if (findings.check) {
    text += check_text("Retrained on as many rows, drawn from the old ones", findings.check->same);
    text +=
        check_text("Fitted on one half of the rows, retrained on the other", findings.check->fresh);
    text +=
        "\nThe error is that of the mean over retrained models; corrected: for the selection "
        "effect, for which epsilon is chosen where parameters exceed 3 % of the rows.\n";
  }
  return text;
}

/// What calibration recommends, else the first survival that is at least 95 %, else the last.
void suggest(Findings& findings, const Problem& problem) {
  const Model& model = *problem.model;
  if (has_recommendation(model, problem.set)) {
    findings.suggested = parse_epsilon_rule("auto").resolve(model, problem.set);
    findings.reason = "recommended by calibrate";
    return;
  }
  if (findings.wanted.empty()) return;
  const auto enough = std::find_if(findings.wanted.begin(), findings.wanted.end(),
                                   [](const Wanted& wanted) { return wanted.survival >= 0.95; });
  const Wanted& chosen = enough != findings.wanted.end() ? *enough : findings.wanted.back();
  findings.suggested = chosen.epsilon;
  findings.reason = fmt::format("survival {}", percent(chosen.survival));
}

ExitStatus run_epsilon(const EpsilonArguments& arguments) {
  validate(arguments.common, "options");
  validate(arguments.measuring, "options");
  const Console console = arguments.common.console();
  for (const double survival : arguments.survival) {
    require(survival > 0 && survival < 1,
            "--survival: found {}, expected probabilities above 0 and below 1, e.g. 0.95,0.99",
            survival);
  }
  std::vector<EpsilonRule> rules;
  for (const std::string& text : arguments.epsilons) rules.push_back(parse_epsilon_rule(text));
  const Models models = read_models(arguments.model, arguments.problem);
  const Model& model = models.model;
  require_one_logit(model, "epsilon");
  const Problem problem = make_problem(arguments.problem, models);
  const bool linear = model.network.layers.size() == 1;
  const bool needs_rows =
      arguments.check ||
      std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return rule.needs_rows(); });
  std::optional<TrainingRows> rows;
  if (needs_rows || arguments.rows.given() || model.rows) {
    rows = read_training_rows(arguments.rows, model, console,
                              arguments.check ? "epsilon --check" : "epsilon", OtherData::refuse);
  }
  std::optional<FittedRows> fitted;
  if (rows) fitted = FittedRows{.raw = &rows->fitted.raw, .rows = &rows->fitted.rows};

  const Execution execution{.threads = arguments.common.threads, .progress = console.progress()};
  Findings findings;
  const std::vector<Query> people = rows ? people_of(problem, *rows) : std::vector<Query>{};
  std::vector<double> epsilons;
  for (const EpsilonRule& rule : rules) {
    epsilons.push_back(resolve_epsilon(rule, problem, people,
                                       {.rows = fitted ? fitted->rows : nullptr,
                                        .retraining = problem.retraining,
                                        .execution = execution}));
  }
  const bool selects = has_selection_effect(problem);
  if (selects && !fitted) {
    console.warning(fmt::format(
        "no survival is stated for {} fresh rows: with {} parameters for {} rows answers follow "
        "the "
        "errors of their model, which is estimated from the training rows; give --data or "
        "--dataset",
        *problem.retraining.fresh_rows, model.curvature.hessian.rows(), model.training.rows));
  } else if (linear && no_survival_reason(model, problem.set).empty()) {
    for (const double survival : arguments.survival) {
      const EpsilonRule rule = parse_epsilon_rule(fmt::format("survival:{}%", 100 * survival));
      try {
        const double epsilon = resolve_epsilon(
            rule, problem, people, {.retraining = problem.retraining, .execution = execution});
        findings.wanted.push_back({.survival = survival, .epsilon = epsilon});
        epsilons.push_back(epsilon);
      } catch (const Error& error) {
        // The others are still worth a table.
        const bool is_last = survival == arguments.survival.back();
        if (error.code() != ErrorCode::input || (is_last && findings.wanted.empty())) throw;
        console.warning(error.what());
      }
    }
  }
  std::sort(epsilons.begin(), epsilons.end());
  epsilons.erase(std::unique(epsilons.begin(), epsilons.end()), epsilons.end());
  require(!epsilons.empty(), "--epsilons: give at least one");
  findings.table = epsilon_table(problem, fitted, epsilons, arguments.measuring.people, execution);
  suggest(findings, problem);
  if (arguments.check) {
    findings.check = check_survival(problem, *fitted, arguments.survival, arguments.measuring,
                                    Random(arguments.common.seed), execution);
  }
  write_file("-", arguments.format == OutputFormat::json
                      ? to_text(findings_json(findings, arguments, problem))
                      : findings_text(findings, problem));
  if (!linear) {
    console.warning(
        "no survival is predicted for a network: retraining moves its hidden layers as well; "
        "`ellice calibrate` measures it");
  }
  return done;
}

}  // namespace

void add_epsilon(Verb& program, Job& job) {
  auto arguments = std::make_shared<EpsilonArguments>();
  Verb& verb = *program.add_subcommand(
      "epsilon", "what an epsilon means: objective, accuracy, recourse, survival of retraining");
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("--epsilons", arguments->epsilons,
                  "levels, each as --epsilon of explain takes it")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("E,...")
      ->capture_default_str();
  verb.add_option("--survival", arguments->survival,
                  "probabilities of outlasting a retraining, for each of which epsilon is given")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("Q,...")
      ->capture_default_str();
  verb.add_flag("--check", arguments->check,
                "really retrain, and print predicted against measured survival (needs training "
                "rows)");
  add_flags(verb, arguments->measuring, {}, "Measuring");
  add_row_options(verb, arguments->rows, "Training rows (accuracy, recourse, --check)");
  add_problem_options(verb, arguments->problem);
  add_retrain_option(verb, arguments->problem);
  add_format(verb, arguments->format);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice epsilon m.json\n"
      "  ellice epsilon m.json --data loans.csv --survival 0.95,0.99 --retrain fresh:2000\n"
      "  ellice epsilon m.json --dataset diabetes --check\n"
      "  ellice explain m.json people.csv --epsilon survival:99%");
  verb.callback([arguments, &job] { job = [arguments] { return run_epsilon(*arguments); }; });
}

}  // namespace ellice::cli

#include <memory>

#include "core/utf8.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "explain/epsilon_findings.hpp"
#include "problem_arguments.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct EpsilonArguments {
  CommonOptions common = {};
  std::string model = {};
  RowArguments rows = {};
  ProblemArguments problem = {.set = "last-layer"};
  EpsilonQuestion question = {};
  OutputFormat format = OutputFormat::table;
  std::string output = "-";
};

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string check_text(const std::string& title, const std::vector<SurvivalLevel>& levels) {
  TextTable table(std::vector<TextTable::Align>(7, TextTable::Align::right));
  table.header({"wanted", "epsilon", "predicted", "corrected", "interval", "measured", "trials"});
  for (const SurvivalLevel& level : levels) {
    table.row({percent(level.wanted), rounded(level.epsilon, 3), percent(level.predicted),
               level.corrected ? percent(*level.corrected) : "-",
               level.interval ? fmt::format("{:.0f} to {}", 100 * level.interval->low,
                                            fmt::format("{:.0f} %", 100 * level.interval->high))
                              : "-",
               fmt::format("{} ± {:.1f}", percent(level.measured), 100 * level.standard_error),
               std::to_string(level.trials)});
  }
  return "\n" + title + "\n\n" + table.text();
}

/// As answers say it: a number, or an interval where it is not known to ten points.
std::string survival_text(const EpsilonLevel& level) {
  if (!level.survival) return "-";
  Answer like;
  like.predicted_survival = level.survival;
  like.survival_interval = level.interval;
  return survival_number(like);
}

std::string findings_text(const EpsilonFindings& findings, const Problem& problem) {
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
                                      survival_text(level)};
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
  if (findings.table.levels.front().survival) {
    text +=
        "\nSurvival is predicted, a mean over retrained models; of a single one far more or fewer "
        "answers may survive.\n";
  }
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
  for (const SurvivalEpsilon& wanted : findings.wanted) {
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
        "\nThe error is that of the mean over retrained models; of a single one far more or fewer "
        "answers may survive. Corrected: for the selection effect of fresh rows, with which "
        "epsilon "
        "is chosen; interval: how sure that is.\n";
  }
  return text;
}

ExitStatus run_epsilon(const EpsilonArguments& arguments) {
  const Console console = begin(arguments.common);
  const OwnedProblem owned(
      read_request(arguments.model, arguments.problem, arguments.rows, arguments.common));
  const EpsilonFindings findings =
      find_epsilons(owned, arguments.question,
                    {.threads = arguments.common.threads, .progress = console.progress()});
  write_file(arguments.output, arguments.format == OutputFormat::json
                                   ? to_text(to_json(findings, arguments.question, owned))
                                   : visible_lines(findings_text(findings, owned.problem())));
  for (const std::string& note : findings.notes) console.warning(note);
  return done;
}

}  // namespace

void add_epsilon(Verb& program, Job& job) {
  auto arguments = std::make_shared<EpsilonArguments>();
  Verb& verb = *program.add_subcommand(
      "epsilon", "what an epsilon means: objective, accuracy, recourse, survival of retraining");
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("--epsilons", arguments->question.epsilons,
                  "levels, each as --epsilon of explain takes it")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("E,...")
      ->capture_default_str();
  verb.add_option("--survival", arguments->question.survival,
                  "probabilities of outlasting a retraining, for each of which epsilon is given")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("Q,...")
      ->capture_default_str();
  verb.add_flag("--check", arguments->question.check,
                "really retrain, and print predicted against measured survival (needs training "
                "rows)");
  add_flags(verb, arguments->question.measuring, {}, "Measuring");
  add_row_options(verb, arguments->rows, "Training rows (accuracy, recourse, --check)");
  add_problem_options(verb, arguments->problem);
  add_retrain_option(verb, arguments->problem);
  add_format(verb, arguments->format);
  add_output(verb, arguments->output);
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

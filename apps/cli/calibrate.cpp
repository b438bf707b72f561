#include <memory>

#include "core/utf8.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "explain/calibration_file.hpp"
#include "problem_arguments.hpp"
#include "report/text_table.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct CalibrateArguments {
  CommonOptions common = {};
  std::string model = {};
  RowArguments rows = {};
  ProblemArguments problem = {};
  CalibrationOptions calibration = {};
  OutputFormat format = OutputFormat::table;
  std::string output = {};
};

std::string calibration_text(const Calibration& calibration, const CalibrateArguments& arguments,
                             const Problem& problem) {
  using enum TextTable::Align;
  std::string text = fmt::format("Set {}: {} declined people, explained at each radius\n\n",
                                 enum_name(problem.set.kind), calibration.people);
  std::vector<TextTable::Align> columns(calibration.stress.size() + 5, right);
  columns.back() = left;
  TextTable table(columns);
  std::vector<std::string> header = {"epsilon", "answered"};
  for (const StressSet& set : calibration.stress) {
    header.push_back(fmt::format("{} ({})", enum_name(set.kind), set.models.size()));
  }
  header.insert(header.end(), {"survived", "median l2", ""});
  table.header(header);
  const auto add = [&](const CalibrationLevel& level, const std::string& remark) {
    std::vector<std::string> cells = {rounded(level.epsilon, 4), std::to_string(level.answered)};
    for (const StressSet& set : calibration.stress) {
      cells.push_back(std::to_string(level.accepted.at(set.kind)));
    }
    cells.push_back(std::to_string(level.survived));
    cells.push_back(fmt::format("{:.3f}", level.median_distance));
    cells.push_back(remark);
    table.row(cells);
  };
  for (const CalibrationLevel& level : calibration.levels) {
    const bool chosen = calibration.recommended && &level == &calibration.levels.back();
    add(level, chosen                  ? "survives"
               : level.deviations_hold ? ""
                                       : "retrained logits spread too widely");
  }
  if (calibration.recommended) add(*calibration.recommended, "recommended");
  text += table.text();
  if (calibration.unreachable > 0) {
    text += fmt::format("\n{} more have no answer even at epsilon = 0 and were left out\n",
                        calibration.unreachable);
  }
  if (!calibration.recommended) return text;
  text += fmt::format(
      "\nepsilon = {}: {} of {} answers survive all stress models; with {} % confidence the rate "
      "for people like these is at least {:.1f} %, leaving aside that epsilon was chosen on "
      "these.\n",
      rounded(calibration.recommended->epsilon, 4), calibration.recommended->survived,
      calibration.people, rounded(100 * arguments.calibration.confidence, 3),
      100 * calibration.lower_bound);
  if (calibration.retrained) {
    text += fmt::format(
        "Of {} networks retrained from other seeds on rows drawn again, one accepts {:.1f} ± "
        "{:.1f} % "
        "of these answers on average; of a single answer nothing is predicted.\n",
        calibration.retrained->models, 100 * calibration.retrained->mean,
        100 * calibration.retrained->standard_error);
  }
  return text;
}

ExitStatus run_calibrate(CalibrateArguments arguments) {
  const Console console = begin(arguments.common);
  if (arguments.output.empty()) arguments.output = arguments.model;
  const OwnedProblem owned(
      read_request(arguments.model, arguments.problem, arguments.rows, arguments.common));
  for (const std::string& note : owned.notes()) console.warning(note);
  const Problem& problem = owned.problem();
  const Calibration calibration =
      calibrate(owned, arguments.calibration,
                {.threads = arguments.common.threads, .progress = console.progress()});
  const std::string text = arguments.format == OutputFormat::json
                               ? to_text(to_json(calibration, arguments.calibration, owned))
                               : visible_lines(calibration_text(calibration, arguments, problem));
  write_file("-", text);
  if (!has_other_people(owned)) {
    console.warning("the people explained here are among the rows that the model was fitted on");
  }
  if (!calibration.recommended) {
    console.error(
        "no radius survives the stress models, so that nothing is recommended; name one --threat, "
        "lower --share or --target, or widen what people may change");
    return not_certified;
  }
  write_model(arguments.output, with_recommendation(calibration, arguments.calibration, owned));
  console.info(fmt::format("stored in {} for --epsilon auto with --set {}", arguments.output,
                           enum_name(problem.set.kind)));
  return done;
}

}  // namespace

void add_calibrate(Verb& program, Job& job) {
  auto arguments = std::make_shared<CalibrateArguments>();
  Verb& verb = *program.add_subcommand("calibrate",
                                       "choose epsilon on retrained, noisy and adversarial models");
  verb.add_option("model", arguments->model, "model file; gains `recommended`")->required();
  add_row_options(verb, arguments->rows, "Training rows");
  add_problem_options(verb, arguments->problem);
  add_flags(verb, arguments->calibration, {}, "Calibration");
  verb.add_option("-o,--output", arguments->output,
                  "model file to write (default: the one that was read)");
  add_format(verb, arguments->format);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice calibrate m.json --data loans.csv\n"
      "  ellice calibrate m.json --dataset diabetes --set last-layer --threat retrain\n"
      "  ellice explain m.json people.csv --epsilon auto\n"
      "Exit status 4 when no radius survives: then nothing is stored.");
  verb.callback([arguments, &job] { job = [arguments] { return run_calibrate(*arguments); }; });
}

}  // namespace ellice::cli

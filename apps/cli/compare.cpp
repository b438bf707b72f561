#include <algorithm>
#include <memory>
#include <optional>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "row_arguments.hpp"
#include "study/answer_file.hpp"
#include "study/model_change.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct CompareArguments {
  CommonOptions common = {};
  std::string before = {};
  std::string now = {};
  std::string plans = {};
  RowArguments rows = {};
  OutputFormat format = OutputFormat::table;
  std::string output = "-";
};

/// By the file, or, where it holds records alone, by their certificates.
bool are_for(const AnswerFile& plans, const Model& model) {
  if (plans.model_sha256 && *plans.model_sha256 != model.sha256) return false;
  return std::all_of(plans.promises.begin(), plans.promises.end(),
                     [&](const std::optional<Promise>& promise) {
                       return !promise || promise->model_sha256 == model.sha256;
                     });
}

ExitStatus run_compare(const CompareArguments& arguments) {
  const Console console = begin(arguments.common);
  const Model before = read_model(arguments.before);
  const Model now = read_model(arguments.now);
  std::optional<AnswerFile> plans;
  if (!arguments.plans.empty()) {
    const std::string source = input_name(arguments.plans);
    require(!arguments.plans.ends_with(".csv"),
            "{} is a table; compare reads the plans of `explain --format json` or jsonl, which "
            "have their certificates and what was asked",
            source);
    plans = answers_from_json(read_file(arguments.plans), before, source);
    require_input(are_for(*plans, before),
                  "{}: these plans were made for another model than {}; give the one they were "
                  "made for first, then the new one",
                  source, arguments.before);
  }
  const bool has_rows = arguments.rows.given() || before.rows.has_value();
  const std::shared_ptr<const TrainingRows> rows =
      has_rows ? read_needed_rows(arguments.rows, before, console, "compare") : nullptr;
  const ModelComparison comparison =
      compare_models(before, now, rows ? &rows->fitted.rows : nullptr, plans ? &*plans : nullptr);
  write_file(arguments.output, arguments.format == OutputFormat::json
                                   ? to_text(to_json(comparison, before, now))
                                   : visible_lines(comparison_text(comparison, before, now)));
  const std::size_t broken = comparison.broken();
  if (broken == 0) return done;
  console.error(fmt::format(
      "{}: {} of {} plans are broken by {}; ask for new ones (`ellice explain`), with a larger "
      "epsilon if this happens often",
      arguments.plans, broken, comparison.plans.size(), arguments.now));
  return not_certified;
}

}  // namespace

void add_compare(Verb& program, Job& job) {
  auto arguments = std::make_shared<CompareArguments>();
  Verb& verb = *program.add_subcommand("compare", compare_help);
  verb.add_option("old", arguments->before, "model file for which the plans were made")->required();
  verb.add_option("new", arguments->now, "model file that takes its place")->required();
  verb.add_option("plans", arguments->plans,
                  "recourse file of the old model (explain --format json or jsonl)");
  add_row_options(verb, arguments->rows, "Training rows of the old model");
  add_format(verb, arguments->format);
  add_output(verb, arguments->output);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice compare m.json retrained.json\n"
      "  ellice compare m.json retrained.json plans.json --data loans.csv\n"
      "Exit status 4 when the new model breaks a certified plan.");
  verb.callback([arguments, &job] { job = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace ellice::cli

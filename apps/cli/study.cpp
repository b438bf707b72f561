#include <filesystem>
#include <memory>

#include "core/as_input.hpp"
#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "study/plan.hpp"
#include "study/study_comparison.hpp"
#include "study/study_results.hpp"
#include "study/study_runner.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

constexpr std::string_view store_file = "results.sqlite";

struct StudyArguments {
  CommonOptions common = {};
  std::string plan = {};
  std::string folder = {};
  std::string paper = {};
  bool report_only = false;
};

struct CompareArguments {
  std::string first = {};
  std::string second = {};
  OutputFormat format = OutputFormat::table;
};

std::string store_of(const std::string& folder) {
  return (std::filesystem::path(folder) / store_file).string();
}

/// Beside the plan, unless another file is named.
PaperValues paper_values(const StudyArguments& arguments) {
  if (!arguments.paper.empty()) return PaperValues(arguments.paper);
  const std::filesystem::path beside =
      std::filesystem::path(arguments.plan).parent_path() / "paper_values.csv";
  if (!std::filesystem::exists(beside)) return {};
  return PaperValues(beside.string());
}

ExitStatus run(const StudyArguments& arguments) {
  const Console console = begin(arguments.common);
  require(!arguments.plan.empty(), "a plan is needed: ellice study PLAN.yaml -o FOLDER");
  require(!arguments.folder.empty(), "a folder for the results is needed: -o FOLDER");
  const StudyPlan plan = read_plan(arguments.plan, study_names());
  as_input(arguments.plan, [&] { check_study(plan); });
  const PaperValues paper = paper_values(arguments);
  require_input(!arguments.report_only || std::filesystem::exists(store_of(arguments.folder)),
                "{} holds no results to report; leave out --report-only to run the study",
                arguments.folder);
  std::error_code error;
  std::filesystem::create_directories(arguments.folder, error);
  if (error) fail(ErrorCode::output, "{}: cannot be made: {}", arguments.folder, error.message());
  StudyStore store(store_of(arguments.folder), study_identity(plan));
  const std::string command = fmt::format(
      "ellice study {} -o {}", std::filesystem::path(arguments.plan).string(), arguments.folder);
  if (!arguments.report_only) {
    try {
      run_study(plan, store, arguments.folder,
                {.threads = arguments.common.threads, .progress = console.progress()});
    } catch (const Error& stopped) {
      if (stopped.code() == ErrorCode::cancelled) {
        console.info(fmt::format("{} cells are finished and kept; the same command goes on",
                                 store.names().size()));
      }
      throw;
    }
  }
  const StudyResults results(plan, store);
  write_study(results, paper, arguments.folder, command);
  write_file((std::filesystem::path(arguments.folder) / "plan.yaml").string(),
             read_file(arguments.plan));
  console.info(fmt::format("{} of {} cells; {}/index.html", results.finished(), results.planned(),
                           arguments.folder));
  std::string text;
  for (const ResultTable& table : study_tables(results, paper)) {
    if (table.name.starts_with("performance")) text += to_text(table) + "\n";
  }
  write_file("-", visible_lines(text));
  return done;
}

ExitStatus run_compare(const CompareArguments& arguments) {
  const std::unique_ptr<StudyStore> a = StudyStore::open(store_of(arguments.first));
  const std::unique_ptr<StudyStore> b = StudyStore::open(store_of(arguments.second));
  const StudyComparison comparison = compare_studies(*a, *b);
  write_file("-", arguments.format == OutputFormat::json ? to_text(to_json(comparison))
                                                         : to_text(comparison));
  return done;
}

}  // namespace

void add_study(Verb& program, Job& job) {
  auto arguments = std::make_shared<StudyArguments>();
  Verb& verb = *program.add_subcommand("study", study_help);
  verb.add_option("plan", arguments->plan, "what to run (YAML; see studies/)");
  verb.add_option("-o,--output", arguments->folder,
                  "folder of the results; what it holds of this study is not run again");
  verb.add_option("--paper", arguments->paper,
                  "the paper's numbers (default: paper_values.csv beside the plan)");
  verb.add_flag("--report-only", arguments->report_only,
                "write tables and figures of what is finished, run nothing");
  add_flags(verb, arguments->common, {"seed"});  // the plan's seed counts
  verb.footer(
      "Examples:\n"
      "  ellice study studies/quick.yaml -o quick        # minutes; open quick/index.html\n"
      "  ellice study studies/corrected.yaml -o full     # hours; stop and go on as you like\n"
      "  ellice study compare quick full");
  verb.callback([arguments, &job, &verb] {
    if (!verb.chose_subcommand()) job = [arguments] { return run(*arguments); };
  });

  auto comparing = std::make_shared<CompareArguments>();
  Verb& compare = *verb.add_subcommand("compare", "two result folders, person by person");
  compare.add_option("first", comparing->first, "folder of a study")->required();
  compare.add_option("second", comparing->second, "folder of another")->required();
  add_format(compare, comparing->format);
  compare.callback([comparing, &job] { job = [comparing] { return run_compare(*comparing); }; });
}

}  // namespace ellice::cli

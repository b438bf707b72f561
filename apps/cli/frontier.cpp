#include <memory>

#include "core/stop.hpp"
#include "data/row_file.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "explain/frontier_file.hpp"
#include "interruption.hpp"
#include "problem_arguments.hpp"
#include "report/text_table.hpp"
#include "request/query_reader.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

constexpr std::size_t frontier_rows = 4096;

struct FrontierArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string queries = {};
  std::vector<std::string> epsilons = {"0", "0.5%", "1%", "2%", "5%", "10%", "15%", "20%"};
  ProblemArguments problem = {};
  RowArguments rows = {};
  OutputFormat format = OutputFormat::table;
  std::string output = "-";
};

ExitStatus run_frontier(const FrontierArguments& arguments) {
  const Console console = begin(arguments.common);
  const OwnedProblem owned(
      read_request(arguments.model, arguments.problem, arguments.rows, arguments.common));
  const Problem& problem = owned.problem();
  const Execution execution{.threads = arguments.common.threads, .progress = console.progress()};
  const FrontierTracer frontier(owned, arguments.epsilons, execution);
  const std::vector<double>& epsilons = frontier.epsilons();
  for (const std::string& note : owned.notes()) console.warning(note);
  CsvReader source = open_rows(arguments.queries, owned.model().schema().format,
                               [&](const std::string& remark) { console.warning(remark); });
  QueryReader reader(owned.model(), source, std::nullopt, OnError::stop);
  const bool proved = frontier.is_proved();
  const bool as_json = arguments.format == OutputFormat::json;
  Json document = frontier_document(problem, epsilons);
  TextTable table(std::vector<TextTable::Align>(epsilons.size() + 2, TextTable::Align::right));
  std::vector<std::string> header = {"query"};
  for (const double epsilon : epsilons) header.push_back(rounded(epsilon, 3));
  header.emplace_back("max epsilon");
  table.header(header);

  std::size_t rows = 0;
  std::size_t traced = 0;
  const FinishedScope finished(true);
  while (!is_stop_requested()) {
    const QueryBlock block = reader.next(frontier_rows);
    rows += block.size();
    if (block.size() == 0) break;
    for (const FrontierCurve& curve : frontier.trace(block.queries, execution)) {
      ++traced;
      if (as_json) {
        document["results"].push_back(to_json(curve));
        continue;
      }
      std::vector<std::string> cells = {std::to_string(curve.query_index)};
      for (const FrontierPoint& point : curve.points)
        cells.push_back(point.feasible ? fmt::format("{:.3f}", point.distance) : "-");
      cells.push_back(curve.max_epsilon
                          ? (curve.is_max_proved ? "" : "≥ ") + rounded(*curve.max_epsilon, 3)
                          : "> last");
      table.row(cells);
    }
  }
  if (is_stop_requested()) {
    if (traced == 0) check_stop();
    stop_was_heard();
    document["interrupted"] = true;
    console.warning(fmt::format("interrupted: {} curves were finished and are written", traced));
  } else {
    check_query_indices(arguments.problem, problem.constraints, arguments.queries, rows);
  }
  const std::string text =
      as_json
          ? to_text(document)
          : fmt::format(
                "Distance (l2, model space) of the nearest robust point {}by epsilon; - where "
                "{}; grids and\nrules between features are left out\n\n{}",
                proved ? "" : "found ", proved ? "there is none" : "none was found", table.text());
  write_file(arguments.output, text);
  check_stop();
  return done;
}

}  // namespace

void add_frontier(Verb& program, Job& job) {
  auto arguments = std::make_shared<FrontierArguments>();
  Verb& verb = *program.add_subcommand(
      "frontier", "what robustness costs: distance against epsilon, for every row of a table");
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("queries", arguments->queries,
                  "CSV file with one person per row, or - for standard input")
      ->required();
  verb.add_option("--epsilons", arguments->epsilons,
                  "levels, each as --epsilon of explain takes it")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("E,...")
      ->capture_default_str();
  add_problem_options(verb, arguments->problem);
  add_class_options(verb, arguments->problem);
  add_retrain_option(verb, arguments->problem);
  add_row_options(verb, arguments->rows, "Training rows (better starts for networks)");
  add_format(verb, arguments->format);
  add_output(verb, arguments->output);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice frontier m.json people.csv\n"
      "  ellice frontier m.json people.csv --epsilons 0,0.005,0.01,0.02 --lock income --format "
      "json -o frontier.json");
  verb.callback([arguments, &job] { job = [arguments] { return run_frontier(*arguments); }; });
}

}  // namespace ellice::cli

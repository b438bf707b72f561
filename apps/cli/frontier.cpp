#include "ellice/recourse/frontier.hpp"

#include <algorithm>
#include <memory>

#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/recourse/query_reader.hpp"
#include "ellice/recourse/selection_effect.hpp"
#include "ellice/report/text_table.hpp"
#include "problem_arguments.hpp"
#include "training_rows.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

constexpr std::size_t block_rows = 4096;

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

Json curve_json(const FrontierCurve& curve) {
  Json points = Json::array();
  for (const FrontierPoint& point : curve.points) {
    Json json = {{"epsilon", point.epsilon}, {"feasible", point.feasible}};
    if (point.feasible) {
      json["distance"] = point.distance;
      json["cost"] = point.cost;
    }
    points.push_back(json);
  }
  Json json = {{"query_index", curve.query_index}};
  if (curve.max_epsilon) {
    json["max_epsilon"] = *curve.max_epsilon;
    json["max_epsilon_is_proved"] = curve.is_max_proved;
  }
  json["points"] = points;
  return json;
}

ExitStatus run_frontier(const FrontierArguments& arguments) {
  validate(arguments.common, "options");
  const Console console = arguments.common.console();
  const Models models = read_models(arguments.model, arguments.problem);
  const Model& model = models.model;
  std::vector<EpsilonRule> rules;
  for (const std::string& text : arguments.epsilons) rules.push_back(parse_epsilon_rule(text));
  const bool rules_need_rows =
      std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return rule.needs_rows(); });
  const bool is_true = arguments.problem.set == enum_name(SetKind::true_set);
  std::optional<TrainingRows> training;
  if (rules_need_rows || arguments.rows.given() || model.rows || is_true) {
    training = read_training_rows(arguments.rows, model, console,
                                  is_true           ? "--set true"
                                  : rules_need_rows ? "--epsilons accuracy:"
                                                    : "frontier",
                                  is_true || rules_need_rows ? OtherData::refuse : OtherData::warn);
  }
  const StoredRows* rows_of_model = training ? &training->fitted.rows : nullptr;
  const Problem problem = make_problem(arguments.problem, models, rows_of_model);
  require(problem.cost.sparsity_weight == 0,
          "--sparsity-weight is understood by explain --method data only; leave it out");
  const std::vector<Query> people = training ? people_of(problem, *training) : std::vector<Query>{};
  std::vector<double> epsilons;
  for (const EpsilonRule& rule : rules) {
    epsilons.push_back(resolve_epsilon(rule, problem, people,
                                       {.rows = rows_of_model,
                                        .retraining = problem.retraining,
                                        .execution = {.threads = arguments.common.threads}}));
  }
  std::sort(epsilons.begin(), epsilons.end());
  epsilons.erase(std::unique(epsilons.begin(), epsilons.end()), epsilons.end());

  const Frontier frontier(problem, rows_of_model);
  CsvReader source(arguments.queries);
  QueryReader reader(model, source, std::nullopt, QueryReader::OnError::stop);
  const bool proved = frontier.is_solved_at_once();
  const bool as_json = arguments.format == OutputFormat::json;
  Json document = make_envelope("ellice.frontier", 1);
  document["model_sha256"] = model.sha256;
  document["set"] = std::string(enum_name(problem.set.kind));
  document["cost"] = std::string(enum_name(problem.cost.kind));
  document["options"] = to_json(problem.constraints);
  document["options"]["threshold"] = problem.threshold;
  document["epsilons"] = epsilons;
  document["results"] = Json::array();
  TextTable table(std::vector<TextTable::Align>(epsilons.size() + 2, TextTable::Align::right));
  std::vector<std::string> header = {"query"};
  for (const double epsilon : epsilons) header.push_back(rounded(epsilon, 3));
  header.emplace_back("max epsilon");
  table.header(header);

  std::size_t rows = 0;
  while (true) {
    const QueryBlock block = reader.next(block_rows);
    rows += block.size();
    if (block.size() == 0) break;
    std::vector<FrontierCurve> curves(block.queries.size());
    parallel_for("tracing", block.queries.size(),
                 {.threads = arguments.common.threads, .progress = console.progress()},
                 [&](std::size_t i) { curves[i] = frontier.trace(block.queries[i], epsilons); });
    for (const FrontierCurve& curve : curves) {
      if (as_json) {
        document["results"].push_back(curve_json(curve));
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
  check_query_indices(arguments.problem, problem.constraints, arguments.queries, rows);
  const std::string text =
      as_json
          ? to_text(document)
          : fmt::format(
                "Distance (l2, model space) of the nearest robust point {}by epsilon; - where "
                "{}; grids and\nrules between features are left out\n\n{}",
                proved ? "" : "found ", proved ? "there is none" : "none was found", table.text());
  write_file(arguments.output, text);
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
  verb.add_option("-o,--output", arguments->output, "file to write, or - for standard output")
      ->capture_default_str();
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice frontier m.json people.csv\n"
      "  ellice frontier m.json people.csv --epsilons 0,0.005,0.01,0.02 --lock income --format "
      "json -o frontier.json");
  verb.callback([arguments, &job] { job = [arguments] { return run_frontier(*arguments); }; });
}

}  // namespace ellice::cli

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "answer_run.hpp"
#include "answer_sink.hpp"
#include "core/utf8.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "ellice/report/sentence.hpp"
#include "interruption.hpp"
#include "letter_arguments.hpp"
#include "methods/method_table.hpp"
#include "problem_arguments.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"
#include "request/problem.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct ExplainArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string queries = {};
  std::string epsilon = "auto";
  std::string method = std::string(automatic_method);
  ProblemArguments problem = {};
  MethodOptions options = {};
  RowArguments rows = {};
  bool attack = false;
  bool declined = false;
  bool nearest = false;
  std::string worth = "20%";
  std::string refit = {};
  std::string id = {};
  std::string reason_codes = {};
  std::string on_error = "stop";
  bool strict = false;
  bool timings = false;
  AnswerFormat format = AnswerFormat::table;
  TableOptions table = {};
  bool all_features = false;
  std::string output = "-";
  LetterArguments letters = {};
};

/// That the two files do not stand in each other's place.
void check_order(const ExplainArguments& arguments) {
  const auto begins_as_json = [](const std::string& path) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown)) return false;  // a pipe is read once
    std::ifstream file(path);
    char first = 0;
    return static_cast<bool>(file >> first) && first == '{';
  };
  require(!begins_as_json(arguments.queries) || begins_as_json(arguments.model),
          "{} is a model and {} a table of people: the model comes first, `ellice explain {} {}`",
          arguments.queries, arguments.model, arguments.queries, arguments.model);
}

/// The model with its last layer refitted, which is written where the user wants it.
std::shared_ptr<const Model> refitted(const ExplainArguments& arguments,
                                      const ExplainRequest& request, const Console& console) {
  const auto rows = or_stored_rows(request.rows, *request.model);
  require_rows(rows.get(), *request.model, "--refit", RowsOf::any);
  const double before = request.model->training.head_decrement;
  auto model = std::make_shared<const Model>(refit_model(*request.model, rows->fitted.rows));
  write_model(arguments.refit, *model);
  console.info(fmt::format(
      "wrote {}: its last layer is the minimiser (it was {} above); the answers are for this "
      "model",
      arguments.refit, rounded(before, 3)));
  return model;
}

ExplainRequest make_request(const ExplainArguments& arguments, const Console& console) {
  (void)parse_worth(arguments.worth);  // before anything is computed
  if (!arguments.letters.date.empty()) (void)parse_date(arguments.letters.date, "--date");
  require(!arguments.nearest || !arguments.options.exact.trade_off,
          "--nearest does not go with --trade-off");
  require(!arguments.table.spreadsheet_safe || arguments.format == AnswerFormat::csv,
          "--spreadsheet-safe is for --format csv");
  require(!arguments.table.certificates || arguments.format == AnswerFormat::csv,
          "--certificates is for --format csv; JSON has them anyway");
  ExplainRequest request =
      read_request(arguments.model, arguments.problem, arguments.rows, arguments.common);
  if (!arguments.refit.empty()) request.model = refitted(arguments, request, console);
  request.epsilon = arguments.epsilon;
  request.method = arguments.method;
  request.options = arguments.options;
  // Letters show the rows of the answers that are written beside them.
  request.display = rounds_for_display(arguments.format) || arguments.letters.are_asked();
  request.attack = arguments.attack;
  request.declined = arguments.declined;
  request.shows_trade_off =
      !arguments.nearest && (rounds_for_display(arguments.format) || arguments.letters.are_asked());
  request.timings = arguments.timings;
  request.reasons = has_reasons(arguments.format) || arguments.letters.are_asked();
  if (!arguments.reason_codes.empty()) {
    require(request.reasons, "--reason-codes: --format {} has no reasons; give another format",
            enum_name(arguments.format));
    require(Reasoner::supports(*request.model), "--reason-codes: {}", Reasoner::unsupported);
    request.reason_codes = read_reason_codes(arguments.reason_codes, request.model->schema());
  }
  return request;
}

/// Options that the request does not know, for a page that is kept as a record.
std::vector<std::pair<std::string, std::string>> run_options(const ExplainArguments& arguments) {
  const auto yes = [](bool is) { return std::string(is ? "true" : "false"); };
  return {{"worth", arguments.worth},
          {"nearest", yes(arguments.nearest)},
          {"attack", yes(arguments.attack)},
          {"refit", yes(!arguments.refit.empty())},
          {"reason_codes", yes(!arguments.reason_codes.empty())},
          {"id", arguments.id},
          {"on_error", arguments.on_error},
          {"strict", yes(arguments.strict)}};
}

/// What is said when all is written, and the exit status.
ExitStatus conclude(const ExplainArguments& arguments, const AnswerSink& sink,
                    const Console& console) {
  const AnswerTally& tally = sink.tally();
  const std::size_t certified = tally.certified();
  if (arguments.output != "-" && !arguments.letters.keeps_answers) {
    console.info(fmt::format("wrote {}: {} of {} queries certified", arguments.output, certified,
                             tally.queries()));
  }
  if (sink.guard().found() > 0 && !arguments.table.spreadsheet_safe) {
    console.warning(
        fmt::format("{} cells begin with =, +, -, @, a tab or a carriage return and are no numbers "
                    "(the first: \"{}\"): a spreadsheet takes them for formulas; "
                    "--spreadsheet-safe puts an apostrophe before them",
                    sink.guard().found(), shortened(sink.guard().first(), 40)));
  }
  if (!tally.held().empty()) {
    console.warning(fmt::format("kept at the query's value, because their kind is not searched: {}",
                                fmt::join(tally.held(), ", ")));
  }
  if (tally.protected_refusals() > 0) {
    console.warning(fmt::format(
        "in {} of {} queries a principal reason is protected by the schema ({}): such a decision "
        "may be unlawful; have the model examined before these reasons are given to anybody",
        tally.protected_refusals(), tally.queries(), fmt::join(tally.protected_titles(), ", ")));
  }
  if (!arguments.strict || certified == tally.queries()) return done;
  console.error(fmt::format("--strict: {} of {} queries got no certified answer",
                            tally.queries() - certified, tally.queries()));
  return not_certified;
}

void keep_finished(const ExplainArguments& arguments, AnswerSink& sink, const Console& console) {
  stop_was_heard();
  if (arguments.letters.keeps_answers || !sink.interrupt()) return;
  console.warning(fmt::format("interrupted: {} holds the {} answers that were finished",
                              arguments.output == "-" ? "standard output" : arguments.output,
                              sink.tally().queries()));
}

ExitStatus run_explain(ExplainArguments arguments) {
  const Console console = begin(arguments.common);
  check_order(arguments);
  const std::unique_ptr<LetterJob> letters =
      arguments.letters.are_asked() ? std::make_unique<LetterJob>(arguments.letters, arguments.id)
                                    : nullptr;
  if (letters && arguments.letters.keeps_answers) {
    arguments.format = AnswerFormat::json;
    arguments.output = letters->answers_path();
  }
  const Explainer explainer(make_request(arguments, console),
                            {.threads = arguments.common.threads, .progress = console.progress()});
  for (const std::string& note : explainer.notes()) console.warning(note);

  CsvReader source = open_rows(arguments.queries, explainer.model().schema().format,
                               [&](const std::string& remark) { console.warning(remark); });
  const bool trades_off = arguments.options.exact.trade_off || explainer.shows_trade_off();
  const double worth = parse_worth(arguments.worth);
  // Letters have one plan, and files that stand beside them the same.
  const bool has_one_plan = explainer.shows_trade_off() && !rounds_for_display(arguments.format);
  AnswerRun run(explainer, source,
                {.threads = arguments.common.threads,
                 .id = arguments.id.empty() ? std::nullopt : std::optional(arguments.id),
                 .on_error = arguments.on_error == "skip" ? OnError::skip : OnError::stop,
                 .worth = has_one_plan ? std::optional(worth) : std::nullopt,
                 .progress = console.progress(),
                 .check_rows = [&](std::size_t rows) {
                   check_query_indices(arguments.problem, explainer.problem().constraints,
                                       arguments.queries, rows);
                 }});
  AnswerSink sink(explainer, {.format = arguments.format,
                              .table = arguments.table,
                              .has_id = !arguments.id.empty(),
                              .all_features = arguments.all_features,
                              .colour = arguments.output == "-" && ::isatty(STDOUT_FILENO) == 1,
                              .output = arguments.output,
                              .date = arguments.letters.date,
                              .options = run_options(arguments),
                              .answers_at = answers_at(explainer, arguments.common.threads),
                              .trade_off = trades_off,
                              .worth = worth,
                              .rows = explainer.request().rows});
  if (letters) letters->begin(explainer, trades_off ? std::optional(worth) : std::nullopt);
  try {
    run.write(sink, letters ? letters->batch() : nullptr);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) keep_finished(arguments, sink, console);
    throw;
  }
  sink.finish();
  const std::size_t left_out = arguments.declined ? run.rows() - sink.tally().queries() : 0;
  if (letters) letters->finish(left_out, console);
  run.ids().warn(arguments.id, letters != nullptr, console);
  for (const std::string& remark : run.remarks().texts()) console.warning(remark);
  console.info(fmt::format("epsilon {} ({}): a certified plan is {}",
                           rounded(explainer.epsilon(), 3), explainer.resolved().rule.text,
                           epsilon_meaning(explainer.resolved().rule, explainer.problem())));
  if (arguments.declined) {
    const std::size_t rows = run.rows();
    console.info(fmt::format("--declined: {} of {} {} accepted as they are and left out", left_out,
                             rows, rows == 1 ? "person is" : "people are"));
  }
  return conclude(arguments, sink, console);
}

void add_method_options(Verb& verb, MethodOptions& options) {
  add_flags(verb, options.exact, {"node_limit", "time_limit", "proof"},
            fmt::format("Few changes and several plans (--method {}; --trade-off: {})",
                        methods_with(&Method::plans), methods_with(&Method::trade_off)));
  MethodOptions::groups(options, [&](std::string_view name, auto& own) {
    add_flags(
        verb, own, {"max_changes", "sparse", "trade_off", "plans", "seed"},
        fmt::format("{} (--method {})", capitalized(std::string(find_method(name).heading)), name));
  });
  add_flags(verb, options.baseline, {"seed"},
            fmt::format("Methods of others (--method {})", baseline_names()));
}

}  // namespace

void add_explain(Verb& program, Job& job) {
  auto arguments = std::make_shared<ExplainArguments>();
  Verb& verb =
      *program.add_subcommand("explain", "what to change, for every row of a table, certified");
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("queries", arguments->queries,
                  "CSV file with one person per row, or - for standard input")
      ->required();
  verb.add_option("--epsilon", arguments->epsilon,
                  std::string(epsilon_help) + "; 0 is the plain nearest counterfactual")
      ->capture_default_str()
      ->type_name("E");
  verb.add_option("--method", arguments->method,
                  fmt::format("how to search; auto is the first of {} that takes the model. {} are "
                              "methods of others, which promise nothing: their rows are judged "
                              "afterwards",
                              methods_with(&Method::automatic), baseline_names()))
      ->one_of(method_names())
      ->capture_default_str();
  add_problem_options(verb, arguments->problem);
  add_class_options(verb, arguments->problem);
  add_retrain_option(verb, arguments->problem);
  add_row_options(verb, arguments->rows, "Training rows");
  add_method_options(verb, arguments->options);
  verb.add_option("--worth", arguments->worth,
                  "table and html show the best plans with one to four changes (of more, where the "
                  "fewest are more) and recommend the one after which another change saves less "
                  "than this share of the cost")
      ->capture_default_str()
      ->type_name("P%");
  verb.add_flag("--nearest", arguments->nearest,
                "table and html show the nearest plan alone, however many changes it has");
  verb.add_flag("--declined", arguments->declined,
                "leave out people whom the model accepts as they are; how many is said");
  verb.add_flag("--attack", arguments->attack,
                "look for a real network within epsilon that breaks each answer (needs training "
                "rows)");
  verb.add_option("--refit", arguments->refit,
                  "refit the last layer first (needs training rows), write the model here and "
                  "answer for it")
      ->type_name("FILE");
  verb.add_option("--id", arguments->id, "column to echo with each answer")->type_name("COLUMN");
  verb.add_option("--reason-codes", arguments->reason_codes,
                  "YAML file with codes and texts for the reasons of refusals")
      ->type_name("FILE");
  verb.add_option("--on-error", arguments->on_error,
                  "a row that cannot be read ends the run, or becomes an answer `invalid`")
      ->one_of({"stop", "skip"})
      ->capture_default_str();
  verb.add_flag("--strict", arguments->strict,
                "exit status 4 unless every query gets a certified answer");
  verb.add_flag("--timings", arguments->timings, "seconds per answer in the file");
  verb.add_flag("--all-features", arguments->all_features, "show unchanged features too (table)");
  add_choice(verb, "--format", arguments->format,
             "form of the result; table and html round to sensible digits");
  add_output(verb, arguments->output);
  add_letter_options(verb, arguments->letters);
  add_flags(verb, arguments->table);
  add_flags(verb, arguments->common);
  verb.principal({"--epsilon", "--set", "--lock", "--bounds", "--direction", "--constraints",
                  "--threshold", "--data", "--max-changes", "--sparse", "--trade-off", "--id",
                  "--declined", "--format", "--output", "--quiet"});
  verb.footer(
      "Examples:\n"
      "  ellice explain m.json people.csv\n"
      "  ellice explain m.json people.csv --epsilon 5% --lock income --bounds debt=:9000 -o "
      "plans.json\n"
      "  ellice explain m.json people.csv -o plans.html\n"
      "  ellice explain m.json people.csv --epsilon 5% --method data --data loans.csv --format csv "
      "-o plans.csv\n"
      "  ellice explain m.json people.csv --epsilon 5% --set true --data loans.csv\n"
      "  ellice explain network.json people.csv --epsilon auto --data loans.csv --attack\n"
      "  ellice explain network.json people.csv --epsilon 5% --method proplace --delta 0.01 --data "
      "loans.csv\n"
      "  ellice explain classes.json people.csv --epsilon 5% --target yes,maybe --margin 0.1\n"
      "  ellice explain m.json people.csv --id name --letters letters --lender \"Bank of Ellice\" "
      "--date 2026-05-31 --language de\n"
      "  ellice verify m.json plans.json");
  verb.callback([arguments, &verb, &job] {
    arguments->letters.keeps_answers =
        arguments->letters.are_asked() && !verb.gives("--format") && !verb.gives("--output");
    check_letter_options(verb, arguments->letters);
    if (!verb.gives("--format")) arguments->format = format_of(arguments->output);
    require(!verb.gives("--date") || arguments->letters.are_asked() ||
                arguments->format == AnswerFormat::html,
            "--date is for --letters and --format html; give one of them as well, or leave it out");
    job = [arguments] { return run_explain(*arguments); };
  });
}

}  // namespace ellice::cli

#include <unistd.h>

#include <memory>

#include "answer_sink.hpp"
#include "baseline_arguments.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/stopwatch.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "ellice/recourse/any_class.hpp"
#include "ellice/recourse/attack_answers.hpp"
#include "ellice/recourse/automatic.hpp"
#include "ellice/recourse/data_supported.hpp"
#include "ellice/recourse/exact_search.hpp"
#include "ellice/recourse/gradient.hpp"
#include "ellice/recourse/greedy.hpp"
#include "ellice/recourse/gumbel.hpp"
#include "ellice/recourse/local_search.hpp"
#include "ellice/recourse/query_reader.hpp"
#include "ellice/recourse/selection_effect.hpp"
#include "ellice/report/text_table.hpp"
#include "problem_arguments.hpp"
#include "training_rows.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

// Rows that are read, answered and written together: enough to keep all threads busy, and bounded
// memory.
constexpr std::size_t block_rows = 8192;

struct ExplainArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string queries = {};
  std::string epsilon = {};
  std::string method = "auto";
  ProblemArguments problem = {};
  GradientOptions gradient = {};
  GreedyOptions greedy = {};
  GumbelOptions gumbel = {};
  ExactOptions exact = {};
  DataSupportedOptions data_options = {};
  LocalSearchOptions network = {};
  BaselineOptions baseline = {};
  RowArguments rows = {};
  bool attack = false;
  std::string refit = {};
  std::string id = {};
  std::string reason_codes = {};
  std::string on_error = "stop";
  bool strict = false;
  bool timings = false;
  AnswerFormat format = AnswerFormat::table;
  bool all_features = false;
  std::string output = "-";
};

/// What the whole run works with.
struct Run {
  Models models = {};
  std::optional<TrainingRows> rows = {};  // where given or needed
  Request request = {};
};

/// Refuses wishes that a method does not know.
void check_wishes(const ExactOptions& wishes, const std::string& method) {
  if (method == "exact") return;
  const ExactOptions none;
  require(wishes.node_limit == none.node_limit && wishes.time_limit == none.time_limit,
          "--node-limit and --time-limit belong to --method exact");
  require(!wishes.trade_off,
          "--trade-off belongs to --method exact, which proves the fewest changes");
  const bool knows_plans = method == "network" || method == "data";
  require(knows_plans || wishes.plans == 1,
          "--plans {}: several plans are found by --method exact, network and data only",
          wishes.plans);
  require(knows_plans || (!wishes.max_changes && !wishes.sparse),
          "--max-changes and --sparse belong to --method exact, network and data");
}

/// For the request's problem, or the same with another model.
std::unique_ptr<Generator> make_generator(const ExplainArguments& arguments, Run& run,
                                          const Problem& problem) {
  Request& request = run.request;
  const Execution execution{.threads = arguments.common.threads};
  const bool exact = request.method == "exact";
  check_wishes(arguments.exact, request.method);
  if (is_baseline(request.method)) {
    return make_baseline(arguments.baseline, run.rows ? &*run.rows : nullptr, request, problem,
                         execution);
  }
  if (request.method == "gradient") {
    (*request.method_options)["gradient"] = fields_to_json(arguments.gradient);
    return std::make_unique<GradientSearch>(problem, arguments.gradient);
  }
  if (request.method == "greedy") {
    (*request.method_options)["greedy"] = fields_to_json(arguments.greedy);
    (*request.method_options)["gradient"] = fields_to_json(arguments.gradient);
    return std::make_unique<GreedySearch>(problem, arguments.greedy, arguments.gradient);
  }
  if (request.method == "gumbel") {
    GumbelOptions gumbel = arguments.gumbel;
    gumbel.seed = arguments.common.seed;
    (*request.method_options)["gumbel"] = fields_to_json(gumbel);
    (*request.method_options)["gradient"] = fields_to_json(arguments.gradient);
    return std::make_unique<GumbelSearch>(problem, gumbel, arguments.gradient);
  }
  if (request.method == "data") {
    DataSupportedOptions options = arguments.data_options;
    options.max_changes = arguments.exact.max_changes;
    options.sparse = arguments.exact.sparse;
    options.plans = arguments.exact.plans;
    (*request.method_options)["data"] = fields_to_json(options);
    return std::make_unique<DataSupported>(problem, run.rows->fitted.raw, options, execution);
  }
  if (exact) {
    const ExactOptions& options = arguments.exact;
    if (options != ExactOptions{}) (*request.method_options)["exact"] = fields_to_json(options);
    return std::make_unique<ExactSearch>(problem, options);
  }
  LocalSearchOptions network = arguments.network;
  network.seed = arguments.common.seed;
  network.max_changes = arguments.exact.max_changes;
  network.sparse = arguments.exact.sparse;
  network.plans = arguments.exact.plans;
  (*request.method_options)["network"] = fields_to_json(network);
  return std::make_unique<LocalSearch>(problem, run.rows ? &run.rows->fitted.rows : nullptr,
                                       network, execution);
}

/// The same for the request's problem, whichever of several classes it asks for.
std::unique_ptr<Generator> make_generator(const ExplainArguments& arguments, Run& run) {
  const Problem& problem = run.request.problem;
  if (!has_several_targets(problem)) return make_generator(arguments, run, problem);
  return std::make_unique<AnyClass>(
      problem, [&](const Problem& single) { return make_generator(arguments, run, single); },
      arguments.exact.sparse);
}

/// The models, rows and request of a command line, in the order in which they depend on each other.
Run prepare(const ExplainArguments& arguments, const Console& console) {
  Run run{.models = read_models(arguments.model, arguments.problem)};
  Model& model = run.models.model;
  if (arguments.attack) require_one_logit(model, "--attack");
  const bool is_true = arguments.problem.set == enum_name(SetKind::true_set);
  const EpsilonRule rule = parse_epsilon_rule(arguments.epsilon);
  const bool rule_needs_rows = rule.needs_rows();
  // Then the rows decide epsilon, if parameters are many.
  const bool rule_uses_rows =
      rule_needs_rows || (parse_retraining(arguments.problem.retrain).fresh_rows &&
                          rule.asked_survival(model, {}).has_value());
  if (is_baseline(arguments.method)) require_one_logit(model, "--method " + arguments.method);
  const bool method_needs_rows = arguments.method == "data" ||
                                 baseline_needs_rows(arguments.method, arguments.baseline, model);
  const bool needs_rows = method_needs_rows || arguments.attack || !arguments.refit.empty() ||
                          rule_needs_rows || is_true;
  if (needs_rows || arguments.rows.given() || model.rows) {
    run.rows = read_training_rows(arguments.rows, model, console,
                                  is_true             ? "--set true"
                                  : method_needs_rows ? "--method " + arguments.method
                                  : arguments.attack  ? "--attack"
                                  : rule_needs_rows   ? "--epsilon " + arguments.epsilon
                                                      : "--refit",
                                  is_true || rule_uses_rows ? OtherData::refuse : OtherData::warn);
  }
  if (!arguments.refit.empty()) {
    const double before = model.training.head_decrement;
    model = refit_model(model, run.rows->fitted.rows);
    write_model(arguments.refit, model);
    console.info(fmt::format(
        "wrote {}: its last layer is the minimiser (it was {} above); the answers are for this "
        "model",
        arguments.refit, rounded(before, 3)));
  }
  return run;
}

/// What finds the reasons of refusals, where the format has a place for them.
std::optional<Reasoner> make_reasoner(const ExplainArguments& arguments, Run& run) {
  const Model& model = run.models.model;
  const bool given = !arguments.reason_codes.empty();
  require(!given || arguments.format != AnswerFormat::csv,
          "--reason-codes: --format csv has no reasons; give another format");
  require(!given || Reasoner::supports(model), "--reason-codes: {}", Reasoner::unsupported);
  const ReasonCodes codes =
      given ? read_reason_codes(arguments.reason_codes, model.schema()) : ReasonCodes{};
  if (arguments.format == AnswerFormat::csv || !Reasoner::supports(model)) return std::nullopt;
  Request& request = run.request;
  const double threshold = request.problem.threshold;
  request.reference = make_reference(model, threshold, run.rows ? &run.rows->fitted.rows : nullptr);
  return Reasoner(model, threshold, *request.reference, codes);
}

void warn_of_head(const Problem& problem, const Console& console) {
  const double decrement = problem.model->training.head_decrement;
  if (!is_ellipsoidal(problem.set.kind) || decrement <= 0.01 * problem.epsilon ||
      decrement <= 1e-12)
    return;
  console.warning(fmt::format(
      "the model's last layer is {} above the minimum of its objective, which is not small against "
      "epsilon = {}: the ellipsoid is centred off the optimum; use --refit FILE or train --refit",
      rounded(decrement, 3), rounded(problem.epsilon, 3)));
}

ExitStatus run_explain(const ExplainArguments& arguments) {
  validate(arguments.common, "options");
  check_baseline_options(arguments.method, arguments.baseline);
  const Console console = arguments.common.console();
  Run run = prepare(arguments, console);
  const Model& model = run.models.model;
  Request& request = run.request;
  request = {.problem = make_problem(arguments.problem, run.models,
                                     run.rows ? &run.rows->fitted.rows : nullptr),
             .rule = parse_epsilon_rule(arguments.epsilon),
             .method = arguments.method,
             .seed = arguments.common.seed};
  Problem& problem = request.problem;
  if (request.method == "auto")
    request.method = why_not_exact(problem).empty() ? "exact" : "network";
  problem.epsilon = resolve_epsilon(
      request.rule, problem, run.rows ? people_of(problem, *run.rows) : std::vector<Query>{},
      {.rows = run.rows ? &run.rows->fitted.rows : nullptr,
       .retraining = problem.retraining,
       .execution = {.threads = arguments.common.threads, .progress = console.progress()}});
  if (rounds_for_display(arguments.format)) problem.display_steps = sensible_steps(model.encoder);
  validate(problem);
  warn_of_head(problem, console);
  const std::unique_ptr<Generator> generator = make_generator(arguments, run);
  const std::optional<Reasoner> reasoner = make_reasoner(arguments, run);

  CsvReader source(arguments.queries);
  QueryReader reader(
      model, source, arguments.id.empty() ? std::nullopt : std::optional(arguments.id),
      arguments.on_error == "skip" ? QueryReader::OnError::skip : QueryReader::OnError::stop);
  AnswerSink sink(request, {.format = arguments.format,
                            .has_id = !arguments.id.empty(),
                            .all_features = arguments.all_features,
                            .colour = arguments.output == "-" && ::isatty(STDOUT_FILENO) == 1,
                            .output = arguments.output});
  const Progress progress = console.progress();
  std::size_t rows = 0;
  while (true) {
    const QueryBlock block = reader.next(block_rows);
    if (block.size() < block_rows) {  // the last one: nothing of it is written yet
      check_query_indices(arguments.problem, problem.constraints, arguments.queries,
                          rows + block.size());
    }
    if (block.size() == 0) break;
    const Stopwatch watch;
    std::vector<Recourse> answers =
        generator->generate(block.queries, {.threads = arguments.common.threads});
    if (arguments.timings) {
      for (Recourse& answer : answers)
        answer.seconds = watch.seconds() / static_cast<double>(answers.size());
    }
    const bool is_plain = request.method == "exact" && arguments.exact == ExactOptions{};
    correct_for_selection(problem, block.queries, answers,
                          [&](const Problem& disturbed) {
                            return is_plain ? disturbed_generator(disturbed)
                                            : make_generator(arguments, run, disturbed);
                          },
                          {.threads = arguments.common.threads, .progress = progress});
    if (arguments.attack) {
      attack_answers(answers, problem, run.rows->fitted.rows,
                     {.threads = arguments.common.threads});
    }
    if (reasoner) add_reasons(answers, *reasoner, {.threads = arguments.common.threads});
    sink.add(std::move(answers), block.invalid);
    rows += block.size();
    // The number of rows is known only at the end; the bytes read so far tell how far that is.
    const double share = source.bytes_total() > 0 ? static_cast<double>(source.bytes_read()) /
                                                        static_cast<double>(source.bytes_total())
                                                  : 0;
    const auto total = share > 0 ? static_cast<std::size_t>(static_cast<double>(rows) / share) : 0;
    report_progress(progress, {"explaining", rows, std::max(total, total == 0 ? 0 : rows)});
  }
  sink.finish();
  const BatchSummary& summary = sink.summary();
  const std::size_t certified = summary.count(Status::optimal) + summary.count(Status::certified) +
                                summary.count(Status::already_robust);
  if (arguments.output != "-") {
    console.info(fmt::format("wrote {}: {} of {} queries certified", arguments.output, certified,
                             summary.queries()));
  }
  if (!sink.held().empty()) {
    console.warning(fmt::format("kept at the query's value, because their kind is not searched: {}",
                                fmt::join(sink.held(), ", ")));
  }
  if (arguments.strict && certified < summary.queries()) {
    console.error(fmt::format("--strict: {} of {} queries got no certified answer",
                              summary.queries() - certified, summary.queries()));
    return not_certified;
  }
  return done;
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
      ->required()
      ->type_name("E");
  verb.add_option(
          "--method", arguments->method,
          "how to search; auto is exact for linear models, network otherwise. trex to roar are "
          "methods of others, which promise nothing: their rows are judged afterwards")
      ->one_of({"auto", "exact", "network", "gradient", "greedy", "gumbel", "data", "trex",
                "trex-i", "delta", "proplace", "roar"})
      ->capture_default_str();
  add_problem_options(verb, arguments->problem);
  add_class_options(verb, arguments->problem);
  add_retrain_option(verb, arguments->problem);
  add_row_options(verb, arguments->rows, "Training rows");
  add_flags(verb, arguments->exact, {"node_limit", "time_limit"},
            "Few changes and several plans (--method exact, network, data; --trade-off: exact)");
  add_flags(verb, arguments->exact, {"max_changes", "sparse", "trade_off", "plans"},
            "Exact search (--method exact)");
  add_flags(verb, arguments->data_options, {"max_changes", "sparse", "plans"},
            "Nearest training row (--method data)");
  add_flags(verb, arguments->network, {"seed", "max_changes", "sparse", "plans"},
            "Search for networks (--method network)");
  add_flags(verb, arguments->gradient, {}, "The paper's method (--method gradient)");
  add_flags(verb, arguments->greedy, {}, "The paper's few changes (--method greedy)");
  add_flags(verb, arguments->gumbel, {"seed"}, "The paper's mixed features (--method gumbel)");
  add_flags(verb, arguments->baseline, {},
            "Methods of others (--method trex, trex-i, delta, proplace, roar)");
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
  verb.add_option("-o,--output", arguments->output, "file to write, or - for standard output")
      ->capture_default_str();
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice explain m.json people.csv --epsilon 5%\n"
      "  ellice explain m.json people.csv --epsilon 0.01 --lock income --bounds debt=:9000 "
      "--format json -o plans.json\n"
      "  ellice explain m.json people.csv --epsilon 5% --format html -o plans.html\n"
      "  ellice explain m.json people.csv --epsilon 5% --method data --data loans.csv --format csv "
      "-o plans.csv\n"
      "  ellice explain m.json people.csv --epsilon 5% --set true --data loans.csv\n"
      "  ellice explain network.json people.csv --epsilon auto --data loans.csv --attack\n"
      "  ellice explain network.json people.csv --epsilon 5% --method proplace --delta 0.01 --data "
      "loans.csv\n"
      "  ellice explain classes.json people.csv --epsilon 5% --target yes,maybe --margin 0.1\n"
      "  ellice verify m.json plans.json");
  verb.callback([arguments, &job] { job = [arguments] { return run_explain(*arguments); }; });
}

}  // namespace ellice::cli

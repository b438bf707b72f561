#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "core/utf8.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "model/row_weights.hpp"
#include "problem_arguments.hpp"
#include "report/text_table.hpp"
#include "study/answer_file.hpp"
#include "study/judgement.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct EvaluateArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string file = {};
  std::string against = {};
  std::string queries = {};
  RowArguments rows = {};
  std::string shift_data = {};
  std::string threshold = {};
  JudgementQuestion question = {};
  MissingAnswers missing = MissingAnswers::error;
  OutputFormat format = OutputFormat::table;
  std::string output = "-";
};

/// Our files begin with a brace, tables do not.
bool is_json(const std::string& path) {
  if (path == "-") return true;
  std::ifstream stream(path);
  char first = 0;
  return !(stream >> first) || first == '{' || first == '[';
}

JudgedAnswers read_answers(const std::string& path, const EvaluateArguments& arguments,
                           const Model& model, double threshold, const Console& console) {
  const std::string source = input_name(path);
  std::optional<std::vector<Query>> queries;
  if (!arguments.queries.empty()) {
    CsvReader table = open_rows(arguments.queries, model.schema().format);
    queries = read_queries(table, model);
  }
  AnswerFile file;
  if (is_json(path) || path.ends_with(".json")) {
    file = answers_from_json(read_file(path), model, source);
  } else {
    require(queries.has_value(),
            "{} is a table of answers: the rows that it answers are needed, --queries FILE.csv",
            source);
    CsvReader table(path);
    file = answers_from_table(table, *queries, model);
  }
  if (queries) {
    complete_answers(file, *queries, model, threshold, arguments.question.explained,
                     arguments.missing, source);
  } else {
    require_all_answers(file, source);
  }
  if (file.model_sha256 && *file.model_sha256 != model.sha256) {
    console.warning(
        fmt::format("{}: these answers were made for another model than {}; `ellice compare "
                    "OLD.json {} {}` says how far it is",
                    source, arguments.model, arguments.model, path));
  }
  if (file.threshold && *file.threshold != threshold) {
    console.warning(
        fmt::format("{}: these answers were made for the threshold {}, and are judged at {}",
                    source, rounded(*file.threshold), rounded(threshold)));
  }
  require_input(!file.answers.empty(), "{}: there are no answers in it", source);
  JudgedAnswers judged{
      .batch = answer_batch(file.answers, model, threshold, arguments.question.explained),
      .epsilon = file.epsilon};
  require_input(judged.batch.size() > 0,
                "{}: there is nobody to judge: the model accepts all {} people as they are; "
                "--rows all counts them too",
                source, judged.batch.accepted);
  return judged;
}

/// How many rows, class included, are also among others.
std::size_t common_rows(const StoredRows& rows, const StoredRows& others) {
  const auto key = [](const StoredRows& of, Index i) {
    std::vector<double> values(of.encoded.row(i).begin(), of.encoded.row(i).end());
    values.push_back(of.labels[static_cast<std::size_t>(i)]);
    return values;
  };
  std::set<std::vector<double>> known;
  for (Index i = 0; i < others.encoded.rows(); ++i) known.insert(key(others, i));
  std::size_t count = 0;
  for (Index i = 0; i < rows.encoded.rows(); ++i) count += known.contains(key(rows, i)) ? 1 : 0;
  return count;
}

/// Rows that the model has not seen, for the evaluator shift.
StoredRows other_rows(const EvaluateArguments& arguments, const Model& model,
                      const TrainingRows& rows, const Console& console) {
  if (!arguments.shift_data.empty()) {
    CsvReader table = open_rows(arguments.shift_data, model.schema().format);
    const std::optional<RowWeights>& weights = model.training.weights;
    const Dataset data = read_dataset(table, model.schema(), console.progress(),
                                      ClassValues::of_schema, weights ? weights->column : "");
    require_input(data.schema == model.schema(), "{}: its schema is not the model's",
                  arguments.shift_data);
    StoredRows other{.encoded = model.encoder.encode(data.raw),
                     .labels = data.labels,
                     .weights = row_weights(data, weights)};
    const std::size_t known = common_rows(other, rows.fitted.rows);
    require_input(known < other.labels.size(),
                  "{}: all of its {} rows are rows that the model was trained on; the evaluator "
                  "shift needs rows that it has not seen",
                  arguments.shift_data, other.labels.size());
    if (known > 0) {
      console.warning(fmt::format("{}: {} of its {} rows are rows that the model was trained on",
                                  arguments.shift_data, known, other.labels.size()));
    }
    return other;
  }
  require(!rows.holdout.rows.labels.empty(),
          "the evaluator shift trains on rows that the model has not seen: give --shift-data "
          "FILE.csv, or train with --holdout 0.5 and give --data or --dataset");
  return rows.holdout.rows;
}

ExitStatus run_evaluate(const EvaluateArguments& arguments) {
  const Console console = begin(arguments.common);
  JudgementQuestion question = arguments.question;
  question.seed = arguments.common.seed;
  const bool has_shift = asks_for_other_rows(question);
  const Model model = read_model(arguments.model);
  question.threshold =
      arguments.threshold.empty() ? model.decision.threshold : parse_threshold(arguments.threshold);
  const JudgedAnswers judged =
      read_answers(arguments.file, arguments, model, question.threshold, console);
  std::optional<AnswerBatch> against;
  if (!arguments.against.empty()) {
    against = read_answers(arguments.against, arguments, model, question.threshold, console).batch;
  }
  const std::shared_ptr<const TrainingRows> rows =
      read_needed_rows(arguments.rows, model, console, "evaluate");
  const StoredRows other = has_shift ? other_rows(arguments, model, *rows, console) : StoredRows{};
  const Judgement judgement =
      judge(model, {.known = rows.get(), .other = has_shift ? &other : nullptr}, judged,
            against ? &*against : nullptr, question,
            {.threads = arguments.common.threads, .progress = console.progress()});

  std::string text;
  if (arguments.format == OutputFormat::json) {
    text = to_text(judgement.to_json());
  } else {
    text = visible_lines(evaluation_text(judgement.result, judgement.request));
    if (against) {
      text += fmt::format("\n{} minus {}, by row\n\n{}", input_name(arguments.file),
                          input_name(arguments.against),
                          comparison_text(judgement.comparisons, question.intervals.confidence));
      text = visible_lines(text);
    }
  }
  write_file(arguments.output, text);
  if (arguments.output != "-") console.info(fmt::format("wrote {}", arguments.output));
  return done;
}

}  // namespace

void add_evaluate(Verb& program, Job& job) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb& verb = *program.add_subcommand("evaluate", evaluate_help);
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("answers", arguments->file,
                  "recourse file (explain --format json, jsonl or csv), or any CSV with the column "
                  "query_index and the features")
      ->required();
  verb.add_option("--queries", arguments->queries,
                  "CSV file with the people who were explained; needed for answers in CSV")
      ->type_name("FILE");
  verb.add_option("--against", arguments->against,
                  "a second file of answers to the same people: differences by row, with tests")
      ->type_name("FILE");
  verb.add_option("--evaluators", arguments->question.evaluators,
                  fmt::format("models that judge: {}", join_names(EnumNames<EvaluatorKind>::names)))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...")
      ->capture_default_str();
  verb.add_option("--target-epsilon", arguments->question.epsilon,
                  fmt::format("{} (default: that of the answers, or {} where they have none)",
                              epsilon_help, usual_epsilon))
      ->type_name("E");
  verb.add_option(
          "--metrics", arguments->question.metrics,
          fmt::format("what is measured (default: all): {}", join_names(EnumNames<Measure>::names)))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  add_choice(verb, "--rows", arguments->question.explained,
             "whose answers count: of those whom the model declines, or all");
  add_choice(verb, "--missing", arguments->missing,
             "a query without an answer is an error, or counts as not found");
  verb.add_option("--threshold", arguments->threshold,
                  "logit that counts as yes, or a probability p=0.7 (default: the model's)")
      ->type_name("T|p=P");
  add_row_options(verb, arguments->rows, "Training rows");
  verb.add_option("--shift-data", arguments->shift_data,
                  "CSV file with rows that the model has not seen, for the evaluator shift "
                  "(default: the rows of train --holdout)")
      ->type_name("FILE")
      ->group("Training rows");
  add_flags(verb, arguments->question.options, {}, "Evaluators");
  add_flags(verb, arguments->question.plausibility, {}, "Metrics");
  add_flags(verb, arguments->question.intervals, {}, "Metrics");
  add_format(verb, arguments->format);
  add_output(verb, arguments->output);
  add_flags(verb, arguments->common);
  verb.footer(
      "Robust is an answer that every model of a set accepts; the share is of all people "
      "explained, "
      "so that a method that answers few of them does not profit.\n"
      "Examples:\n"
      "  ellice evaluate m.json plans.json --data loans.csv\n"
      "  ellice evaluate m.json plans.json --data loans.csv --target-epsilon 5% "
      "--evaluators retrain,awp-targeted,true --format json -o verdict.json\n"
      "  ellice evaluate m.json theirs.csv --queries people.csv --data loans.csv --missing "
      "not-found\n"
      "  ellice evaluate m.json plans.json --against theirs.csv --queries people.csv --data "
      "loans.csv");
  verb.callback([arguments, &job] { job = [arguments] { return run_evaluate(*arguments); }; });
}

}  // namespace ellice::cli

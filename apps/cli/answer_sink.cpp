#include "answer_sink.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/number_text.hpp"
#include "core/parallel.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "explain/answer_block.hpp"
#include "explain/fewer_changes.hpp"
#include "flag_text.hpp"
#include "methods/method_table.hpp"
#include "report/asked.hpp"
#include "report/display.hpp"
#include "report/recourse_csv.hpp"
#include "report/recourse_text.hpp"
#include "request/answer_json.hpp"

namespace ellice::cli {

namespace {

// A page draws a curve for so many people.
constexpr std::size_t most_curves = 200;
// Answers that one thread turns into text at a time.
constexpr std::size_t text_answers = 64;
// Of the ε that was asked for, which the plan itself shows; each takes a search.
constexpr std::array<double, 4> curve_levels = {0, 0.5, 1.5, 2};
// Where ε is 0: shares of the training objective.
constexpr std::array<double, 3> plain_levels = {0.05, 0.1, 0.2};

/// COLUMNS of the environment where it is a sensible number.
std::size_t terminal_width() {
  const char* const given = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): only read
  double columns = 0;
  if (given == nullptr || !parse_number(given, columns) || columns < 40 || columns > 10000)
    return usual_width;
  return static_cast<std::size_t>(columns);
}

/// A record on a line of its own.
void write_line(JsonOutput& out, std::string& text, const Answer& answer, const Schema& schema) {
  out.begin_object();
  write_members(out, answer, schema);
  out.end_object();
  text += '\n';
}

std::vector<double> levels_of(const Problem& problem) {
  std::vector<double> levels;
  if (problem.epsilon == 0) {
    for (const double share : plain_levels)
      levels.push_back(share * problem.model->training.objective);
    return levels;
  }
  for (const double times : curve_levels) {
    // The true set has no ε = 0.
    const bool is_too_small = times == 0 && problem.set.kind == SetKind::true_set;
    levels.push_back(std::min((is_too_small ? 0.1 : times) * problem.epsilon, largest_epsilon));
  }
  return levels;
}

PageOptions page_options(const Request& request, const SinkOptions& own) {
  const Problem& problem = request.problem;
  PageOptions options{.title = own.title,
                      .epsilon = problem.epsilon,
                      .epsilon_rule = fmt::format("{}: a certified plan is {}", request.rule.text,
                                                  epsilon_meaning(request.rule, problem)),
                      .set = problem.set,
                      .cost = problem.cost,
                      .threshold = problem.threshold,
                      .trade_off = own.trade_off,
                      .worth = own.worth,
                      .rows = or_stored_rows(own.rows, *problem.model)};
  if (!own.date.empty()) options.details.emplace_back("Date", own.date);
  for (auto& line : asked_in_words(request)) options.details.push_back(std::move(line));
  options.options = asked_options(request);
  options.options.insert(options.options.end(), own.options.begin(), own.options.end());
  return options;
}

}  // namespace

AnswerFormat format_of(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension().string();
  if (ending.empty() || ending == ".txt" || ending == ".md") return AnswerFormat::table;
  const std::optional<AnswerFormat> format = enum_from_name<AnswerFormat>(ending.substr(1));
  if (!format) {
    std::string known;
    for (const std::string_view name : EnumNames<AnswerFormat>::names)
      if (name != enum_name(AnswerFormat::table)) known += fmt::format(".{}, ", name);
    known.replace(known.size() - 2, 2, " or .txt");
    fail(ErrorCode::argument,
         "-o {}: the ending {} is not one that explain writes; give {}, or say with --format what "
         "it shall hold",
         output, ending, known);
  }
  return *format;
}

AnswersAt answers_at(const Explainer& explainer, int threads) {
  if (!explainer.method().automatic) return {};  // methods of others may take minutes
  return [&explainer, threads](double epsilon, std::optional<int> most_changes,
                               const std::vector<Query>& queries) {
    ExplainRequest request = explainer.request();
    request.epsilon = number_text(epsilon);
    if (most_changes) request.options.exact.max_changes = most_changes;
    request.options.exact.trade_off = false;
    request.options.exact.plans = 1;
    request.options.exact.proof = false;
    request.shows_trade_off = request.declined = request.attack = request.reasons = false;
    request.retrain = {};  // says nothing about distances
    request.reason_codes = {};
    return Explainer(std::move(request), {.threads = threads})
        .explain(queries, {.threads = threads});
  };
}

AnswerSink::AnswerSink(const Explainer& explainer, SinkOptions options)
    : request_(&explainer.resolved()),
      file_model_(explainer.request().model.get()),
      options_(std::move(options)),
      file_(options_.output),
      guard_(options_.table.spreadsheet_safe),
      writer_(*request_),
      appraiser_(explainer.model(), explainer.epsilon(), explainer.problem().threshold,
                 explainer.problem().set),
      summary_(explainer.model().schema(), rounds_for_display(options_.format)) {
  const Schema& schema = explainer.model().schema();
  if (options_.format == AnswerFormat::json) file_.write(writer_.begin());
  if (options_.format == AnswerFormat::csv) {
    file_.write(recourse_csv_header(schema, columns(), guard_));
  }
  if (options_.format == AnswerFormat::html) {
    recourse_ = writer_.begin();
    frontier_ = std::make_unique<Frontier>(explainer.problem());
  }
}

AnswerSink::Part AnswerSink::part(std::vector<Answer> answers, int threads) const {
  if (rounds_for_display(options_.format) || writer_.takes_turns())
    return {.answers = std::move(answers)};
  const StopShield shield;  // what is finished is written whole
  Part part;
  part.texts.resize((answers.size() + text_answers - 1) / text_answers);
  parallel_for("writing", part.texts.size(), {.threads = threads}, [&](std::size_t k) {
    const std::span<Answer> rest = std::span(answers).subspan(k * text_answers);
    part.texts[k] = text(rest.first(std::min(text_answers, rest.size())));
  });
  return part;
}

AnswerSink::Part::Text AnswerSink::text(std::span<Answer> answers) const {
  const Schema& schema = request_->problem.model->schema();
  Part::Text result{.guard = FormulaGuard(options_.table.spreadsheet_safe)};
  JsonText lines(result.text, JsonText::Style::compact);
  if (options_.format == AnswerFormat::json) result.records = writer_.records(answers);
  for (Answer& answer : answers) {
    result.tally.add(answer, schema);
    if (options_.format == AnswerFormat::csv)
      result.text += recourse_csv_row(answer, schema, columns(), result.guard);
    if (options_.format == AnswerFormat::jsonl) write_line(lines, result.text, answer, schema);
    answer = {};  // by the thread that is done with it
  }
  return result;
}

void AnswerSink::add(Part part) {
  const StopShield shield;
  for (const Part::Text& text : part.texts) write(text);
  if (!rounds_for_display(options_.format)) {
    if (!part.answers.empty()) write(text(part.answers));
    return;
  }
  const std::vector<Answer>& answers = part.answers;
  for (std::size_t first = 0; first < answers.size();) {
    const std::size_t end = end_of_person(answers, first);
    const std::span<const Answer> plans(answers.data() + first, end - first);
    begin_curve(plans);
    if (options_.trade_off && is_trade_off(plans)) {
      write_trade_off({plans.begin(), plans.end()});
    } else {
      for (const Answer& answer : plans) write(answer);
    }
    first = end;
  }
}

void AnswerSink::write(const Part::Text& text) {
  file_.write(text.text);
  file_.write(writer_.add(text.records));
  guard_.add(text.guard);
  tally_.add(text.tally);
}

void AnswerSink::write(const Answer& given) {
  // What people read names flags; files are for every shell and name fields.
  Answer with_flags_named;
  const bool names_fields = given.message.find('`') != std::string::npos;
  if (names_fields) {
    with_flags_named = given;
    with_flags_named.message = with_flags(given.message);
  }
  const Answer& answer = names_fields ? with_flags_named : given;
  tally_.add(answer, request_->problem.model->schema());
  summary_.add(answer);
  if (options_.format == AnswerFormat::html) {
    recourse_ += writer_.answer(answer);
    return;
  }
  file_.write(recourse_text(answer, appraiser_,
                            {.colour = options_.colour, .all_features = options_.all_features}));
  file_.write("\n");
}

void AnswerSink::begin_curve(std::span<const Answer> plans) {
  if (options_.format != AnswerFormat::html || !options_.answers_at) return;
  if (curves_.size() == most_curves) return;
  const Problem& problem = request_->problem;
  const bool trades_off = options_.trade_off && is_trade_off(plans);
  const Answer& shown = plans[trades_off ? recommended(plans, options_.worth) : 0];
  if (shown.query.empty() || shown.status == Status::already_robust) return;
  FrontierCurve& curve = curves_[shown.query_index];
  curve.query_index = shown.query_index;
  curve.points.push_back({.epsilon = problem.epsilon,
                          .feasible = is_certified(shown.status),
                          .distance = shown.distance.l2,
                          .cost = shown.distance.weighted});
  const Query query{.index = shown.query_index, .raw = problem.model->encoder.raw(shown.query)};
  traced_[trades_off ? std::optional(shown.distance.changed) : std::nullopt].push_back(query);
  if (!frontier_->is_solved_at_once()) return;
  const FrontierCurve whole = frontier_->trace(query, {problem.epsilon});
  curve.max_epsilon = whole.max_epsilon;  // whatever grids and limits of changes leave
  curve.is_max_proved = whole.is_max_proved;
}

void AnswerSink::end_curves() {
  for (const double level : levels_of(request_->problem)) {
    for (const auto& [most_changes, queries] : traced_) {
      for (const Answer& answer : options_.answers_at(level, most_changes, queries)) {
        if (answer.plan > 0) continue;
        FrontierCurve& curve = curves_[answer.query_index];
        curve.points.push_back({.epsilon = level,
                                .feasible = is_certified(answer.status),
                                .distance = answer.distance.l2,
                                .cost = answer.distance.weighted});
      }
    }
  }
  for (auto& [index, curve] : curves_) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const FrontierPoint& a, const FrontierPoint& b) { return a.epsilon < b.epsilon; });
  }
}

void AnswerSink::write_trade_off(std::vector<Answer> plans) {
  for (Answer& plan : plans) plan.message = with_flags(plan.message);
  Answer counted = plans[recommended(plans, options_.worth)];
  counted.plan = 0;  // what is recommended counts as the person's plan
  counted.status = Status::certified;
  counted.reasons = plans.front().reasons;
  for (const Answer& plan : plans)
    counted.held.insert(counted.held.end(), plan.held.begin(), plan.held.end());
  summary_.add(counted);
  tally_.add(counted, request_->problem.model->schema());
  if (options_.format == AnswerFormat::table) {
    file_.write(trade_off_text(plans, appraiser_,
                               {.colour = options_.colour,
                                .all_features = options_.all_features,
                                .worth = options_.worth,
                                .width = terminal_width()}));
    file_.write("\n");
    return;
  }
  reasons_to_messages(plans);
  for (const Answer& plan : plans) recourse_ += writer_.answer(plan);
}

bool AnswerSink::interrupt() {
  if (!keeps_finished()) return false;
  if (tally_.queries() == 0 && options_.output != "-") return false;
  if (options_.format == AnswerFormat::json)
    file_.write(writer_.end(RecourseWriter::Ending::interrupted));
  file_.commit();
  return true;
}

void AnswerSink::finish() {
  if (options_.format == AnswerFormat::table && summary_.queries() > 1)
    file_.write(summary_text(summary_));
  if (options_.format == AnswerFormat::json) file_.write(writer_.end());
  if (options_.format == AnswerFormat::html) {
    recourse_ += writer_.end();
    end_curves();
    std::vector<FrontierCurve> curves;
    for (auto& [index, curve] : curves_) curves.push_back(std::move(curve));
    file_.write(to_html(*file_model_, page_options(*request_, options_), recourse_, curves));
  }
  file_.commit();
}

}  // namespace ellice::cli

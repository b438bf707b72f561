#include "answer_sink.hpp"

#include <algorithm>

#include "ellice/core/json.hpp"
#include "flag_text.hpp"
#include "report/display.hpp"
#include "report/recourse_csv.hpp"
#include "report/recourse_text.hpp"

namespace ellice::cli {

namespace {

// A page draws so many cards, and a curve on each.
constexpr std::size_t most_cards = 200;
constexpr int curve_levels = 24;
// Where each level takes a search of its own.
constexpr int searched_levels = 6;

PageOptions page_options(const Request& request, const SinkOptions& own) {
  const Problem& problem = request.problem;
  PageOptions options{.title = own.title,
                      .epsilon = problem.epsilon,
                      .epsilon_rule = request.rule.text,
                      .set = problem.set,
                      .cost = problem.cost,
                      .threshold = problem.threshold,
                      .max_cards = most_cards,
                      .worth = own.worth};
  options.details.emplace_back("method", request.method);
  options.details.emplace_back("range", std::string(enum_name(problem.constraints.range)));
  std::vector<std::string> locked;
  for (const auto& [name, limits] : problem.constraints.features) {
    if (limits.locked) locked.push_back(name);
  }
  if (!locked.empty())
    options.details.emplace_back("locked", fmt::format("{}", fmt::join(locked, ", ")));
  if (problem.constraints.horizon)
    options.details.emplace_back("horizon", to_text(*problem.constraints.horizon));
  if (request.reference)
    options.details.emplace_back("reasons compared with", describe(*request.reference));
  return options;
}

}  // namespace

AnswerSink::AnswerSink(const Request& request, SinkOptions options)
    : request_(&request),
      options_(std::move(options)),
      file_(options_.output),
      guard_(options_.table.spreadsheet_safe),
      writer_(request),
      appraiser_(*request.problem.model, request.problem.epsilon, request.problem.threshold,
                 request.problem.set),
      summary_(request.problem.model->schema(), rounds_for_display(options_.format)) {
  const Schema& schema = request.problem.model->schema();
  if (options_.format == AnswerFormat::json) file_.write(writer_.begin());
  if (options_.format == AnswerFormat::csv) {
    file_.write(recourse_csv_header(schema, options_.has_id ? IdColumn::present : IdColumn::absent,
                                    guard_));
  }
  if (options_.format == AnswerFormat::html) {
    page_ = std::make_unique<HtmlReport>(*request.problem.model, page_options(request, options_));
    frontier_ = std::make_unique<Frontier>(request.problem);
    // From the plain counterfactual to twice the ε that was asked for.
    const double top = request.problem.epsilon > 0
                           ? std::min(2 * request.problem.epsilon, largest_epsilon)
                           : 0.2 * request.problem.model->training.objective;
    const int levels = frontier_->is_solved_at_once() ? curve_levels : searched_levels;
    for (int k = 0; k <= levels; ++k) levels_.push_back(top * k / levels);
  }
}

void AnswerSink::count_protected(const Answer& answer) {
  if (!answer.reasons || answer.plan > 0) return;
  const std::vector<std::string> named =
      protected_reasons(*answer.reasons, request_->problem.model->schema());
  if (!named.empty()) ++protected_refusals_;
  protected_.insert(named.begin(), named.end());
}

void AnswerSink::write(const Answer& given) {
  // What people read names flags; files are for every shell and name fields.
  Answer with_flags_named;
  const bool names_fields =
      rounds_for_display(options_.format) && given.message.find('`') != std::string::npos;
  if (names_fields) {
    with_flags_named = given;
    with_flags_named.message = with_flags(given.message);
  }
  const Answer& answer = names_fields ? with_flags_named : given;
  summary_.add(answer);
  held_.insert(answer.held.begin(), answer.held.end());
  count_protected(answer);
  const Schema& schema = request_->problem.model->schema();
  switch (options_.format) {
    case AnswerFormat::table:
      file_.write(recourse_text(
          answer, appraiser_, {.colour = options_.colour, .all_features = options_.all_features}));
      file_.write("\n");
      break;
    case AnswerFormat::json:
      file_.write(writer_.answer(answer));
      break;
    case AnswerFormat::jsonl:
      file_.write(compact_text(to_json(answer, schema)) + "\n");
      break;
    case AnswerFormat::csv:
      file_.write(recourse_csv_row(answer, schema,
                                   options_.has_id ? IdColumn::present : IdColumn::absent, guard_));
      break;
    case AnswerFormat::html: {
      const std::optional<FrontierCurve> curve = curve_of(answer);
      page_->add(answer, curve ? &*curve : nullptr);
      break;
    }
  }
}

void AnswerSink::add(std::vector<Answer> answers, const std::vector<Answer>& invalid) {
  answers.insert(answers.end(), invalid.begin(), invalid.end());
  std::stable_sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return std::pair(a.query_index, a.plan) < std::pair(b.query_index, b.plan);
  });
  const bool trades_off = options_.trade_off && rounds_for_display(options_.format);
  for (std::size_t first = 0; first < answers.size();) {
    const std::size_t end = end_of_person(answers, first);
    const std::span<const Answer> plans(answers.data() + first, end - first);
    if (trades_off && is_trade_off(plans)) {
      write_trade_off({plans.begin(), plans.end()});
    } else {
      for (const Answer& answer : plans) write(answer);
    }
    first = end;
  }
}

std::optional<FrontierCurve> AnswerSink::curve_of(const Answer& answer) {
  const bool has_query = !answer.query.empty() && answer.status != Status::already_robust;
  if (!has_query || answer.plan > 0 || curves_ == most_cards) return std::nullopt;
  ++curves_;
  return frontier_->trace(
      {.index = answer.query_index, .raw = request_->problem.model->encoder.raw(answer.query)},
      levels_);
}

void AnswerSink::write_trade_off(std::vector<Answer> plans) {
  for (Answer& plan : plans) {
    plan.message = with_flags(plan.message);
    held_.insert(plan.held.begin(), plan.held.end());
  }
  Answer counted = plans[recommended(plans, options_.worth)];
  counted.plan = 0;  // what is recommended counts as the person's plan
  counted.status = Status::certified;
  summary_.add(counted);
  count_protected(plans.front());
  if (options_.format == AnswerFormat::table) {
    file_.write(trade_off_text(plans, appraiser_,
                               {.colour = options_.colour,
                                .all_features = options_.all_features,
                                .worth = options_.worth}));
    file_.write("\n");
    return;
  }
  const std::optional<FrontierCurve> curve = curve_of(plans.front());
  page_->add_trade_off(plans, curve ? &*curve : nullptr);
}

bool AnswerSink::interrupt() {
  if (options_.format == AnswerFormat::html) return false;
  if (summary_.queries() == 0 && options_.output != "-") return false;
  if (options_.format == AnswerFormat::json)
    file_.write(writer_.end(RecourseWriter::Ending::interrupted));
  file_.commit();
  return true;
}

void AnswerSink::finish() {
  if (options_.format == AnswerFormat::table && summary_.queries() > 1)
    file_.write(summary_text(summary_));
  if (options_.format == AnswerFormat::json) file_.write(writer_.end());
  if (options_.format == AnswerFormat::html) file_.write(page_->text());
  file_.commit();
}

}  // namespace ellice::cli

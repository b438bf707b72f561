#include "answers.hpp"

#include <algorithm>
#include <set>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "request/query_reader.hpp"
#include "request/recourse_file.hpp"

namespace ellice::python {

namespace {

// Rows that are answered together: enough to keep all threads busy.
constexpr std::size_t block_rows = 8192;

using Numbers = std::vector<std::optional<double>>;
using Wholes = std::vector<std::int64_t>;
using Texts = std::vector<std::optional<std::string>>;

/// Progress within the whole table.
Execution of_block(const Execution& execution, std::size_t before, std::size_t total) {
  return {.threads = execution.threads,
          .progress = [&execution, before, total](const ProgressState& state) {
            return execution.progress(
                {.stage = state.stage, .done = before + state.done, .total = total});
          }};
}

void add_block(std::vector<Answer> answers, std::vector<Answer> invalid, Answers& result) {
  std::move(invalid.begin(), invalid.end(), std::back_inserter(answers));
  std::stable_sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return std::pair(a.query_index, a.plan) < std::pair(b.query_index, b.plan);
  });
  std::move(answers.begin(), answers.end(), std::back_inserter(result.answers));
}

AnswerColumn numbers(const std::string& name, const std::vector<Answer>& answers, auto&& value) {
  Numbers values;
  for (const Answer& answer : answers) values.push_back(value(answer));
  return {.name = name, .values = std::move(values)};
}

AnswerColumn texts(const std::string& name, const std::vector<Answer>& answers, auto&& value) {
  Texts values;
  for (const Answer& answer : answers) values.push_back(value(answer));
  return {.name = name, .values = std::move(values)};
}

AnswerColumn wholes(const std::string& name, const std::vector<Answer>& answers, auto&& value) {
  Wholes values;
  for (const Answer& answer : answers) values.push_back(static_cast<std::int64_t>(value(answer)));
  return {.name = name, .values = std::move(values)};
}

bool changes(const Answer& answer, const std::string& feature) {
  return std::any_of(answer.changes.begin(), answer.changes.end(),
                     [&](const Change& change) { return change.feature == feature; });
}

AnswerColumn feature_column(const Feature& feature, std::size_t j,
                            const std::vector<Answer>& answers, bool only_changes) {
  const auto value = [&](const Answer& answer) -> const Value* {
    if (!answer.counterfactual || (only_changes && !changes(answer, feature.name))) return nullptr;
    return &(*answer.counterfactual)[j];
  };
  if (feature.is_number()) {
    return numbers(feature.name, answers, [&](const Answer& answer) -> std::optional<double> {
      const Value* const found = value(answer);
      return found == nullptr ? std::nullopt : std::optional(std::get<double>(*found));
    });
  }
  return texts(feature.name, answers, [&](const Answer& answer) -> std::optional<std::string> {
    const Value* const found = value(answer);
    return found == nullptr ? std::nullopt : std::optional(std::get<std::string>(*found));
  });
}

bool is_empty(const AnswerColumn& column) {
  return std::visit(
      [](const auto& values) {
        if constexpr (std::is_same_v<std::decay_t<decltype(values)>, Wholes>) {
          return values.empty();
        } else {
          return std::none_of(values.begin(), values.end(),
                              [](const auto& value) { return value.has_value(); });
        }
      },
      column.values);
}

}  // namespace

void explain_frame(const Frame& frame, const std::optional<std::string>& id, OnError on_error,
                   const Execution& execution, Answers& result) {
  const Explainer& explainer = *result.explainer;
  result.rows = frame.rows();
  FrameSource source(frame, explainer.model().schema());
  QueryReader reader(explainer.model(), source, id, on_error);
  const FinishedScope finished(true);
  for (std::size_t before = 0; before < result.rows; before += block_rows) {
    QueryBlock block = reader.next(block_rows);
    for (const Query& query : block.queries)
      if (!query.filled.empty()) result.incomplete.push_back(query.index);
    std::vector<Answer> answers =
        explainer.explain(block.queries, of_block(execution, before, result.rows));
    result.is_interrupted = is_stop_requested();
    if (result.is_interrupted) block.invalid.clear();
    add_block(std::move(answers), std::move(block.invalid), result);
    if (result.is_interrupted) break;
    // Work that is done may not have said so: it speaks now and then only.
    (void)execution.progress({.stage = "explaining",
                              .done = std::min(before + block_rows, result.rows),
                              .total = result.rows});
  }
  if (result.rows == 0) (void)reader.next(1);  // says what is missing
  result.remarks = reader.remarks();
}

std::string file_text(const Answers& answers) {
  if (!answers.is_interrupted) return recourse_file_text(*answers.explainer, answers.answers);
  RecourseWriter writer(answers.explainer->resolved());
  std::string text = writer.begin();
  for (const Answer& answer : answers.answers) text += writer.answer(answer);
  return text + writer.end(RecourseWriter::Ending::interrupted);
}

std::vector<AnswerColumn> answer_table(const Answers& given, bool only_changes) {
  const std::vector<Answer>& answers = given.answers;
  const Schema& schema = given.explainer->model().schema();
  std::set<std::string> taken;
  for (const Feature& feature : schema.features) taken.insert(feature.name);
  const auto name = [&](std::string wanted) {
    while (!taken.insert(wanted).second) wanted.insert(0, "_");
    return wanted;
  };
  std::vector<AnswerColumn> table;
  table.push_back(
      wholes(name("query"), answers, [](const Answer& answer) { return answer.query_index; }));
  table.push_back(wholes(name("plan"), answers, [](const Answer& answer) { return answer.plan; }));
  table.push_back(texts(name("status"), answers, [](const Answer& answer) {
    return std::optional(std::string(enum_name(answer.status)));
  }));
  const bool has_ids = std::any_of(answers.begin(), answers.end(),
                                   [](const Answer& answer) { return answer.id.has_value(); });
  if (has_ids)
    table.push_back(texts(name("id"), answers, [](const Answer& answer) { return answer.id; }));
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    AnswerColumn column = feature_column(schema.features[j], j, answers, only_changes);
    if (!only_changes || !is_empty(column)) table.push_back(std::move(column));
  }
  const auto of_row = [&](const char* wanted, auto value) {
    table.push_back(
        numbers(name(wanted), answers, [&](const Answer& answer) -> std::optional<double> {
          return answer.counterfactual ? std::optional<double>(value(answer)) : std::nullopt;
        }));
  };
  of_row("cost", [](const Answer& answer) { return answer.distance.weighted; });
  of_row("changed", [](const Answer& answer) { return answer.distance.changed; });
  of_row("logit", [](const Answer& answer) { return answer.logit; });
  of_row("robust_logit", [](const Answer& answer) { return answer.robust_logit; });
  table.push_back(numbers(name("radius"), answers,
                          [](const Answer& answer) { return answer.robustness_radius; }));
  table.push_back(numbers(name("survival"), answers,
                          [](const Answer& answer) { return answer.predicted_survival; }));
  table.push_back(texts(name("message"), answers, [](const Answer& answer) {
    return answer.message.empty() ? std::nullopt : std::optional(answer.message);
  }));
  return table;
}

}  // namespace ellice::python

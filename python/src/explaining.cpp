#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <set>

#include "ellice/core/json.hpp"
#include "keywords.hpp"
#include "objects.hpp"
#include "report/letter.hpp"
#include "report/letter_batch.hpp"
#include "report/letter_messages.hpp"
#include "work.hpp"

namespace ellice::python {

namespace {

/// Labelled rows as those of the model's training.
std::shared_ptr<const TrainingRows> training_rows(const HeldFrame& frame, const Model& model) {
  const std::string weights = model.training.weights ? model.training.weights->column : "";
  const Dataset data = read_frame(frame, model.schema(), weights, ClassValues::of_schema, {});
  return std::make_shared<const TrainingRows>(training_rows_of(data, model));
}

/// A column as numpy's or as texts, None where there is nothing.
nb::object python_column(AnswerColumn& column) {
  if (auto* texts = std::get_if<std::vector<std::optional<std::string>>>(&column.values))
    return nb::cast(*texts);
  const auto array = [](auto values) {
    using Values = decltype(values);
    auto* const kept = new Values(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Values*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, typename Values::value_type, nb::ndim<1>>(
        kept->data(), {kept->size()}, owner));
  };
  if (auto* wholes = std::get_if<std::vector<std::int64_t>>(&column.values))
    return array(std::move(*wholes));
  std::vector<double> numbers;
  for (const std::optional<double>& value :
       std::get<std::vector<std::optional<double>>>(column.values))
    numbers.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  return array(std::move(numbers));
}

List table_of(const Answers& answers, bool only_changes) {
  nb::list result;
  for (AnswerColumn& column : answer_table(answers, only_changes))
    result.append(nb::make_tuple(column.name, python_column(column)));
  return result;
}

nb::capsule stream_of(const Answers& answers, bool only_changes) {
  auto* const stream = new ArrowArrayStream;
  export_arrow(answer_table(answers, only_changes), answers.answers.size(), *stream);
  return {stream, arrow_stream_capsule, [](void* p) noexcept {
            auto* const held = static_cast<ArrowArrayStream*>(p);
            if (held->release != nullptr) held->release(held);
            delete held;
          }};
}

HeldExplainer make_explainer(const HeldModel& model, const Keywords& keywords,
                             const std::string& constraints, std::vector<std::string> target,
                             std::vector<HeldModel> ensemble, const std::string& reason_codes,
                             const HeldFrame* data, int threads, const nb::object& progress) {
  const Asked asked{.keywords = keywords,
                    .constraints = constraints,
                    .target = std::move(target),
                    .ensemble = std::move(ensemble),
                    .reason_codes = reason_codes,
                    .data = data};
  ExplainRequest request = request_of(model, asked);
  std::shared_ptr<const Explainer> explainer;
  run_whole(progress, threads, [&](const Execution& execution) {
    explainer = std::make_shared<const Explainer>(std::move(request), execution);
  });
  return {.explainer = std::move(explainer)};
}

Answers explain(const HeldExplainer& held, const HeldFrame& frame,
                const std::optional<std::string>& id, bool skips, int threads,
                const nb::object& progress) {
  Answers answers{.explainer = held.explainer};
  const std::optional<nb::object> reason =
      run_work(progress, threads, [&](const Execution& execution) {
        explain_frame(frame.frame, id, skips ? OnError::skip : OnError::stop, execution, answers);
      });
  if (!reason) return answers;
  answers.is_interrupted = answers.answers.size() < frame.frame.rows() || answers.is_interrupted;
  nb::object exception = *reason;
  exception.attr("partial") = nb::cast(std::move(answers));
  raise(exception);
}

/// (name of a file, page) for everybody who was declined.
std::vector<std::pair<std::string, std::string>> letters(const Answers& answers,
                                                         const std::string& lender,
                                                         const std::string& date,
                                                         const std::optional<std::string>& until,
                                                         const std::string& language) {
  const std::optional<Language> known = enum_from_name<Language>(language);
  require(known.has_value(), "language = \"{}\" must be one of {}", language,
          join_names(EnumNames<Language>::names));
  const Explainer& explainer = *answers.explainer;
  LetterOptions options{.lender = lender, .date = parse_date(date, "date")};
  if (until) options.valid_until = parse_date(*until, "valid_until");
  if (const std::optional<Horizon>& horizon = explainer.problem().constraints.horizon)
    options.horizon_ends = end_of(*horizon, options.date);
  const LetterWriter writer(
      explainer.resolved(), explainer.request().reason_codes, LetterMessages(*known),
      Template(default_letter_template(), "the template of letters", letter_fields()), options);
  const std::set<std::size_t> incomplete(answers.incomplete.begin(), answers.incomplete.end());
  std::vector<std::pair<std::string, std::string>> result;
  for (const Answer& answer : answers.answers) {
    const bool is_person = answer.plan == 0 && answer.status != Status::invalid &&
                           !incomplete.contains(answer.query_index);
    if (!is_person || writer.is_accepted(answer)) continue;
    result.emplace_back(letter_file_name(answer), writer.letter(answer));
  }
  return result;
}

std::string record_text(const Answers& answers, std::size_t i) {
  return compact_text(to_json(answers.answers.at(i), answers.explainer->model().schema()));
}

}  // namespace

ExplainRequest request_of(const HeldModel& model, const Asked& asked) {
  ExplainRequest request = request_of(model.model, asked.keywords, asked.constraints);
  request.target = asked.target;
  for (const HeldModel& other : asked.ensemble) request.ensemble.push_back(other.model);
  if (asked.data != nullptr) request.rows = training_rows(*asked.data, *model.model);
  if (!asked.reason_codes.empty())
    request.reason_codes =
        parse_reason_codes(asked.reason_codes, "reason_codes", model.model->schema());
  return request;
}

void bind_explaining(nb::module_& module) {
  module.def("explain_keywords", [] { return List(explain_keywords()); });
  nb::class_<Answers>(module, "Answers", "Answers with what was asked.")
      .def("__len__", [](const Answers& answers) { return answers.answers.size(); })
      .def_prop_ro("rows", [](const Answers& answers) { return answers.rows; })
      .def_prop_ro("interrupted", [](const Answers& answers) { return answers.is_interrupted; })
      .def_prop_ro("remarks", [](const Answers& answers) { return answers.remarks; })
      .def("statuses",
           [](const Answers& answers) {
             std::vector<std::string> result;
             for (const Answer& answer : answers.answers)
               result.emplace_back(enum_name(answer.status));
             return result;
           })
      .def("record", &record_text, nb::arg("index"))
      .def("text",
           [](const Answers& answers) {
             const nb::gil_scoped_release release;
             return file_text(answers);
           })
      .def("table", &table_of, nb::arg("only_changes"))
      .def("stream", &stream_of, nb::arg("only_changes"))
      .def("letters", &letters, nb::arg("lender"), nb::arg("date"), nb::arg("valid_until").none(),
           nb::arg("language"));
  nb::class_<HeldExplainer>(module, "Explainer", "A question, resolved and prepared.")
      .def_prop_ro("epsilon", [](const HeldExplainer& held) { return held.explainer->epsilon(); })
      .def_prop_ro("notes", [](const HeldExplainer& held) { return held.explainer->notes(); })
      .def("request_text",
           [](const HeldExplainer& held) {
             return compact_text(to_json(held.explainer->request()));
           })
      .def("explain", &explain, nb::arg("frame"), nb::arg("id").none(), nb::arg("skips"),
           nb::arg("threads"), nb::arg("progress").none())
      .def(
          "certify",
          [](const HeldExplainer& held, const std::string& row) -> std::optional<std::string> {
            const Schema& schema = held.explainer->model().schema();
            const RawRow values = row_from_json(schema, parse_json(row, "row"), "row", "");
            const std::optional<Certificate> found = held.explainer->certify(values);
            if (!found) return std::nullopt;
            return compact_text(to_json(*found, schema));
          },
          nb::arg("row"));
  module.def("make_explainer", &make_explainer, nb::arg("model"), nb::arg("keywords"),
             nb::arg("constraints"), nb::arg("target"), nb::arg("ensemble"),
             nb::arg("reason_codes"), nb::arg("data").none(), nb::arg("threads"),
             nb::arg("progress").none());
}

}  // namespace ellice::python

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

/// As an array of numpy, which holds it.
template <class T>
nb::object array_of(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

/// A column as numpy's or as texts, None where there is nothing.
nb::object python_column(AnswerColumn& column) {
  if (const auto* texts = std::get_if<Texts>(&column.values)) {
    nb::list result;
    for (std::size_t i = 0; i < texts->is_there.size(); ++i) {
      const auto first = static_cast<std::size_t>(texts->offsets[i]);
      const auto length = static_cast<std::size_t>(texts->offsets[i + 1]) - first;
      if (texts->is_there[i]) {
        result.append(nb::str(texts->all.data() + first, length));
      } else {
        result.append(nb::none());
      }
    }
    return result;
  }
  if (auto* wholes = std::get_if<std::vector<std::int64_t>>(&column.values))
    return array_of(std::move(*wholes));
  return array_of(std::move(std::get<std::vector<double>>(column.values)));
}

List table_of(const Answers& answers, bool only_changes) {
  nb::list result;
  std::vector<AnswerColumn> table =
      AnswerTable(answers, only_changes).columns(0, answers.blocks.size());
  for (AnswerColumn& column : table)
    result.append(nb::make_tuple(column.name, python_column(column)));
  return result;
}

/// The answers that have a row to reach: their places, and whose they are.
nb::typed<nb::tuple, nb::any, nb::any> reached(const Answers& answers) {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> queries;
  std::int64_t place = 0;
  for (const auto& block : answers.blocks) {
    for (std::size_t i = 0; i < block->size(); ++i, ++place) {
      if (!block->has_row[i]) continue;
      places.push_back(place);
      queries.push_back(block->query_indices[i]);
    }
  }
  return nb::make_tuple(array_of(std::move(places)), array_of(std::move(queries)));
}

nb::capsule capsule_of(std::unique_ptr<TableStream> tables) {
  auto* const stream = new ArrowArrayStream;
  export_arrow(std::move(tables), *stream);
  return {stream, arrow_stream_capsule, [](void* p) noexcept {
            auto* const held = static_cast<ArrowArrayStream*>(p);
            if (held->release != nullptr) held->release(held);
            delete held;
          }};
}

HeldExplainer make_explainer(const HeldModel& model, const Keywords& keywords,
                             const std::string& constraints, std::vector<std::string> target,
                             std::vector<HeldModel> ensemble, const std::string& reason_codes,
                             const HeldFrame* data, const std::string& data_file, int threads,
                             const nb::object& progress) {
  const Asked asked{.keywords = keywords,
                    .constraints = constraints,
                    .target = std::move(target),
                    .ensemble = std::move(ensemble),
                    .reason_codes = reason_codes,
                    .data = data,
                    .data_file = data_file};
  ExplainRequest request = request_of(model, asked);
  std::shared_ptr<const Explainer> explainer;
  run_whole(progress, threads, [&](const Execution& execution) {
    explainer = std::make_shared<const Explainer>(std::move(request), execution);
  });
  return {.explainer = std::move(explainer)};
}

/// Rows that come one by one, with all that they are read from.
class HeldStream {
 public:
  HeldStream(const HeldExplainer& held, nb::handle_t<HeldFrame> frame,
             const std::optional<std::string>& id, bool skips)
      : frame_(nb::borrow(frame)) {
    const Frame& read = nb::inst_ptr<HeldFrame>(frame)->frame;
    const nb::gil_scoped_release release;  // the first rows may come from another thread
    stream_ = std::make_unique<AnswerStream>(held.explainer, read, id,
                                             skips ? OnError::skip : OnError::stop);
  }

  [[nodiscard]] bool is_at_end() const { return stream_->is_at_end(); }
  [[nodiscard]] Answers none() const { return stream_->none(); }
  [[nodiscard]] std::vector<std::string> remarks() const { return stream_->remarks(); }
  /// Raises, with what was finished as `partial`.
  Answers next(std::size_t most, std::size_t total, int threads, const nb::object& progress) {
    Answers answers = none();
    const std::optional<nb::object> reason = run_work(
        progress, threads,
        [&](const Execution& execution) { stream_->next(most, total, execution, answers); });
    if (!reason) return answers;
    answers.is_interrupted = answers.is_interrupted || answers.rows < most;
    if (total > 0) answers.rows = total;  // those of the whole table
    nb::object exception = *reason;
    exception.attr("partial") = nb::cast(std::move(answers));
    raise(exception);
  }

 private:
  nb::object frame_;
  std::unique_ptr<AnswerStream> stream_;
};

/// Tables that are computed when somebody asks for them, from any thread.
class ComputedTables final : public TableStream {
 public:
  ComputedTables(nb::object stream, std::size_t rows, int threads, nb::object progress)
      : stream_(std::move(stream)),
        rows_(rows),
        threads_(threads),
        progress_(std::move(progress)) {}
  ComputedTables(const ComputedTables&) = delete;
  ComputedTables& operator=(const ComputedTables&) = delete;
  ComputedTables(ComputedTables&&) = delete;
  ComputedTables& operator=(ComputedTables&&) = delete;
  ~ComputedTables() override {
    const nb::gil_scoped_acquire acquire;
    stream_.reset();
    progress_.reset();
  }

  [[nodiscard]] std::vector<AnswerColumn> empty() override {
    const nb::gil_scoped_acquire acquire;
    return table(nb::cast<HeldStream&>(stream_).none());
  }
  [[nodiscard]] std::optional<std::vector<AnswerColumn>> next() override {
    const nb::gil_scoped_acquire acquire;
    auto& stream = nb::cast<HeldStream&>(stream_);
    if (stream.is_at_end()) return std::nullopt;
    try {
      const Answers answers = stream.next(rows_, 0, threads_, progress_);
      if (answers.rows == 0) return std::nullopt;
      return table(answers);
    } catch (nb::python_error& error) {
      // Who asks speaks C and passes on a text; Ctrl-C is pressed again for what asked it.
      if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
      throw std::runtime_error(error.what());
    }
  }

 private:
  static std::vector<AnswerColumn> table(const Answers& answers) {
    return AnswerTable(answers, false).columns(0, answers.blocks.size());
  }

  nb::object stream_;
  std::size_t rows_;
  int threads_;
  nb::object progress_;
};

Answers explain(const HeldExplainer& held, nb::handle_t<HeldFrame> frame,
                const std::optional<std::string>& id, bool skips, int threads,
                const nb::object& progress) {
  const std::size_t rows = nb::inst_ptr<HeldFrame>(frame)->frame.rows();
  HeldStream stream(held, frame, id, skips);
  // One row at least: a reader says what is missing when it is asked for one.
  return stream.next(std::max<std::size_t>(rows, 1), rows, threads, progress);
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
  for (const auto& block : answers.blocks) {
    for (const Answer& answer : block->answers(1)) {
      const bool is_person = answer.plan == 0 && answer.status != Status::invalid &&
                             !incomplete.contains(answer.query_index);
      if (!is_person || writer.is_accepted(answer)) continue;
      result.emplace_back(letter_file_name(answer), writer.letter(answer));
    }
  }
  return result;
}

std::string record_text(const Answers& answers, std::size_t i) {
  return compact_text(to_json(answers.answer(i), answers.explainer->model().schema()));
}

}  // namespace

ExplainRequest request_of(const HeldModel& model, const Asked& asked) {
  ExplainRequest request = request_of(model.model, asked.keywords, asked.constraints);
  request.target = asked.target;
  for (const HeldModel& other : asked.ensemble) request.ensemble.push_back(other.model);
  if (asked.data != nullptr) request.rows = training_rows(*asked.data, *model.model);
  if (!asked.data_file.empty())
    request.rows =
        std::make_shared<const TrainingRows>(read_training_rows(asked.data_file, *model.model));
  if (!asked.reason_codes.empty())
    request.reason_codes =
        parse_reason_codes(asked.reason_codes, "reason_codes", model.model->schema());
  return request;
}

void bind_explaining(nb::module_& module) {
  module.def("explain_keywords", [] { return List(explain_keywords()); });
  nb::class_<Answers>(module, "Answers", "Answers with what was asked.")
      .def("__len__", &Answers::size)
      .def_prop_ro("rows", [](const Answers& answers) { return answers.rows; })
      .def_prop_ro("first_row", [](const Answers& answers) { return answers.first_row; })
      .def_prop_ro("interrupted", [](const Answers& answers) { return answers.is_interrupted; })
      .def_prop_ro("remarks", [](const Answers& answers) { return answers.remarks; })
      .def("statuses",
           [](const Answers& answers) {
             std::vector<std::string> result;
             for (const auto& block : answers.blocks)
               for (const Status status : block->statuses) result.emplace_back(enum_name(status));
             return result;
           })
      .def("record", &record_text, nb::arg("index"))
      .def(
          "text",
          [](const Answers& answers, int threads) {
            const nb::gil_scoped_release release;
            return file_text(answers, threads);
          },
          nb::arg("threads"))
      .def("table", &table_of, nb::arg("only_changes"))
      .def("reached", &reached)
      .def(
          "stream",
          [](const Answers& answers, bool only_changes) {
            return capsule_of(table_stream(answers, only_changes));
          },
          nb::arg("only_changes"))
      .def("letters", &letters, nb::arg("lender"), nb::arg("date"), nb::arg("valid_until").none(),
           nb::arg("language"));
  nb::class_<HeldStream>(module, "AnswerStream", "Answers to rows that come one by one.")
      .def_prop_ro("at_end", &HeldStream::is_at_end)
      .def_prop_ro("remarks", &HeldStream::remarks)
      .def("next", &HeldStream::next, nb::arg("most"), nb::arg("total"), nb::arg("threads"),
           nb::arg("progress").none())
      .def(
          "arrow",
          [](nb::handle_t<HeldStream> stream, std::size_t rows, int threads,
             const nb::object& progress) {
            return capsule_of(
                std::make_unique<ComputedTables>(nb::borrow(stream), rows, threads, progress));
          },
          nb::arg("rows"), nb::arg("threads"), nb::arg("progress").none());
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
          "stream",
          [](const HeldExplainer& held, nb::handle_t<HeldFrame> frame,
             const std::optional<std::string>& id,
             bool skips) { return HeldStream(held, frame, id, skips); },
          nb::arg("frame"), nb::arg("id").none(), nb::arg("skips"))
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
             nb::arg("reason_codes"), nb::arg("data").none(), nb::arg("data_file"),
             nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace ellice::python

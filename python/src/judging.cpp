// What there is to ask beside answers: curves, ε, calibration and the audit of files.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "explain/calibration_file.hpp"
#include "explain/epsilon_findings.hpp"
#include "explain/frontier_file.hpp"
#include "explain/recourse_request.hpp"
#include "keywords.hpp"
#include "model/row_weights.hpp"
#include "objects.hpp"
#include "request/query_reader.hpp"
#include "study/answer_file.hpp"
#include "study/judgement.hpp"
#include "work.hpp"

namespace ellice::python {

namespace {

/// The request that an explainer answers, as a problem of its own.
std::string frontier(const HeldExplainer& held, const HeldFrame& frame,
                     const std::vector<std::string>& epsilons, int threads,
                     const nb::object& progress) {
  std::string text;
  run_whole(progress, threads, [&](const Execution& execution) {
    const OwnedProblem owned(held.explainer->request());
    const FrontierTracer tracer(owned, epsilons, {.threads = threads});
    Json document = frontier_document(owned.problem(), tracer.epsilons());
    FrameSource source(frame.frame, owned.model().schema());
    QueryReader reader(owned.model(), source, std::nullopt, OnError::stop);
    const QueryBlock block = reader.next(std::max<std::size_t>(frame.frame.rows(), 1));
    for (const FrontierCurve& curve : tracer.trace(block.queries, execution))
      document["results"].push_back(to_json(curve));
    text = compact_text(document);
  });
  return text;
}

List calibration_keywords() {
  KeywordTable table;
  table.add("calibration", CalibrationOptions{});
  return table.rows();
}

std::pair<std::string, std::optional<HeldModel>> run_calibration(const HeldExplainer& held,
                                                                 const Keywords& keywords,
                                                                 int threads,
                                                                 const nb::object& progress) {
  CalibrationOptions options;
  read_only(keywords, "calibrate", options);
  std::string text;
  std::optional<HeldModel> model;
  run_whole(progress, threads, [&](const Execution& execution) {
    const OwnedProblem owned(held.explainer->request());
    const Calibration calibration = calibrate(owned, options, execution);
    text = compact_text(to_json(calibration, options, owned));
    if (calibration.recommended)
      model = HeldModel{
          std::make_shared<const Model>(with_recommendation(calibration, options, owned))};
  });
  return {text, model};
}

std::string epsilon_findings(const HeldExplainer& held, const std::vector<std::string>& epsilons,
                             const std::vector<double>& survival, bool check,
                             const Keywords& keywords, int threads, const nb::object& progress) {
  EpsilonQuestion question{.epsilons = epsilons, .survival = survival, .check = check};
  read_only(keywords, "epsilon", question.measuring);
  std::string text;
  run_whole(progress, threads, [&](const Execution& execution) {
    const OwnedProblem owned(held.explainer->request());
    text = compact_text(to_json(find_epsilons(owned, question, execution), question, owned));
  });
  return text;
}

Json audit_json(const AnswerAudit& one) {
  Json result = {{"query_index", one.query_index},
                 {"plan", one.plan},
                 {"status", std::string(enum_name(one.status))},
                 {"holds", one.holds()},
                 {"epsilon", one.epsilon},
                 {"threshold", one.threshold},
                 {"failures", one.failures},
                 {"unverified", one.unverified}};
  return result;
}

/// Re-checks a recourse file by code that shares nothing with the search.
std::string verify(const HeldModel& held, const std::string& text,
                   const std::vector<HeldModel>& ensemble, const HeldExplainer* explainer) {
  const nb::gil_scoped_release release;
  std::vector<const Model*> members;
  for (const HeldModel& other : ensemble) members.push_back(other.model.get());
  const Json file = parse_json(text, "answers");
  const TrainingRows* const rows =
      explainer == nullptr ? nullptr : explainer->explainer->request().rows.get();
  check_recourse_request(file, "answers", *held.model, members);
  const FileAudit audit =
      audit_recourse_file(file, *held.model, "answers", members,
                          rows != nullptr && rows->are_of_model ? &rows->fitted.rows : nullptr);
  Json document = {{"holds", audit.holds()},
                   {"checked", audit.size()},
                   {"failures", audit.failures},
                   {"results", Json::array()}};
  for (const AnswerAudit& one : audit) document["results"].push_back(audit_json(one));
  return compact_text(document);
}

/// Keywords of evaluate: who judges, and how often.
struct EvaluateKeywords {
  std::string epsilon = {};
  ExplainedRows rows = ExplainedRows::declined;
  MissingAnswers missing = MissingAnswers::error;
  std::uint64_t seed = 0;

  static void fields(auto& self, auto&& visit) {
    visit("epsilon", self.epsilon, any_value(),
          "within which models judge: a rule such as \"5%\"; that of the answers unless given");
    visit("rows", self.rows, any_value(),
          "whose answers count: of those whom the model declines, or all");
    visit("missing", self.missing, any_value(),
          "of tables: a person without an answer is an error, or counts as not found");
    visit("seed", self.seed, any_value(), "seed of every random choice");
  }
};

List evaluation_keywords() {
  KeywordTable table;
  table.add("evaluation", EvaluateKeywords{});
  table.add("evaluators", EvaluatorOptions{});
  table.add("metrics", PlausibilityOptions{});
  table.add("metrics", IntervalOptions{});
  return table.rows();
}

/// Answers of a file of ours, or of anybody's table with the people whom it answers.
struct Judged {
  std::string text = {};
  const HeldFrame* table = nullptr;
  const HeldFrame* queries = nullptr;
};

JudgedAnswers judged_answers(const Judged& judged, const Model& model, double threshold,
                             const EvaluateKeywords& keywords) {
  AnswerFile file;
  if (judged.table == nullptr) {
    file = answers_from_json(judged.text, model, "answers");
    require_all_answers(file, "answers");
  } else {
    require(judged.queries != nullptr, "a table of answers needs queries, the people it answers");
    FrameSource people(judged.queries->frame, model.schema());
    const std::vector<Query> queries = read_queries(people, model);
    FrameSource table(judged.table->frame, model.schema());
    file = answers_from_table(table, queries, model);
    complete_answers(file, queries, model, threshold, keywords.rows, keywords.missing, "answers");
  }
  JudgedAnswers result{.batch = answer_batch(file.answers, model, threshold, keywords.rows),
                       .epsilon = file.epsilon};
  require_input(result.batch.size() > 0,
                "there is nobody to judge: the model accepts all {} people as they are; "
                "rows = \"all\" counts them too",
                result.batch.accepted);
  return result;
}

/// What models that nobody asked before say of answers.
std::string evaluate_answers(const HeldExplainer& held, const std::vector<std::string>& evaluators,
                             const std::vector<std::string>& metrics, const Keywords& keywords,
                             const Judged& answers, const Judged* against, const HeldFrame* shift,
                             int threads, const nb::object& progress) {
  EvaluateKeywords own;
  JudgementQuestion question{.metrics = metrics};
  if (!evaluators.empty()) question.evaluators = evaluators;
  nb::dict open;
  for (const auto& [key, value] : keywords) open[key] = value;
  take_keywords(open, own);
  take_keywords(open, question.options);
  take_keywords(open, question.plausibility);
  take_keywords(open, question.intervals);
  for (const auto& [key, value] : open) {
    std::vector<std::string> known = {"against", "queries", "evaluators", "metrics", "shift_data"};
    for (const nb::handle row : evaluation_keywords())
      known.push_back(nb::cast<std::string>(row[nb::int_(0)]));
    unknown_keyword("evaluate", nb::cast<std::string>(key), known);
  }
  question.epsilon = own.epsilon;
  question.explained = own.rows;
  question.seed = own.seed;
  std::string text;
  run_whole(progress, threads, [&](const Execution& execution) {
    const OwnedProblem owned(held.explainer->request());
    const Model& model = owned.model();
    require_one_logit(model, "evaluate");
    owned.require_rows("evaluate", RowsOf::model);
    question.threshold = owned.problem().threshold;
    const JudgedAnswers judged = judged_answers(answers, model, question.threshold, own);
    std::optional<AnswerBatch> others;
    if (against != nullptr) others = judged_answers(*against, model, question.threshold, own).batch;
    StoredRows other;
    const bool has_shift = asks_for_other_rows(question);
    if (has_shift) {
      require(shift != nullptr,
              "the evaluator shift trains on rows that the model has not seen: give shift_data");
      const std::string weights = model.training.weights ? model.training.weights->column : "";
      const Dataset data = read_frame(*shift, model.schema(), weights, ClassValues::of_schema, {});
      other = {.encoded = model.encoder.encode(data.raw),
               .labels = data.labels,
               .weights = row_weights(data, model.training.weights)};
    }
    text = compact_text(judge(model, {.known = owned.rows(), .other = has_shift ? &other : nullptr},
                              judged, others ? &*others : nullptr, question, execution)
                            .to_json());
  });
  return text;
}

}  // namespace

void bind_judging(nb::module_& module) {
  module.def("frontier", &frontier, nb::arg("explainer"), nb::arg("frame"), nb::arg("epsilons"),
             nb::arg("threads"), nb::arg("progress").none());
  module.def("calibration_keywords", &calibration_keywords);
  module.def("calibrate", &run_calibration, nb::arg("explainer"), nb::arg("keywords"),
             nb::arg("threads"), nb::arg("progress").none());
  module.def("epsilon", &epsilon_findings, nb::arg("explainer"), nb::arg("epsilons"),
             nb::arg("survival"), nb::arg("check"), nb::arg("keywords"), nb::arg("threads"),
             nb::arg("progress").none());
  module.def("evaluation_keywords", &evaluation_keywords);
  nb::class_<Judged>(module, "Judged", "Answers to be evaluated.")
      .def(
          "__init__",
          [](Judged* self, std::string text, const HeldFrame* table, const HeldFrame* queries) {
            new (self) Judged{.text = std::move(text), .table = table, .queries = queries};
          },
          nb::arg("text"), nb::arg("table").none(), nb::arg("queries").none(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
  module.def("evaluate", &evaluate_answers, nb::arg("explainer"), nb::arg("evaluators"),
             nb::arg("metrics"), nb::arg("keywords"), nb::arg("answers"), nb::arg("against").none(),
             nb::arg("shift").none(), nb::arg("threads"), nb::arg("progress").none());
  module.def("verify", &verify, nb::arg("model"), nb::arg("text"), nb::arg("ensemble"),
             nb::arg("explainer").none());
}

}  // namespace ellice::python

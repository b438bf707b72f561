// What there is to ask beside answers: curves, ε, calibration and the audit of files.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "explain/calibration_file.hpp"
#include "explain/epsilon_findings.hpp"
#include "explain/frontier_file.hpp"
#include "explain/recourse_request.hpp"
#include "keywords.hpp"
#include "objects.hpp"
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
    with_rows([&] {
      FrameSource source(frame.frame, owned.model().schema());
      QueryReader reader(owned.model(), source, std::nullopt, QueryReader::OnError::stop);
      const QueryBlock block = reader.next(std::max<std::size_t>(frame.frame.rows(), 1));
      for (const FrontierCurve& curve : tracer.trace(block.queries, execution))
        document["results"].push_back(to_json(curve));
    });
    text = compact_text(document);
  });
  return text;
}

List calibration_keywords() {
  KeywordTable table;
  table.add("calibration", CalibrationOptions{});
  return table.rows();
}

template <class T>
void read_only(nb::dict keywords, const char* where, T& options) {
  nb::dict open;
  for (const auto& [key, value] : keywords) open[key] = value;
  take_keywords(open, options);
  std::vector<std::string> known;
  for (const FieldDescription& field : describe_fields<T>()) known.push_back(field.name);
  for (const auto& [key, value] : open) unknown_keyword(where, nb::cast<std::string>(key), known);
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
  module.def("verify", &verify, nb::arg("model"), nb::arg("text"), nb::arg("ensemble"),
             nb::arg("explainer").none());
}

}  // namespace ellice::python

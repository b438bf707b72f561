#include "report/verification_file.hpp"

#include <algorithm>

#include "ellice/certificate/certificate.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "explain/recourse_request.hpp"
#include "request/recourse_file.hpp"

namespace ellice {

namespace {

bool is_recourse_file(const Json& document) {
  return document.is_object() && document.contains("format") &&
         document["format"] == recourse_format;
}

Json fields_json(const FileAudit& all) {
  Json result = Json::object();
  for (const auto& [name, counts] : counted_fields(all)) {
    for (std::size_t k = 0; k < counts.size(); ++k) {
      if (counts[k] > 0) result[name][std::string(EnumNames<Standing>::names[k])] = counts[k];
    }
  }
  return result;
}

Json missing_json(const FileAudit& all) {
  Json result = Json::array();
  for (const auto& [first, last] : all.missing) result.push_back({first, last});
  return result;
}

}  // namespace

bool is_about_true_set(const Json& document) {
  if (!document.is_object()) return false;
  const Json& stated = document.contains("certificate") ? document["certificate"] : document;
  return stated.is_object() && stated.value("set", Json()) == enum_name(SetKind::true_set);
}

AnswerAudit audit_certificate(const Json& document, const Model& model, const Verifier& verifier,
                              const std::string& source) {
  const Certificate certificate = certificate_from_json(document, model, source);
  const Verification verification = verifier.verify(certificate);
  AnswerAudit answer{.status = Status::certified,
                     .epsilon = certificate.epsilon,
                     .threshold = certificate.threshold,
                     .logit = verification.logit,
                     .robust_logit = verification.robust_logit,
                     .breaking_model = verification.breaking_model,
                     .failures = verification.failures};
  if (answer.holds()) answer.fields = {{"certificate", Standing::proved}};
  return answer;
}

FileAudit audit_document(const Json& document, const Model& model,
                         const std::vector<const Model*>& ensemble, const StoredRows* rows,
                         const People* people, const std::string& source, const PeopleIds* ids) {
  if (is_recourse_file(document)) {
    check_recourse_request(document, source, model, ensemble);
    return audit_recourse_file(document, model, source, ensemble, rows, people, ids);
  }
  require(people == nullptr, "--queries is for files of answers, and {} holds one certificate",
          source);
  return {.answers = {audit_certificate(document, model, Verifier(model, ensemble, rows), source)}};
}

bool is_confirmed(const AnswerAudit& one) {
  const bool makes_a_claim = is_certified(one.status) || one.status == Status::infeasible;
  return one.holds() && makes_a_claim && !one.fields.empty();
}

std::map<std::string, std::array<std::size_t, 4>> counted_fields(const FileAudit& all) {
  std::map<std::string, std::array<std::size_t, 4>> result;
  const auto add = [&](const std::map<std::string, Standing>& fields) {
    for (const auto& [name, standing] : fields) ++result[name][static_cast<std::size_t>(standing)];
  };
  add(all.fields);
  for (const AnswerAudit& one : all) add(one.fields);
  return result;
}

Json verification_document(const Model& model, const FileAudit& all) {
  Json document = make_envelope("ellice.verification", 1);
  document["model_sha256"] = model.sha256;
  document["checked"] = all.size();
  document["failed"] =
      std::count_if(all.begin(), all.end(), [](const AnswerAudit& one) { return !one.holds(); });
  document["failures"] = all.failures;
  if (all.is_interrupted) document["interrupted"] = true;
  if (!all.missing.empty()) document["missing"] = missing_json(all);
  document["fields"] = fields_json(all);
  document["results"] = Json::array();
  for (const AnswerAudit& one : all) {
    Json result = {{"query_index", one.query_index},
                   {"plan", one.plan},
                   {"status", std::string(enum_name(one.status))},
                   {"holds", one.holds() && !is_confirmed(one) ? Json() : Json(one.holds())},
                   {"epsilon", one.epsilon},
                   {"threshold", one.threshold}};
    if (is_certified(one.status)) {
      result["logit"] = one.logit;
      result["robust_logit"] = one.robust_logit;
    }
    result["failures"] = one.failures;
    result["unverified"] = one.unverified;
    if (one.breaking_model) result["breaking_model"] = to_json_array(*one.breaking_model);
    document["results"].push_back(result);
  }
  return document;
}

}  // namespace ellice

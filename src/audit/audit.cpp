#include "audit/audit_plans.hpp"
#include "audit/auditor.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

std::vector<AnswerAudit> audit_recourse_file(const Json& file, const Model& model,
                                             const std::string& source,
                                             const std::vector<const Model*>& members,
                                             const StoredRows* rows) {
  JsonObject top(file, source);
  top.envelope(recourse_format, 1);
  if (top.string("model_sha256") != model.sha256) {
    fail(ErrorCode::input,
         "{}: the answers are for another model: model_sha256 is {}, the model file's is {}; "
         "verify them against the "
         "model that they were found for",
         source, top.string("model_sha256"), model.sha256);
  }
  const AuditRequest asked = read_audit_request(top, model, members, rows);
  const Auditor auditor(model, asked, source);
  std::vector<AnswerAudit> audits;
  std::ptrdiff_t first = 0;  // plan of the query in work
  for (const JsonObject& answer : top.objects("results")) {
    AnswerAudit audit = auditor.audit(answer);
    const bool next_plan = !audits.empty() && audits.back().query_index == audit.query_index;
    if (!next_plan) first = std::ssize(audits);
    check_plan(asked, {audits.begin() + first, audits.end()}, audit);
    const bool in_order = audits.empty() || audits.back().query_index <= audit.query_index;
    if (!in_order || audit.plan != (next_plan ? audits.back().plan + 1 : 0)) {
      audit.failures.emplace_back("query_index and plan do not count up from answer to answer");
    }
    audits.push_back(std::move(audit));
  }
  if (top.has("explained"))
    (void)top.integer("explained");  // what is there is checked, not what is not
  top.finish();
  return audits;
}

}  // namespace ellice

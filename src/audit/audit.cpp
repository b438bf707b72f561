#include "ellice/audit/audit.hpp"

#include <algorithm>

#include "audit/audit_fields.hpp"
#include "audit/audit_plans.hpp"
#include "audit/auditor.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

/// Whether the people in the file are those that were explained: their numbers begin at 0, and the
/// file says how many there were. A run that was interrupted says so, and any of them may be
/// missing.
void check_people(JsonObject& top, FileAudit& audit) {
  const bool is_interrupted = top.has("interrupted") && top.boolean("interrupted");
  std::size_t people = 0;
  bool in_order = true;
  for (const AnswerAudit& answer : audit.answers) {
    if (answer.plan != 0) continue;
    in_order = in_order && answer.query_index == people;
    ++people;
  }
  if (audit.answers.empty())
    audit.failures.emplace_back("there are no answers: nothing is verified");
  if (!in_order && !is_interrupted)
    audit.failures.emplace_back("people are missing: query_index does not count from 0");
  if (!top.has("explained")) {
    audit.failures.emplace_back("explained is missing: nothing says how many people there were");
  } else if (top.integer("explained") != static_cast<std::int64_t>(people)) {
    audit.failures.push_back(fmt::format("explained is {}, but {} people have answers",
                                         top.integer("explained"), people));
  }
}

}  // namespace

bool FileAudit::holds() const {
  return failures.empty() && std::all_of(answers.begin(), answers.end(),
                                         [](const AnswerAudit& one) { return one.holds(); });
}

FileAudit audit_recourse_file(const Json& file, const Model& model, const std::string& source,
                              const std::vector<const Model*>& members, const StoredRows* rows) {
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
  FileAudit result{.failures = asked.faults};
  std::vector<AnswerAudit>& audits = result.answers;
  std::ptrdiff_t first = 0;  // plan of the query in work
  for (const JsonObject& answer : top.objects("results")) {
    AnswerAudit audit = auditor.audit(answer);
    const bool next_plan = !audits.empty() && audits.back().query_index == audit.query_index;
    if (!next_plan) first = std::ssize(audits);
    check_plan(asked, {audits.begin() + first, audits.end()}, answer.value(), audit);
    const bool in_order = audits.empty() || audits.back().query_index <= audit.query_index;
    if (!in_order || audit.plan != (next_plan ? audits.back().plan + 1 : 0)) {
      audit.failures.emplace_back("query_index and plan do not count up from answer to answer");
    }
    if (audit.holds()) audit.fields = audit::record_standings(answer.value(), audit);
    audits.push_back(std::move(audit));
  }
  check_people(top, result);
  top.finish();
  const bool has_rows = rows != nullptr || model.rows.has_value();
  if (result.failures.empty()) result.fields = audit::file_standings(file, asked, has_rows);
  return result;
}

}  // namespace ellice

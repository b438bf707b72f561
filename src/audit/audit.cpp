#include "ellice/audit/audit.hpp"

#include <algorithm>

#include "audit/auditor.hpp"
#include "audit/recourse_audit.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

std::string words(const std::vector<PeopleRange>& missing) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : missing)
    parts.push_back(first == last ? fmt::format("{}", first)
                                  : fmt::format("{} to {}", first, last));
  constexpr std::size_t most = 20;
  const bool is_long = parts.size() > most;
  if (is_long) parts.resize(most);
  return fmt::format("{}{}", fmt::join(parts, ", "), is_long ? " and others" : "");
}

bool FileAudit::holds() const {
  return failures.empty() && std::all_of(answers.begin(), answers.end(),
                                         [](const AnswerAudit& one) { return one.holds(); });
}

FileAudit audit_recourse_file(const Json& file, const Model& model, const std::string& source,
                              const std::vector<const Model*>& members, const StoredRows* rows,
                              const People* people, const PeopleIds* ids) {
  RecourseAudit all(file, audit::Hashes::are_in(file), model, source,
                    {.members = members, .rows = rows, .people = people, .ids = ids});
  all.add(all.audit(all.records(), std::nullopt));
  return all.finish();
}

struct GapProver::State {
  AuditRequest asked = {};
  std::optional<Auditor> auditor = {};
  std::vector<AnswerAudit> earlier = {};  // plans of the query in work
};

GapProver::GapProver(const Json& asked, const Model& model,
                     const std::vector<const Model*>& members, const StoredRows* rows)
    : state_(std::make_shared<State>()) {
  JsonObject top(asked, "answers");
  state_->asked = read_audit_request(top, model, members, rows);
  state_->auditor.emplace(model, state_->asked, "answers");
}

Json GapProver::prove(const Json& record) {
  JsonObject answer(record, "answers");
  AnswerAudit own{.query_index = static_cast<std::size_t>(answer.integer("query_index")),
                  .plan = static_cast<int>(answer.integer("plan"))};
  if (answer.has("changes")) {
    for (JsonObject change : answer.objects("changes"))
      own.changed.push_back(change.string("feature"));
  }
  std::vector<AnswerAudit>& earlier = state_->earlier;
  if (!earlier.empty() && earlier.front().query_index != own.query_index) earlier.clear();
  Json proof = state_->auditor->proof_of(answer, earlier);
  earlier.push_back(std::move(own));
  return proof;
}

}  // namespace ellice

#include "ellice/audit/audit.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "audit/audit_fields.hpp"
#include "audit/audit_hashes.hpp"
#include "audit/audit_plans.hpp"
#include "audit/auditor.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "model/deciding.hpp"

namespace ellice {

namespace {

/// Between the answers, which are in order, and up to `count`, if that is more.
std::vector<PeopleRange> missing_below(std::size_t count, const FileAudit& audit) {
  std::vector<PeopleRange> missing;
  std::size_t next = 0;
  const auto skip_to = [&](std::size_t index) {
    if (index > next) missing.push_back({.first = next, .last = index - 1});
  };
  for (const AnswerAudit& answer : audit.answers) {
    skip_to(answer.query_index);
    next = std::max(next, answer.query_index + 1);
  }
  skip_to(count);
  return missing;
}

/// Whether the base model gives a person what is asked for, so that no answer is needed.
bool is_accepted(const Model& model, const AuditRequest& asked, const RawRow& person) {
  const Vector z = model.encoder.encode(person);
  if (!asked.set.contest) return deciding_logit(model, z) >= asked.threshold;
  const Vector scores = model.network.scores(z);
  const std::vector<Index>& rivals = asked.set.contest->rivals;
  double wanted = -std::numeric_limits<double>::infinity();
  double unwanted = wanted;
  for (Index k = 0; k < scores.size(); ++k) {
    const bool is_rival = std::find(rivals.begin(), rivals.end(), k) != rivals.end();
    double& best = is_rival ? unwanted : wanted;
    best = std::max(best, scores(k));
  }
  return wanted - unwanted >= asked.threshold;
}

/// Who of those without an answer is declined, or cannot be read, and so should have one.
std::vector<PeopleRange> needing(const std::vector<PeopleRange>& missing, const Model& model,
                                 const AuditRequest& asked, const People& people) {
  std::vector<PeopleRange> result;
  for (const auto& [first, last] : missing) {
    for (std::size_t i = first; i <= last; ++i) {
      if (i < people.size() && people[i] && is_accepted(model, asked, *people[i])) continue;
      if (!result.empty() && result.back().last + 1 == i) {
        result.back().last = i;
      } else {
        result.push_back({.first = i, .last = i});
      }
    }
  }
  return result;
}

/// Whether the people in the file are those that were explained: their numbers begin at 0, and the
/// file says how many there were. A run that was interrupted says so; any of them may be missing
/// then, and who is. Of a run for declined people alone the others are not missing; who they are is
/// known where the people are.
void check_people(JsonObject& top, const Model& model, const AuditRequest& asked,
                  const People* people, FileAudit& audit) {
  audit.is_interrupted = top.has("interrupted") && top.boolean("interrupted");
  std::size_t count = 0;
  std::size_t after_last = 0;
  for (const AnswerAudit& answer : audit.answers) {
    count += answer.plan == 0 ? 1 : 0;
    after_last = std::max(after_last, answer.query_index + 1);
  }
  if (people != nullptr && after_last > people->size()) {
    audit.failures.push_back(fmt::format("there is an answer to query {}, but only {} people asked",
                                         after_last - 1, people->size()));
  }
  audit.missing = missing_below(people != nullptr ? people->size() : 0, audit);
  bool is_whole = false;  // nobody is declined
  JsonObject options = top.object("options");
  if (options.has("declined") && options.boolean("declined")) {
    audit.missing = people != nullptr ? needing(audit.missing, model, asked, *people)
                                      : std::vector<PeopleRange>{};
    is_whole = people != nullptr && audit.missing.empty();
  }
  if (audit.answers.empty() && !is_whole)
    audit.failures.emplace_back("there are no answers: nothing is verified");
  if (!audit.missing.empty() && !audit.is_interrupted) {
    audit.failures.push_back(
        fmt::format("people are missing: there is no answer to query {}, and nothing says that the "
                    "run was interrupted",
                    words(audit.missing)));
  }
  if (!top.has("explained")) {
    audit.failures.emplace_back("explained is missing: nothing says how many people there were");
  } else if (top.integer("explained") != static_cast<std::int64_t>(count)) {
    audit.failures.push_back(fmt::format("explained is {}, but {} people have answers",
                                         top.integer("explained"), count));
  }
}

/// Whether a record is about the person whom it names.
void check_person(const Json& record, const Model& model, const People& people,
                  AnswerAudit& audit) {
  if (audit.query_index >= people.size()) return;  // said of the whole file
  const std::optional<RawRow>& asked = people[audit.query_index];
  const auto stated = record.find("query");
  if (!asked || stated == record.end()) {
    if (asked.has_value() != (stated != record.end()) || audit.status != Status::invalid)
      audit.failures.emplace_back("query: it can be read, or not, other than stated");
    return;
  }
  if (*stated != row_to_json(model.schema(), *asked))
    audit.failures.emplace_back("query is not the row of the table of those who asked");
}

/// Whether it names the person as the table does.
void check_id(const Json& record, const PeopleIds& ids, AnswerAudit& audit) {
  const auto stated = record.find("id");
  if (audit.query_index >= ids.size() || stated == record.end()) return;
  const std::optional<std::string>& asked = ids[audit.query_index];
  if (asked && *stated != Json(*asked))
    audit.failures.emplace_back("id is not that of the row of the table of those who asked");
}

}  // namespace

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
  const std::optional<Model> wished = with_wishes(model, asked.constraints);
  const Auditor auditor(wished ? *wished : model, asked, source);
  const audit::Hashes hashes(file);
  const audit::Evidence evidence{.rows = rows != nullptr || model.rows.has_value(),
                                 .people = people != nullptr,
                                 .hashes = hashes.are_stated()};
  FileAudit result{.failures = asked.faults};
  std::vector<AnswerAudit>& audits = result.answers;
  std::ptrdiff_t first = 0;  // plan of the query in work
  for (const JsonObject& answer : top.objects("results")) {
    check_stop();
    const auto index = static_cast<std::size_t>(JsonObject(answer).integer("query_index"));
    const bool next_plan = !audits.empty() && audits.back().query_index == index;
    if (!next_plan) first = std::ssize(audits);
    const std::span<const AnswerAudit> earlier(audits.begin() + first, audits.end());
    AnswerAudit audit = auditor.audit(answer, earlier);
    check_plan(asked, earlier, answer.value(), audit);
    const bool in_order = audits.empty() || audits.back().query_index <= audit.query_index;
    if (!in_order || audit.plan != (next_plan ? audits.back().plan + 1 : 0)) {
      audit.failures.emplace_back("query_index and plan do not count up from answer to answer");
    }
    if (people != nullptr) check_person(answer.value(), model, *people, audit);
    if (ids != nullptr) check_id(answer.value(), *ids, audit);
    const std::string fault = hashes.fault(answer.value());
    if (!fault.empty()) audit.failures.push_back(fault);
    if (audit.holds()) audit.fields = audit::record_standings(answer.value(), audit, evidence);
    audits.push_back(std::move(audit));
  }
  if (!auditor.reference_fault().empty()) result.failures.push_back(auditor.reference_fault());
  check_people(top, model, asked, people, result);
  if (top.has("sha256")) (void)top.at("sha256");
  const std::string fault = hashes.fault();
  if (!fault.empty()) result.failures.push_back(fault);
  top.finish();
  if (result.failures.empty()) result.fields = audit::file_standings(file, asked, evidence);
  return result;
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

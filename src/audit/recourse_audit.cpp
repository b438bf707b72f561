#include "audit/recourse_audit.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "audit/audit_plans.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
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
/// known where the people are. `end` is what stands behind the records.
void check_people(JsonObject& top, JsonObject& end, const Model& model, const AuditRequest& asked,
                  const People* people, FileAudit& audit) {
  audit.is_interrupted = end.has("interrupted") && end.boolean("interrupted");
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
  if (!end.has("explained")) {
    audit.failures.emplace_back("explained is missing: nothing says how many people there were");
  } else if (end.integer("explained") != static_cast<std::int64_t>(count)) {
    audit.failures.push_back(fmt::format("explained is {}, but {} people have answers",
                                         end.integer("explained"), count));
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

namespace {

/// A file's top level, of the right kind and for this model.
JsonObject top_of(const Json& file, const Model& model, const std::string& source) {
  JsonObject top(file, source);
  top.envelope(recourse_format, 1);
  if (top.string("model_sha256") != model.sha256) {
    fail(ErrorCode::input,
         "{}: the answers are for another model: model_sha256 is {}, the model file's is {}; "
         "verify them against the "
         "model that they were found for",
         source, top.string("model_sha256"), model.sha256);
  }
  return top;
}

}  // namespace

RecourseAudit::RecourseAudit(const Json& file, bool are_hashed, const Model& model,
                             const std::string& source, AuditSources sources)
    : model_(&model),
      sources_(std::move(sources)),
      top_(top_of(file, model, source)),
      asked_(read_audit_request(top_, model, sources_.members, sources_.rows)),
      wished_(with_wishes(model, asked_.constraints)),
      auditor_(wished_ ? *wished_ : model, asked_, source),
      hashes_(file, are_hashed),
      evidence_{.rows = sources_.rows != nullptr || model.rows.has_value(),
                .people = sources_.people != nullptr,
                .hashes = are_hashed},
      found_{.failures = asked_.faults} {}

RecourseAudit::Piece RecourseAudit::audit(std::span<const JsonObject> answers,
                                          std::optional<std::size_t> before) const {
  Piece piece;
  std::vector<AnswerAudit>& audits = piece.answers;
  std::ptrdiff_t first = 0;  // plan of the query in work
  for (const JsonObject& answer : answers) {
    check_stop();
    const auto index = static_cast<std::size_t>(JsonObject(answer).integer("query_index"));
    const bool next_plan = !audits.empty() && audits.back().query_index == index;
    if (!next_plan) first = std::ssize(audits);
    const std::span<const AnswerAudit> earlier(audits.begin() + first, audits.end());
    AnswerAudit audit = auditor_.audit(answer, earlier);
    check_plan(asked_, earlier, answer.value(), audit);
    if (!audits.empty()) before = audits.back().query_index;
    const bool in_order = !before || *before <= audit.query_index;
    if (!in_order || audit.plan != (next_plan ? audits.back().plan + 1 : 0)) {
      audit.failures.emplace_back("query_index and plan do not count up from answer to answer");
    }
    if (sources_.people != nullptr) check_person(answer.value(), *model_, *sources_.people, audit);
    if (sources_.ids != nullptr) check_id(answer.value(), *sources_.ids, audit);
    const std::string fault = hashes_.fault(answer.value());
    if (!fault.empty()) audit.failures.push_back(fault);
    if (audit.holds()) audit.fields = audit::record_standings(answer.value(), audit, evidence_);
    piece.hashes += audit::Hashes::stated_in(answer.value());
    audits.push_back(std::move(audit));
  }
  return piece;
}

void RecourseAudit::add(Piece piece) {
  hashes_.add(piece.hashes);
  std::vector<AnswerAudit>& all = found_.answers;
  if (all.empty()) {
    all = std::move(piece.answers);
  } else {
    std::move(piece.answers.begin(), piece.answers.end(), std::back_inserter(all));
  }
}

FileAudit RecourseAudit::finish(const Json* end) {
  std::optional<JsonObject> apart;
  if (end != nullptr) apart.emplace(*end, top_.source());
  JsonObject& last = apart ? *apart : top_;
  if (!auditor_.reference_fault().empty()) found_.failures.push_back(auditor_.reference_fault());
  check_people(top_, last, *model_, asked_, sources_.people, found_);
  if (last.has("sha256")) (void)last.at("sha256");
  const std::string fault = hashes_.fault_of_file(last.value());
  if (!fault.empty()) found_.failures.push_back(fault);
  if (apart) (void)top_.at("results");  // none
  top_.finish();
  last.finish();
  if (found_.failures.empty()) {
    found_.fields = audit::file_standings(top_.value(), asked_, evidence_);
    if (apart) found_.fields.merge(audit::file_standings(*end, asked_, evidence_));
  }
  return std::move(found_);
}

}  // namespace ellice

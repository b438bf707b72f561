#include "audit/auditor.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "audit/audit_attack.hpp"
#include "audit/audit_cost.hpp"
#include "audit/audit_score.hpp"
#include "certificate/verification_check.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/sets/set_choice.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

constexpr double stated_tolerance = 1e-9;

/// Whether a number or a level is the one that a row has.
bool is_value(const Json& stated, const Value& own) {
  if (const double* number = std::get_if<double>(&own))
    return stated.is_number() && stated.get<double>() == *number;
  return stated.is_string() && stated.get_ref<const std::string&>() == std::get<std::string>(own);
}

/// Gaps and infeasibility can be proved for linear models only.
bool is_provable(const Model& model, const SetChoice& set) {
  const auto is_linear = [](const Model* one) { return one->network.is_linear(); };
  const bool known = set.kind == SetKind::last_layer || set.kind == SetKind::true_set ||
                     set.kind == SetKind::ensemble;
  // Where any of several classes will do, nothing is: see AnyClass.
  const bool one_class = !set.contest || acceptable_classes(model, *set.contest).size() == 1;
  return known && one_class && is_linear(&model) &&
         std::all_of(set.members.begin(), set.members.end(), is_linear);
}

}  // namespace

bool Auditor::agree(double stored, double recomputed, double floor) {
  return std::abs(stored - recomputed) <=
         stated_tolerance * std::max({std::abs(stored), std::abs(recomputed), floor});
}

Auditor::Auditor(const Model& model, AuditRequest asked, std::string source)
    : model_(&model),
      asked_(std::move(asked)),
      source_(std::move(source)),
      is_exact_(is_provable(model, asked_.set)),
      verifier_(model, asked_.set.members, asked_.set.rows),
      reasons_(model, asked_.threshold, asked_.reference,
               asked_.set.rows != nullptr ? asked_.set.rows
               : model.rows               ? &*model.rows
                                          : nullptr) {
  if (asked_.set.kind == SetKind::true_set)
    true_models_.emplace(model, training_rows(asked_.set, model), asked_.epsilon);
}

AnswerAudit Auditor::audit(JsonObject answer, std::span<const AnswerAudit> earlier) const {
  if (answer.integer("query_index") < 0) answer.wrong("query_index", "a number >= 0");
  AnswerAudit result{.query_index = static_cast<std::size_t>(answer.integer("query_index")),
                     .plan = static_cast<int>(answer.integer("plan")),
                     .status = answer.choice<Status>("status"),
                     .epsilon = asked_.epsilon,
                     .threshold = asked_.threshold};
  for (const char* echoed :
       {"id", "query_violations", "held", "message", "reason", "gap", "attack", "seconds",
        "attained_epsilon", "certificate", "optimality", "sha256"}) {
    if (answer.has(echoed)) (void)answer.at(echoed);
  }
  if (asked_.set.contest) check_target(answer, result);
  if (result.status == Status::reduced) result.epsilon = attained_epsilon(answer, result);
  const bool has_row = answer.has("counterfactual");
  const auto fault = [&](std::string text) { result.failures.push_back(std::move(text)); };
  if (is_certified(result.status) && !answer.has("certificate")) fault("certificate is missing");
  if (is_certified(result.status) && !has_row) fault("counterfactual is missing");
  if (result.status == Status::uncertified && !has_row)
    fault("a row that is called uncertified is missing");
  const bool is_rowless = result.status == Status::not_found ||
                          result.status == Status::infeasible || result.status == Status::invalid;
  if (is_rowless && has_row)
    fault(
        fmt::format("a row stands beside the status {}, which has none", enum_name(result.status)));
  if (!is_certified(result.status) && answer.has("certificate"))
    fault("a certificate stands beside a status that claims none");
  if ((result.status == Status::infeasible) != answer.has("infeasible"))
    fault("status and proof of infeasibility do not go together");
  if (answer.has("gap")) {
    const double gap = answer.number("gap");
    const bool nothing_cheaper =
        result.status == Status::optimal || result.status == Status::already_robust;
    if (!(gap >= 0 && gap <= 1) || (nothing_cheaper && gap != 0))
      fault(fmt::format("gap {} does not go with status {}", gap, enum_name(result.status)));
  } else if (result.status == Status::optimal) {
    fault("an answer that is called optimal has a gap, but it is missing");
  }
  if (answer.has("query")) {
    check_with_query(answer, earlier, result);
  } else if (result.status != Status::invalid) {
    fault(fmt::format("query is missing, as only one that is invalid may be, and the status is {}",
                      enum_name(result.status)));
  }
  answer.finish();
  return result;
}

SetChoice Auditor::set_of(const AnswerAudit& result) const {
  SetChoice set = asked_.set;
  if (result.winner) set.contest->winner = *result.winner;
  return set;
}

void Auditor::check_target(JsonObject& answer, AnswerAudit& result) const {
  const std::vector<Index> acceptable = acceptable_classes(*model_, *asked_.set.contest);
  if (!answer.has("target")) {
    if (answer.has("query")) result.failures.emplace_back("target is missing");
    return;
  }
  const std::string name = answer.string("target");
  for (const Index k : acceptable) {
    if (model_->decision.classes[static_cast<std::size_t>(k)] == name) result.winner = k;
  }
  if (!result.winner) {
    result.failures.push_back(fmt::format("target {} is none of the classes asked for", name));
  }
}

RawRow Auditor::row(JsonObject& answer, const char* key) const {
  return row_from_json(model_->schema(), answer.at(key), source_, key);
}

double Auditor::attained_epsilon(JsonObject& answer, AnswerAudit& result) const {
  const double attained = answer.number("attained_epsilon");
  if (attained < 0) answer.wrong("attained_epsilon", "a number >= 0");
  if (!(attained < asked_.epsilon))
    result.failures.emplace_back("attained_epsilon is not below the epsilon that was asked for");
  return attained;
}

void Auditor::check_with_query(JsonObject& answer, std::span<const AnswerAudit> earlier,
                               AnswerAudit& result) const {
  const RawRow query = row(answer, "query");
  const audit::RowConstraints constraints(model_->encoder, asked_.constraints, result.query_index,
                                          query);
  const std::vector<std::string> stated = answer.has("query_violations")
                                              ? answer.strings("query_violations")
                                              : std::vector<std::string>{};
  if (stated != constraints.broken_by_query() && stated != constraints.broken_by_query(true))
    result.failures.emplace_back("query_violations are not those of the query");
  reasons_.check(answer, query, result.failures);
  if (answer.has("held")) {
    for (const std::string& name : answer.strings("held")) {
      if (!model_->schema().find(name))
        result.failures.push_back(fmt::format("held: there is no feature {}", name));
    }
  }
  audit::check_score(*model_, asked_.threshold, query, answer, result.failures);
  if (answer.has("counterfactual")) check_row(answer, query, constraints, earlier, result);
  if (answer.has("infeasible")) check_proof(answer.object("infeasible"), constraints, result);
}

void Auditor::check_row(JsonObject& answer, const RawRow& query,
                        const audit::RowConstraints& constraints,
                        std::span<const AnswerAudit> earlier, AnswerAudit& result) const {
  Row stated{.values = row(answer, "counterfactual")};
  stated.z = model_->encoder.encode(stated.values);
  const bool is_same = query == stated.values;
  if (result.status == Status::already_robust && !is_same)
    result.failures.emplace_back("who is robust already changes nothing, but the rows differ");
  if (is_certified(result.status) && answer.has("certificate")) {
    stated.certificate =
        certificate_from_json(answer.at("certificate"), *model_, source_,
                              fmt::format("results[{}].certificate", result.query_index));
  }
  if (stated.certificate && !fits(*stated.certificate)) {
    result.failures.emplace_back("the certificate is for another set of models");
    return;
  }
  const std::size_t differing = check_changes(answer, query, stated, result);
  check_distance(answer.object("distance"), stated, constraints, differing, result);
  const Evaluation found =
      stated.certificate ? check_certificate(stated, result) : evaluate(stated, result);
  check_logits(answer, stated, found, result);
  check_radius(answer, stated, result);
  for (std::string& failure : survival_failures(
           *model_, asked_, answer, constraints, stated.z,
           [&]() -> const SurvivalCurvature& { return survival_curvature(); }, result.unverified))
    result.failures.push_back(std::move(failure));
  if (answer.has("attack")) {
    if (stated.certificate) {
      const StoredRows* rows =
          asked_.set.rows != nullptr ? asked_.set.rows : (model_->rows ? &*model_->rows : nullptr);
      check_attack(answer.object("attack"), *model_, asked_, *stated.certificate, rows,
                   result.failures);
    } else {
      result.failures.emplace_back("attack: there is no certificate that it could be against");
    }
  }
  if (!is_certified(result.status)) return;
  if (!is_same) {  // who is robust already changes nothing
    for (const std::string& broken : constraints.broken_by(stated.values))
      result.failures.push_back("constraint broken: " + broken);
  }
  if (!stated.certificate || !answer.has("gap") || result.status == Status::already_robust) return;
  if (answer.has("optimality")) stated.log = &answer.at("optimality");
  stated.not_all = changed_by(earlier);
  check_gap(answer.number("gap"), stated, constraints, result);
}

bool Auditor::fits(const Certificate& certificate) const {
  if (certificate.set != asked_.set.kind) return false;
  const Index head = model_->network.head().size();
  const auto has_size = [&](const RivalCertificate& rival) {
    return rival.worst_model.size() == head;
  };
  if (asked_.set.contest) {
    return !certificate.rivals.empty() &&
           std::all_of(certificate.rivals.begin(), certificate.rivals.end(), has_size);
  }
  return certificate.rivals.empty() &&
         (is_first_order(certificate.set) || certificate.worst_model.size() == head);
}

const SurvivalCurvature& Auditor::survival_curvature() const {
  const std::lock_guard lock(*making_);
  if (!survival_curvature_) survival_curvature_.emplace(*model_);
  return *survival_curvature_;
}

std::vector<std::vector<std::size_t>> Auditor::changed_by(
    std::span<const AnswerAudit> plans) const {
  std::vector<std::vector<std::size_t>> result;
  for (const AnswerAudit& plan : plans) {
    if (plan.changed.empty()) continue;
    std::vector<std::size_t>& features = result.emplace_back();
    for (const std::string& name : plan.changed) {
      if (const auto j = model_->schema().find(name)) features.push_back(*j);
    }
  }
  return result;
}

Json Auditor::proof_of(JsonObject answer, std::span<const AnswerAudit> earlier) const {
  const auto status = answer.choice<Status>("status");
  const bool claims = is_certified(status) && status != Status::already_robust &&
                      answer.has("gap") && answer.has("certificate");
  if (!claims) return Json::object();
  const RawRow query = row(answer, "query");
  const auto index = static_cast<std::size_t>(answer.integer("query_index"));
  const audit::RowConstraints constraints(model_->encoder, asked_.constraints, index, query);
  AnswerAudit result{.query_index = index,
                     .plan = static_cast<int>(answer.integer("plan")),
                     .status = status,
                     .epsilon = asked_.epsilon,
                     .threshold = asked_.threshold};
  if (asked_.set.contest) check_target(answer, result);
  if (status == Status::reduced) result.epsilon = attained_epsilon(answer, result);
  Row stated = row_of(row(answer, "counterfactual"));
  stated.certificate =
      certificate_from_json(answer.at("certificate"), *model_, source_, "certificate");
  (void)check_changes(answer, query, stated, result);
  result.cost = cost_between(constraints.query_raw(), stated.values);
  stated.not_all = changed_by(earlier);
  return prove(stated, answer.number("gap"), constraints, result);
}

double Auditor::cost_between(VectorArg from, const RawRow& to) const {
  const Encoder& encoder = model_->encoder;
  return audit::cost_of_move(asked_.cost, encoder,
                             audit::distance_by_column(encoder, from, encoder.raw(to)));
}

std::size_t Auditor::check_changes(JsonObject& answer, const RawRow& query, const Row& row,
                                   AnswerAudit& result) const {
  const Schema& schema = model_->schema();
  std::set<std::string> changed;
  std::size_t next = 0;  // they are listed in the order of the schema
  for (JsonObject change : answer.objects("changes")) {
    const std::string name = change.string("feature");
    const auto j = schema.find(name);
    if (!j || *j < next || !changed.insert(name).second ||
        !is_value(change.at("from"), query[*j]) || !is_value(change.at("to"), row.values[*j])) {
      result.failures.push_back(
          fmt::format("changes: {} is not what query and counterfactual say", name));
      break;
    }
    next = *j + 1;
    audit::check_points(*model_, query, row.values[*j], *j, change, result.failures);
    change.finish();
  }
  if (answer.has("held")) {
    for (const std::string& name : answer.strings("held")) {
      const auto j = schema.find(name);
      if (j && query[*j] != row.values[*j])
        result.failures.push_back(fmt::format("held: {} does not keep the query's value", name));
    }
  }
  std::size_t differing = 0;
  for (std::size_t j = 0; j < query.size(); ++j) differing += query[j] != row.values[j] ? 1 : 0;
  result.changed.assign(changed.begin(), changed.end());
  if (differing != changed.size())
    result.failures.emplace_back("changes: not all of them are listed");
  if (asked_.max_changes && static_cast<std::int64_t>(differing) > *asked_.max_changes &&
      result.status != Status::already_robust) {
    result.failures.push_back(
        fmt::format("changes: {}, but at most {} were asked for", differing, *asked_.max_changes));
  }
  return differing;
}

void Auditor::check_distance(JsonObject distance, const Row& row,
                             const audit::RowConstraints& constraints, std::size_t differing,
                             AnswerAudit& result) const {
  const Encoder& encoder = model_->encoder;
  const Vector move =
      audit::distance_by_column(encoder, constraints.query_raw(), encoder.raw(row.values));
  result.cost = audit::cost_of_move(asked_.cost, encoder, move);
  const auto compare = [&](const char* name, double recomputed) {
    const double stored = distance.number(name);
    if (agree(stored, recomputed)) return;
    result.failures.push_back(
        fmt::format("distance.{} is {}, recomputed {}", name, stored, recomputed));
  };
  compare("l2", move.norm());
  compare("l1", move.lpNorm<1>());
  compare("weighted", result.cost);
  compare("changed", static_cast<double>(differing));
  distance.finish();
}

void Auditor::check_logits(JsonObject& answer, const Row& row, const Evaluation& found,
                           AnswerAudit& result) const {
  const Vector features = verification::features_of(*model_, row.z).cast<double>().cwiseAbs();
  const Index outputs = model_->network.outputs();
  const Vector sizes = model_->network.head().cwiseAbs();  // of each class in turn
  const double terms =
      (Eigen::Map<const Matrix>(sizes.data(), features.size(), outputs).transpose() * features)
          .sum();
  // A search over the true set may prove nothing of a row, and then says nothing of its size
  // either.
  const bool is_bounded = std::isfinite(found.robust_logit);
  const double penalty = is_bounded ? std::abs(found.logit - found.robust_logit) : 0;
  const double rounding = 1e-4 * (terms + penalty);  // times 1e-9
  const auto compare = [&](const char* name, double recomputed, double floor) {
    const double stored = answer.number(name);
    if (agree(stored, recomputed, floor)) return true;
    result.failures.push_back(fmt::format("{} is {}, recomputed {}", name, stored, recomputed));
    return false;
  };
  (void)compare("logit", found.logit, rounding);
  if (row.certificate) {
    // The same numbers once more.
    double robust = row.certificate->robust_logit;
    for (const MemberCertificate& member : row.certificate->members)
      robust = std::min(robust, member.robust_logit);
    if (answer.number("logit") != row.certificate->logit || answer.number("robust_logit") != robust)
      result.failures.emplace_back("logit and robust_logit are not those of the certificate");
  }
  if (!is_bounded && !is_certified(result.status)) {
    (void)answer.number("robust_logit");
    result.unverified.emplace_back(
        "robust_logit: no bound was found that it could be held against");
    return;
  }
  // The bound over the true set depends on where Newton's method began, in its last digits.
  if (compare("robust_logit", found.robust_logit, true_models_ ? 1e4 * rounding : rounding)) return;
  const double stored = answer.number("robust_logit");
  const bool is_solved = !true_models_ && !is_first_order(asked_.set.kind);
  const double size = terms + penalty;
  // Beyond this the numbers say nothing any more.
  constexpr double most = 1e-5;
  const auto share = [&] { return std::min(audit::rounding(cones(result)), most); };
  if (is_solved && std::abs(stored - found.robust_logit) <= share() * size) {
    result.failures.pop_back();
  } else if (true_models_ && is_bound_of_true(stored, row, found, result)) {
    result.failures.pop_back();
  } else if (true_models_ && !is_certified(result.status) && stored < found.robust_logit) {
    // A lower bound still, of a row that nobody calls robust.
    result.failures.pop_back();
    result.unverified.push_back(
        fmt::format("robust_logit: {} is a bound, and {} was proved", stored, found.robust_logit));
  }
}

Evaluation Auditor::check_certificate(const Row& row, AnswerAudit& result) const {
  const Certificate& certificate = *row.certificate;
  if (certificate.point != row.values)
    result.failures.emplace_back("the certificate is for another row");
  if (asked_.set.contest) check_contest(certificate, result);
  if (certificate.set != asked_.set.kind)
    result.failures.emplace_back("the certificate is for another set of models");
  if (certificate.epsilon != result.epsilon)
    result.failures.emplace_back("the certificate is for another epsilon");
  if (certificate.threshold != result.threshold)
    result.failures.emplace_back("the certificate is for another threshold");
  const Verification verification = verifier_.verify(certificate);
  result.logit = verification.logit;
  result.robust_logit = verification.robust_logit;
  result.breaking_model = verification.breaking_model;
  result.failures.insert(result.failures.end(), verification.failures.begin(),
                         verification.failures.end());
  return {.logit = verification.logit, .robust_logit = verification.robust_logit};
}

void Auditor::check_contest(const Certificate& certificate, AnswerAudit& result) const {
  const SetChoice set = set_of(result);
  std::vector<std::string> expected;
  for (const Index k : set.contest->rivals) {
    expected.push_back(model_->decision.classes[static_cast<std::size_t>(k)]);
  }
  std::vector<std::string> rivals;
  for (const RivalCertificate& rival : certificate.rivals) rivals.push_back(rival.name);
  if (rivals != expected ||
      certificate.target != model_->decision.classes[static_cast<std::size_t>(set.contest->winner)])
    result.failures.emplace_back("the certificate is for other classes");
}

}  // namespace ellice

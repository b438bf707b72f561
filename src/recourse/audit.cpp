#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/rashomon/retraining.hpp"
#include "ellice/rashomon/true_set.hpp"
#include "ellice/rashomon/uncertainty_set.hpp"
#include "ellice/rashomon/verification.hpp"
#include "ellice/recourse/recourse_file.hpp"
#include "recourse/audit_bounds.hpp"
#include "recourse/audit_plans.hpp"
#include "recourse/audit_proof.hpp"
#include "recourse/audit_reach.hpp"
#include "recourse/audit_reasons.hpp"
#include "recourse/audit_request.hpp"

namespace ellice {

namespace {

constexpr double tolerance = 1e-9;
// A stated gap may be this much too small: an answer called optimal is so to 1e-9, and the bound is
// computed from the answer as written.
constexpr double gap_tolerance = 1e-8;
// Iterations end, so that a largest ε is known to this, relatively.
constexpr double radius_tolerance = 1e-6;

/// Relative to the numbers themselves, or to `floor` where they are what larger numbers leave over.
bool agree(double stored, double recomputed, double floor = 1e-6) {
  return std::abs(stored - recomputed) <=
         tolerance * std::max({std::abs(stored), std::abs(recomputed), floor});
}

/// Gaps and infeasibility can be proved for linear models only.
bool is_provable(const Model& model, const SetChoice& set) {
  const auto is_linear = [](const Model* one) { return one->network.layers.size() == 1; };
  const bool known = set.kind == SetKind::last_layer || set.kind == SetKind::true_set ||
                     set.kind == SetKind::ensemble;
  // Where any of several classes will do, nothing is: see AnyClass.
  const bool one_class = !set.contest || acceptable_classes(model, *set.contest).size() == 1;
  return known && one_class && is_linear(&model) &&
         std::all_of(set.members.begin(), set.members.end(), is_linear);
}

class Auditor {
 public:
  Auditor(const Model& model, AuditRequest asked, std::string source)
      : model_(&model),
        asked_(std::move(asked)),
        source_(std::move(source)),
        is_exact_(is_provable(model, asked_.set)),
        verifier_(model, asked_.set.members, asked_.set.rows),
        reasons_(model, asked_.threshold, asked_.reference,
                 asked_.set.rows != nullptr ? asked_.set.rows
                 : model.rows               ? &*model.rows
                                            : nullptr) {
    if (asked_.set.kind == SetKind::true_set && !asked_.set.contest)
      true_set_ = true_set(model, training_rows(asked_.set, model), asked_.epsilon);
    std::vector<Index> winners = {0};
    if (asked_.set.contest) winners = acceptable_classes(model, *asked_.set.contest);
    for (const Index winner : winners) {
      SetChoice set = asked_.set;
      if (set.contest) set.contest->winner = winner;
      certifiers_.emplace(winner, Certifier(model, set, asked_.epsilon, asked_.threshold));
    }
  }

  [[nodiscard]] AnswerAudit audit(JsonObject answer) const {
    AnswerAudit result{.query_index = static_cast<std::size_t>(answer.integer("query_index")),
                       .plan = static_cast<int>(answer.integer("plan")),
                       .status = answer.choice<Status>("status"),
                       .epsilon = asked_.epsilon,
                       .threshold = asked_.threshold};
    for (const char* echoed : {"id", "query_violations", "held", "message", "reason", "gap",
                               "attack", "seconds", "attained_epsilon", "certificate"}) {
      if (answer.has(echoed)) (void)answer.at(echoed);
    }
    if (asked_.set.contest) check_target(answer, result);
    if (result.status == Status::reduced) result.epsilon = attained_epsilon(answer, result);
    const bool has_row = answer.has("counterfactual");
    const auto fault = [&](std::string text) { result.failures.push_back(std::move(text)); };
    if (is_certified(result.status) && !answer.has("certificate")) fault("certificate is missing");
    if (is_certified(result.status) && !has_row) fault("counterfactual is missing");
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
    if (answer.has("query")) check_with_query(answer, result);
    answer.finish();
    return result;
  }

 private:
  [[nodiscard]] RashomonEllipsoid ellipsoid(double epsilon) const {
    return {model_->network.head(), damped_hessian(*model_, asked_.set.damping), epsilon};
  }

  /// For the class that the answer names, where there are many.
  [[nodiscard]] Certifier certifier(const AnswerAudit& result) const {
    const SetChoice set = set_of(result);
    if (result.epsilon == asked_.epsilon)
      return certifiers_.at(set.contest ? set.contest->winner : 0);
    return {*model_, set, result.epsilon, asked_.threshold};
  }

  [[nodiscard]] SetChoice set_of(const AnswerAudit& result) const {
    SetChoice set = asked_.set;
    if (result.winner) set.contest->winner = *result.winner;
    return set;
  }

  /// The answer names one of the classes that were asked for.
  void check_target(JsonObject& answer, AnswerAudit& result) const {
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

  [[nodiscard]] WorstModel worst_models(double epsilon) const {
    if (true_set_) {
      return [set = *true_set_](const Vector& x) { return set.worst(x).model; };
    }
    return [set = ellipsoid(epsilon)](const Vector& x) { return worst_model(set, x); };
  }

  [[nodiscard]] RawRow row(JsonObject& answer, const char* key) const {
    return row_from_json(model_->schema(), answer.at(key), source_, key);
  }

  [[nodiscard]] double attained_epsilon(JsonObject& answer, AnswerAudit& result) const {
    const double attained = answer.number("attained_epsilon");
    if (attained < 0) answer.wrong("attained_epsilon", "a number >= 0");
    if (!(attained < asked_.epsilon))
      result.failures.emplace_back("attained_epsilon is not below the epsilon that was asked for");
    return attained;
  }

  void check_with_query(JsonObject& answer, AnswerAudit& result) const {
    const RawRow query = row(answer, "query");
    const FeasibleSet feasible(model_->encoder, asked_.constraints, result.query_index,
                               model_->encoder.raw(query));
    const std::vector<std::string> stated = answer.has("query_violations")
                                                ? answer.strings("query_violations")
                                                : std::vector<std::string>{};
    if (stated != feasible.query_violations())
      result.failures.emplace_back("query_violations are not those of the query");
    reasons_.check(answer, query, result.failures);
    if (answer.has("counterfactual")) {
      const RawRow counterfactual = row(answer, "counterfactual");
      if (result.status == Status::already_robust && query != counterfactual)
        result.failures.emplace_back("who is robust already changes nothing, but the rows differ");
      check_numbers(answer, query, counterfactual, feasible, result);
      if (is_certified(result.status)) {
        check_constraints(query, counterfactual, feasible, result);
        if (answer.has("certificate")) check_certificate(answer, counterfactual, result);
        if (answer.has("gap") && result.status != Status::already_robust)
          check_gap(answer.number("gap"), counterfactual, feasible, result);
      }
    }
    if (answer.has("infeasible")) check_proof(answer.object("infeasible"), feasible, result);
  }

  void check_numbers(JsonObject& answer, const RawRow& query, const RawRow& counterfactual,
                     const FeasibleSet& feasible, AnswerAudit& result) const {
    const Schema& schema = model_->schema();
    const Json from = row_to_json(schema, query);
    const Json to = row_to_json(schema, counterfactual);
    std::set<std::string> changed;
    for (JsonObject change : answer.objects("changes")) {
      const std::string name = change.string("feature");
      const auto j = schema.find(name);
      if (!j || !changed.insert(name).second || change.at("from") != from.at(name) ||
          change.at("to") != to.at(name)) {
        result.failures.push_back(
            fmt::format("changes: {} is not what query and counterfactual say", name));
        break;
      }
      change.finish();
    }
    std::size_t differing = 0;
    for (std::size_t j = 0; j < query.size(); ++j)
      differing += query[j] != counterfactual[j] ? 1 : 0;
    result.changed.assign(changed.begin(), changed.end());
    if (differing != changed.size())
      result.failures.emplace_back("changes: not all of them are listed");
    if (asked_.max_changes && static_cast<std::int64_t>(differing) > *asked_.max_changes &&
        result.status != Status::already_robust) {
      result.failures.push_back(fmt::format("changes: {}, but at most {} were asked for", differing,
                                            *asked_.max_changes));
    }

    const Vector z = model_->encoder.encode(counterfactual);
    const Vector move = z - feasible.query();
    result.cost = cost_of(asked_.cost, model_->encoder, feasible.query(), z);
    JsonObject distance = answer.object("distance");
    const auto compare = [&](const char* name, double stored, double recomputed,
                             double floor = 1e-6) {
      if (agree(stored, recomputed, floor)) return;
      result.failures.push_back(fmt::format("{} is {}, recomputed {}", name, stored, recomputed));
    };
    compare("distance.l2", distance.number("l2"), move.norm());
    compare("distance.l1", distance.number("l1"), move.lpNorm<1>());
    compare("distance.weighted", distance.number("weighted"), result.cost);
    compare("distance.changed", distance.number("changed"), static_cast<double>(differing));
    distance.finish();
    // In the arithmetic of certificates: next to a unit's kink, where g jumps, another may see the
    // other side.
    const Evaluation found = certifier(result).evaluate(counterfactual);
    check_endurance(answer, z, result);
    const Vector features = with_one(model_->network.features(z)).cwiseAbs();
    const Index outputs = model_->network.outputs();
    const Vector sizes = model_->network.head().cwiseAbs();  // of each class in turn
    const double terms =
        (Eigen::Map<const Matrix>(sizes.data(), features.size(), outputs).transpose() * features)
            .sum();
    const double rounding =
        1e-4 * (terms + std::abs(found.logit - found.robust_logit));  // times 1e-9
    compare("logit", answer.number("logit"), found.logit, rounding);
    // The bound over the true set depends on where Newton's method began, in its last digits.
    compare("robust_logit", answer.number("robust_logit"), found.robust_logit,
            asked_.set.kind == SetKind::true_set ? 1e4 * rounding : rounding);
  }

  /// Radius and survival, from a factor of H made here and the definition of both.
  void check_endurance(JsonObject& answer, const Vector& z, AnswerAudit& result) const {
    // The true set's iteration ends within the rounding of an objective.
    const bool is_true = asked_.set.kind == SetKind::true_set;
    const double floor = is_true ? 1e-4 * (1 + model_->training.objective) : 1e-12;
    const auto compare = [&](const char* name, std::optional<double> recomputed) {
      if (!answer.has(name)) {
        if (recomputed && is_true && is_certified(result.status))
          result.failures.push_back(fmt::format("{} is missing", name));
        return;
      }
      const double stored = answer.number(name);
      if (recomputed && agree(stored, *recomputed, floor)) return;
      result.failures.push_back(
          recomputed ? fmt::format("{} is {}, recomputed {}", name, stored, *recomputed)
                     : fmt::format("{} is stated where none is defined", name));
    };
    std::optional<double> radius;
    std::optional<double> survival;
    if (asked_.set.contest && is_true) {
      const Certifier own = certifier(result);
      radius = robustness_radius(*own.classes_of_true_set(), *set_of(result).contest,
                                 with_one(model_->network.features(z)), asked_.threshold);
    } else if (asked_.set.contest) {
      const SetChoice set = set_of(result);
      for (const Model& pair : pair_models(*model_, *set.contest, set.damping)) {
        const double own = robustness_radius(last_layer_set(pair, 0),
                                             with_one(pair.network.features(z)), asked_.threshold);
        radius = std::min(radius.value_or(own), own);
      }
    } else if (asked_.set.kind == SetKind::last_layer || true_set_) {
      const Vector x = with_one(model_->network.features(z));
      const double margin = model_->network.head().dot(x) - asked_.threshold;
      radius = true_set_ ? true_set_->robustness_radius(x, asked_.threshold)
                         : robustness_radius(ellipsoid(0), x, asked_.threshold);
      if (is_exact_ && margin >= 0 && no_survival_reason(*model_, asked_.set).empty()) {
        const double shift = answer.has("selection_shift") ? answer.number("selection_shift") : 0;
        survival = plain_survival(*model_, asked_.retraining, x, margin - std::max(shift, 0.0));
      }
    }
    compare("robustness_radius", radius);
    compare("predicted_survival", survival);
  }

  void check_constraints(const RawRow& query, const RawRow& counterfactual,
                         const FeasibleSet& feasible, AnswerAudit& result) const {
    if (query == counterfactual) return;  // who is robust already changes nothing
    for (const std::string& broken : feasible.violations(model_->encoder.raw(counterfactual))) {
      result.failures.push_back("constraint broken: " + broken);
    }
  }

  void check_certificate(JsonObject& answer, const RawRow& counterfactual,
                         AnswerAudit& result) const {
    const Certificate certificate =
        certificate_from_json(answer.at("certificate"), *model_, source_,
                              fmt::format("results[{}].certificate", result.query_index));
    if (certificate.point != counterfactual)
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
  }

  /// The certificate is for the answer's class and against all that are not acceptable.
  void check_contest(const Certificate& certificate, AnswerAudit& result) const {
    const SetChoice set = set_of(result);
    std::vector<std::string> expected;
    for (const Index k : set.contest->rivals) {
      expected.push_back(model_->decision.classes[static_cast<std::size_t>(k)]);
    }
    std::vector<std::string> rivals;
    for (const RivalCertificate& rival : certificate.rivals) rivals.push_back(rival.name);
    if (rivals != expected ||
        certificate.target !=
            model_->decision.classes[static_cast<std::size_t>(set.contest->winner)])
      result.failures.emplace_back("the certificate is for other classes");
  }

  /// No robust row may cost less than the stated gap admits (theory.md, Result 9).
  void check_gap(double gap, const RawRow& counterfactual, const FeasibleSet& feasible,
                 AnswerAudit& result) const {
    const bool square_root = asked_.cost.kind == CostKind::mixed;
    if (!is_exact_) {
      result.failures.emplace_back("a gap is stated where the cost has no bound that proves it");
      return;
    }
    if (asked_.cost.sparsity_weight != 0 || asked_.counts_changes || result.plan > 0 ||
        feasible.has_grid() || !feasible.held().empty() || has_rules() ||
        asked_.set.kind == SetKind::ensemble || asked_.set.contest) {
      check_not_beaten(gap, counterfactual, feasible, result);
      return;
    }
    const Vector weights = column_weights(model_->encoder);
    const bool squares = asked_.cost.kind != CostKind::l1;
    const bool absolutes = asked_.cost.kind == CostKind::l1 || asked_.cost.kind == CostKind::l1_l2;
    const ColumnCost cost{.squares = squares ? weights : Vector::Zero(weights.size()),
                          .absolutes = absolutes ? weights : Vector::Zero(weights.size())};
    const std::vector<Box> boxes =
        feasible.boxes_cover() ? feasible.boxes() : std::vector<Box>{feasible.relaxed()};
    const Vector z = model_->encoder.encode(counterfactual);
    const Vector x = with_one(z);
    // Certified rows keep this distance from the threshold.
    const Vector theta = model_->network.head();
    const WorstModel worst_at = worst_models(result.epsilon);
    const Vector worst = worst_at(x);
    const double margin = 1e-12 * (theta.cwiseProduct(x).cwiseAbs().sum() + (theta - worst).dot(x) +
                                   std::abs(result.threshold));
    const double paid = cost_of(asked_.cost, model_->encoder, feasible.query(), z);
    const double claimed = paid * std::max(0.0, 1 - gap - gap_tolerance);
    const double needed = square_root ? claimed * claimed : claimed;
    const double proved = cost_lower_bound(worst_at, result.threshold + margin, feasible.query(),
                                           boxes, cost, worst, needed);
    if (proved >= needed) return;
    result.failures.push_back(
        fmt::format("gap is {}, but the bound recomputed proves {:.9g} only", gap,
                    1 - (square_root ? std::sqrt(std::max(0.0, proved)) : proved) / paid));
  }

  /// What is discrete was searched, and no short proof shows that nothing cheaper exists; but
  /// nothing near may contradict the gap.
  void check_not_beaten(double gap, const RawRow& counterfactual, const FeasibleSet& feasible,
                        AnswerAudit& result) const {
    const Vector z = model_->encoder.encode(counterfactual);
    const double paid = cost_of(asked_.cost, model_->encoder, feasible.query(), z);
    const auto feature = beaten_by_retreat(*model_, certifier(result), asked_.cost, feasible,
                                           counterfactual, paid * (1 - gap - gap_tolerance));
    if (!feature) return;
    result.failures.push_back(
        fmt::format("gap is {}, but a row that changes {} less passes and costs less than that "
                    "admits",
                    gap, model_->schema().features[*feature].name));
  }

  [[nodiscard]] bool has_rules() const {
    return !model_->schema().constraints.empty() || !model_->schema().implications.empty();
  }

  void check_proof(JsonObject infeasible, const FeasibleSet& feasible, AnswerAudit& result) const {
    const bool is_true_contest = asked_.set.kind == SetKind::true_set && asked_.set.contest;
    if (!is_exact_ || is_true_contest) {
      result.failures.emplace_back(is_true_contest
                                       ? "proof: there is none for the true set of several classes"
                                       : "proof: there is none for networks and sets other than "
                                         "last-layer, ensemble and true");
      return;
    }
    ProofChecker checker(*model_, asked_.set, true_set_ ? &*true_set_ : nullptr, result);
    if (infeasible.has("proofs")) {
      checker.check_cases(infeasible.objects("proofs"), feasible);
    } else {
      checker.check(infeasible.object("proof"), feasible);
    }
    (void)infeasible.strings("blocking");
    const double max_epsilon = infeasible.number("max_epsilon");
    if (infeasible.has("best")) {
      check_best(infeasible.object("best"), max_epsilon, feasible, result);
    } else if (!has_rules()) {
      result.failures.emplace_back("best is missing");
    }
    if (has_several() || (has_rules() && !true_set_))
      check_largest_epsilon(max_epsilon, *model_, asked_.set, feasible, result);
    infeasible.finish();
  }

  [[nodiscard]] bool has_several() const {
    return asked_.set.kind == SetKind::ensemble || asked_.set.contest;
  }

  void check_best(JsonObject best, double max_epsilon, const FeasibleSet& feasible,
                  AnswerAudit& result) const {
    const RawRow point = row_from_json(model_->schema(), best.at("point"), source_, "best.point");
    const Vector x = with_one(model_->encoder.encode(point));
    const double recomputed = true_set_       ? true_set_->worst(x).lower_bound
                              : has_several() ? certifier(result).evaluate(point).robust_logit
                                              : robust_logit(ellipsoid(result.epsilon), x);
    if (!agree(best.number("robust_logit"), recomputed, true_set_ ? 1 : 1e-6)) {
      result.failures.push_back(fmt::format("best.robust_logit is {}, recomputed {}",
                                            best.number("robust_logit"), recomputed));
    }
    best.finish();
    if (true_set_) {
      check_true_max_epsilon(max_epsilon, x, result);
    } else if (!has_several() && !has_rules()) {
      check_max_epsilon(max_epsilon, x, feasible.relaxed(), ellipsoid(result.epsilon), result);
    }
  }

  /// Below the ε asked for, no less than a point of the box attains, no more than a model admits.
  void check_max_epsilon(double stated, const Vector& best, const Box& box,
                         const RashomonEllipsoid& set, AnswerAudit& result) const {
    const double t = result.threshold;
    if (stated < 0 || (stated >= result.epsilon && result.epsilon > 0)) {
      result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
      return;
    }
    const Vector top = with_one(most_robust_point(set, t, box));
    const double attained =
        std::max(robustness_radius(set, best, t), robustness_radius(set, top, t));
    if (stated < attained * (1 - radius_tolerance)) {
      result.failures.push_back(
          fmt::format("max_epsilon is {}, but a point of the box attains {}", stated, attained));
    }
    const double admitted = admitted_epsilon(set, ellipsoid(attained), t, box, top);
    if (stated > admitted * (1 + radius_tolerance)) {
      result.failures.push_back(
          fmt::format("max_epsilon is {}, but a model within {} gives no point of the box more "
                      "than the threshold",
                      stated, admitted));
    }
  }

  /// Below the ε asked for, and no less than the best point attains.
  void check_true_max_epsilon(double stated, const Vector& best, AnswerAudit& result) const {
    if (stated < 0 || stated > result.epsilon) {
      result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
    }
    const double attained = true_set_->robustness_radius(best, result.threshold);
    if (stated < attained * (1 - radius_tolerance)) {
      result.failures.push_back(
          fmt::format("max_epsilon is {}, but a point of the box attains {}", stated, attained));
    }
  }

  const Model* model_;
  AuditRequest asked_;
  std::string source_;
  bool is_exact_;  // gaps and infeasibility can be proved
  Verifier verifier_;
  std::map<Index, Certifier> certifiers_;  // by the class that wins; one logit has one, 0
  ReasonAudit reasons_;
  std::optional<TrueSet> true_set_;
};

}  // namespace

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

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_proof.hpp"
#include "audit/audit_survival.hpp"
#include "audit/auditor.hpp"
#include "ellice/core/json.hpp"
#include "ellice/sets/retraining.hpp"
#include "request/cost_prices.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

namespace {

// A stated gap may be this much too small: an answer called optimal is so to 1e-9, and the bound is
// computed from the answer as written.
constexpr double gap_tolerance = 1e-8;

}  // namespace

Ellipsoid Auditor::ellipsoid(double epsilon) const {
  return {model_->network.head(), damped_hessian(*model_, asked_.set.damping), epsilon};
}

WorstModel Auditor::worst_models(double epsilon) const {
  if (true_set_) {
    return [set = *true_set_](const Vector& x) { return set.worst(x).model; };
  }
  return [set = ellipsoid(epsilon)](const Vector& x) { return worst_model(set, x); };
}

void Auditor::check_endurance(JsonObject& answer, const FeasibleSet& feasible, const Vector& z,
                              AnswerAudit& result) const {
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
  const Certifier own = certifier(result);
  if (const Question* question = own.question()) {
    for (const Part& part : question->parts()) {
      const double one = part.radius(part.features(z), asked_.threshold);
      radius = std::min(radius.value_or(one), one);
    }
  }
  compare("robustness_radius", radius);
  for (std::string& failure : survival_failures(*model_, asked_, answer, feasible, z))
    result.failures.push_back(std::move(failure));
}

void Auditor::check_gap(double gap, const RawRow& counterfactual, const FeasibleSet& feasible,
                        AnswerAudit& result) const {
  const CostPrices prices = prices_of(asked_.cost.kind);
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
  const ColumnCost cost{.squares = prices.squares ? weights : Vector::Zero(weights.size()),
                        .absolutes = prices.absolutes ? weights : Vector::Zero(weights.size())};
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
  const double needed = prices.is_root ? claimed * claimed : claimed;
  const double proved = cost_lower_bound(worst_at, result.threshold + margin, feasible.query(),
                                         boxes, cost, worst, needed);
  if (proved >= needed) return;
  result.failures.push_back(
      fmt::format("gap is {}, but the bound recomputed proves {:.9g} only", gap,
                  1 - (prices.is_root ? std::sqrt(std::max(0.0, proved)) : proved) / paid));
}

void Auditor::check_not_beaten(double gap, const RawRow& counterfactual,
                               const FeasibleSet& feasible, AnswerAudit& result) const {
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

bool Auditor::has_rules() const {
  return !model_->schema().constraints.empty() || !model_->schema().implications.empty();
}

void Auditor::check_proof(JsonObject infeasible, const FeasibleSet& feasible,
                          AnswerAudit& result) const {
  if (!is_exact_) {
    result.failures.emplace_back(
        "proof: there is none for networks and sets other than last-layer, ensemble and true");
    return;
  }
  const TrueSet* members = true_set_ ? &*true_set_ : true_classes_ ? &*true_classes_ : nullptr;
  ProofChecker checker(*model_, asked_.set, members, result);
  if (infeasible.has("proofs")) {
    checker.check_cases(infeasible.objects("proofs"), feasible);
  } else {
    checker.check(infeasible.object("proof"), feasible);
  }
  for (const char* key : {"blocking", "blocking_is", "blocking_witnesses"})
    (void)infeasible.at(key);
  if (infeasible.has("blocking_proofs")) (void)infeasible.at("blocking_proofs");
  check_max_epsilon(infeasible.object("max_epsilon_bounds"), infeasible.number("max_epsilon"),
                    feasible, result);
  if (infeasible.has("best")) {
    check_best(infeasible.object("best"), result);
  } else if (!has_rules()) {
    result.failures.emplace_back("best is missing");
  }
  infeasible.finish();
}

bool Auditor::has_several() const {
  return asked_.set.kind == SetKind::ensemble || asked_.set.contest;
}

void Auditor::check_best(JsonObject best, AnswerAudit& result) const {
  const RawRow point = row_from_json(model_->schema(), best.at("point"), source_, "best.point");
  const Vector x = with_one(model_->encoder.encode(point));
  const double recomputed = true_set_       ? true_set_->worst(x).proved
                            : has_several() ? certifier(result).evaluate(point).robust_logit
                                            : robust_logit(ellipsoid(result.epsilon), x);
  const bool is_true = true_set_ || true_classes_;
  const double stated = best.number("robust_logit");
  if (!agree(stated, recomputed, is_true ? 1 : 1e-6)) {
    result.failures.push_back(
        fmt::format("best.robust_logit is {}, recomputed {}", stated, recomputed));
  }
  if (best.number("bound") < stated) result.failures.emplace_back("best exceeds its own bound");
  best.finish();
}

void Auditor::check_max_epsilon(JsonObject bounds, double stated, const FeasibleSet& feasible,
                                AnswerAudit& result) const {
  const double upper = bounds.number("upper");
  const double lower = bounds.has("lower") ? bounds.number("lower") : 0;
  if (stated != lower || lower < 0 || lower > upper || upper > result.epsilon)
    result.failures.emplace_back(
        "max_epsilon does not lie between its bounds and the epsilon asked for");
  if (bounds.has("proofs")) (void)bounds.at("proofs");
  if (bounds.has("lower")) {
    const RawRow point =
        row_from_json(model_->schema(), bounds.at("point"), source_, "max_epsilon_bounds.point");
    AnswerAudit there = result;
    there.epsilon = lower;
    const bool is_allowed = feasible.violations(model_->encoder.raw(point)).empty();
    if (!is_allowed || (lower > 0 && !certifier(there).certify(point)))
      result.failures.push_back(
          fmt::format("max_epsilon is {}, for which its point is no answer", lower));
  }
  bounds.finish();
}

}  // namespace ellice

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_proof.hpp"
#include "audit/audit_reach.hpp"
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
// Iterations end, so that a largest ε is known to this, relatively.
constexpr double radius_tolerance = 1e-6;

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
  (void)infeasible.strings("blocking");
  const double max_epsilon = infeasible.number("max_epsilon");
  if (infeasible.has("best")) {
    check_best(infeasible.object("best"), max_epsilon, feasible, result);
  } else if (!has_rules()) {
    result.failures.emplace_back("best is missing");
  }
  const bool is_true = members != nullptr;
  if ((has_several() || has_rules()) && !is_true)
    check_largest_epsilon(max_epsilon, *model_, asked_.set, feasible, result);
  infeasible.finish();
}

bool Auditor::has_several() const {
  return asked_.set.kind == SetKind::ensemble || asked_.set.contest;
}

void Auditor::check_best(JsonObject best, double max_epsilon, const FeasibleSet& feasible,
                         AnswerAudit& result) const {
  const RawRow point = row_from_json(model_->schema(), best.at("point"), source_, "best.point");
  const Vector x = with_one(model_->encoder.encode(point));
  const double recomputed = true_set_       ? true_set_->worst(x).proved
                            : has_several() ? certifier(result).evaluate(point).robust_logit
                                            : robust_logit(ellipsoid(result.epsilon), x);
  const bool is_true = true_set_ || true_classes_;
  if (!agree(best.number("robust_logit"), recomputed, is_true ? 1 : 1e-6)) {
    result.failures.push_back(fmt::format("best.robust_logit is {}, recomputed {}",
                                          best.number("robust_logit"), recomputed));
  }
  best.finish();
  if (is_true) {
    check_true_max_epsilon(max_epsilon, x, result);
  } else if (!has_several() && !has_rules()) {
    check_max_epsilon(max_epsilon, x, feasible.relaxed(), ellipsoid(result.epsilon), result);
  }
}

void Auditor::check_max_epsilon(double stated, const Vector& best, const Box& box,
                                const Ellipsoid& set, AnswerAudit& result) const {
  const double t = result.threshold;
  if (stated < 0 || (stated >= result.epsilon && result.epsilon > 0)) {
    result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
    return;
  }
  const Vector top = with_one(most_robust_point(set, t, box));
  const double attained = std::max(robustness_radius(set, best, t), robustness_radius(set, top, t));
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

void Auditor::check_true_max_epsilon(double stated, const Vector& best, AnswerAudit& result) const {
  if (stated < 0 || stated > result.epsilon) {
    result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
  }
  const Certifier own = certifier(result);
  double attained = std::numeric_limits<double>::infinity();
  for (const Part& part : own.question()->parts())
    attained = std::min(attained, part.radius(best, result.threshold));
  if (stated < attained * (1 - radius_tolerance)) {
    result.failures.push_back(
        fmt::format("max_epsilon is {}, but a point of the box attains {}", stated, attained));
  }
}

}  // namespace ellice

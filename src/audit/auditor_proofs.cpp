// What is claimed where there is no answer.

#include <algorithm>
#include <cmath>

#include "audit/audit_proof.hpp"
#include "audit/audit_reach.hpp"
#include "audit/auditor.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

// Iterations end, so that a largest ε is known to this, relatively: of one ellipsoid, of several or
// with rules, of the true set.
constexpr double radius_tolerance = 1e-6;
constexpr double rules_tolerance = 1e-3;
constexpr double true_tolerance = 2e-3;
// Of the ε asked for: as good as 0, to a search that halves an interval.
constexpr double negligible = 1e-6;

}  // namespace

bool Auditor::has_rules() const {
  return !model_->schema().constraints.empty() || !model_->schema().implications.empty();
}

void Auditor::check_proof(JsonObject infeasible, const audit::RowConstraints& constraints,
                          AnswerAudit& result) const {
  if (!is_exact_) {
    result.failures.emplace_back(
        "proof: there is none for networks and sets other than last-layer, ensemble and true");
    return;
  }
  const SetChoice set = set_of(result);
  const std::vector<audit::Cone> none;
  const std::vector<audit::Cone>& sets = true_models_ ? none : cones(result);
  audit::ProofChecker checker(*model_, set, sets, true_models_ ? &*true_models_ : nullptr, result);
  checker.check(infeasible.has("proofs") ? infeasible.objects("proofs")
                                         : std::vector{infeasible.object("proof")},
                constraints);
  (void)infeasible.strings("blocking");
  const double max_epsilon = infeasible.number("max_epsilon");
  if (infeasible.has("best")) {
    check_best(infeasible.object("best"), result);
  } else if (!has_rules()) {
    result.failures.emplace_back("best is missing");
  }
  check_max_epsilon(max_epsilon, constraints, result);
  infeasible.finish();
}

void Auditor::check_best(JsonObject best, AnswerAudit& result) const {
  Row row{.values = row_from_json(model_->schema(), best.at("point"), source_, "best.point")};
  row.z = model_->encoder.encode(row.values);
  const Evaluation found = evaluate(row, result);
  const double stated = best.number("robust_logit");
  best.finish();
  if (agree(stated, found.robust_logit, true_models_ ? 1 : 1e-6)) return;
  const double penalty = found.logit - found.robust_logit;
  if (!true_models_ &&
      std::abs(stated - found.robust_logit) <= audit::rounding(cones(result)) * penalty) {
    return;
  }
  result.failures.push_back(
      fmt::format("best.robust_logit is {}, recomputed {}", stated, found.robust_logit));
}

void Auditor::check_max_epsilon(double stated, const audit::RowConstraints& constraints,
                                AnswerAudit& result) const {
  const bool is_below = true_models_ ? stated <= result.epsilon : stated < result.epsilon;
  if (stated < 0 || (!is_below && result.epsilon > 0)) {
    result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
    return;
  }
  const double t = result.threshold;
  const bool is_one = !true_models_ && cones(result).size() == 1 && !has_rules();
  const double tolerance =
      true_models_ ? true_tolerance : (is_one ? radius_tolerance : rules_tolerance);
  const SetChoice set = set_of(result);
  const std::vector<audit::LongMatrix> lifts =
      set.contest ? audit::lifts_of(*model_, *set.contest) : std::vector<audit::LongMatrix>{};
  const audit::LargestEpsilon found =
      audit::largest_epsilon(constraints, [&](const audit::Region& region) {
        if (!true_models_) return audit::find_reach(cones(result), t, region, stated);
        return set.contest ? true_models_->find_reach(lifts, t, region, stated)
                           : true_models_->find_reach(t, region, stated);
      });
  const double slack = is_one ? 0 : negligible * result.epsilon;
  const auto is_above = [&](double one, double other) {
    return one > other * (1 + tolerance) + slack;
  };
  if (is_above(std::min(found.attained, result.epsilon), stated)) {
    result.failures.push_back(fmt::format(
        "max_epsilon is {}, but a point that is allowed attains {}", stated, found.attained));
  } else if (is_above(stated, found.admitted)) {
    result.failures.push_back(
        fmt::format("max_epsilon is {}, but models within {} refuse every point that is allowed",
                    stated, found.admitted));
  } else if (is_above(stated, found.attained)) {
    result.unverified.push_back(
        fmt::format("max_epsilon: {} is stated, and no allowed point was found that is robust "
                    "beyond {}",
                    stated, found.attained));
  } else if (is_above(std::min(found.admitted, result.epsilon), stated)) {
    result.unverified.push_back(
        fmt::format("max_epsilon: {} is stated, and nothing larger than {} was ruled out", stated,
                    found.admitted));
  }
}

}  // namespace ellice

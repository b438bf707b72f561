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
// To how much of itself the ε of a model is known, at best.
constexpr double known_epsilon = 1e-9;

std::string limit_of_changes(std::int64_t most) {
  return fmt::format("at most {} feature{} may change", most, most == 1 ? "" : "s");
}

}  // namespace

bool Auditor::has_rules() const {
  return !model_->schema().constraints.empty() || !model_->schema().implications.empty();
}

double Auditor::check_cases(std::vector<JsonObject> proofs,
                            const audit::RowConstraints& constraints, double epsilon,
                            std::string_view about, AnswerAudit& result) const {
  const SetChoice set = set_of(result);
  const std::vector<audit::Cone> none;
  const std::vector<audit::Cone>& sets = true_models_ ? none : cones(result);
  AnswerAudit own{.epsilon = epsilon, .threshold = result.threshold};
  const double bound =
      audit::ProofChecker(*model_, set, sets, true_models_ ? &*true_models_ : nullptr, own)
          .check(std::move(proofs), constraints);
  for (const std::string& failure : own.failures)
    result.failures.push_back(std::string(about) + failure);
  return bound;
}

void Auditor::check_proof(JsonObject infeasible, const audit::RowConstraints& constraints,
                          AnswerAudit& result) const {
  if (!is_exact_) {
    result.failures.emplace_back(
        "proof: there is none for networks and sets other than last-layer, ensemble and true");
    return;
  }
  // Where models are looked for first: the row that comes nearest to an answer, if one is known.
  const Row near = row_of(
      infeasible.has("best")
          ? row_from_json(model_->schema(), infeasible.object("best").at("point"), source_,
                          "best.point")
          : model_->encoder.values({constraints.query_raw().data(),
                                    static_cast<std::size_t>(constraints.query_raw().size())}));
  const bool is_by_enumeration =
      infeasible.has("proof") && infeasible.object("proof").has("enumeration");
  const double bound =
      is_by_enumeration
          ? check_enumeration(infeasible.object("proof"), near, constraints, result)
          : check_cases(infeasible.has("proofs") ? infeasible.objects("proofs")
                                                 : std::vector{infeasible.object("proof")},
                        constraints, result.epsilon, "", result);
  if (infeasible.has("blocking_is")) {
    check_blocking(infeasible, near, constraints, result);
  } else {
    (void)infeasible.strings("blocking");
    result.unverified.emplace_back("blocking: nothing is stated that could show it");
  }
  const double max_epsilon = infeasible.number("max_epsilon");
  if (infeasible.has("max_epsilon_bounds")) {
    check_epsilon_bounds(infeasible.object("max_epsilon_bounds"), max_epsilon, near, constraints,
                         result);
  } else {
    check_max_epsilon(max_epsilon, constraints, result);
  }
  if (infeasible.has("best"))  // otherwise no allowed row was found
    check_best(infeasible.object("best"), bound, constraints, result);
  infeasible.finish();
}

double Auditor::check_enumeration(JsonObject proof, const Row& near,
                                  const audit::RowConstraints& constraints,
                                  AnswerAudit& result) const {
  if (!proof.boolean("enumeration")) proof.wrong("enumeration", "true");
  proof.finish();
  if (!refuses_every_row(result.epsilon, near, constraints, result, asked_.max_changes))
    result.unverified.emplace_back("proof: that there is no answer is what a search found");
  return std::numeric_limits<double>::infinity();  // no bound of its own
}

void Auditor::check_best(JsonObject best, double bound, const audit::RowConstraints& constraints,
                         AnswerAudit& result) const {
  const Row row = row_of(row_from_json(model_->schema(), best.at("point"), source_, "best.point"));
  const Evaluation found = evaluate(row, result);
  const double stated = best.number("robust_logit");
  const double penalty = found.logit - found.robust_logit;
  const bool agrees = agree(stated, found.robust_logit, true_models_ ? 1 : 1e-6) ||
                      (true_models_ ? is_bound_of_true(stated, row, found, result)
                                    : std::abs(stated - found.robust_logit) <=
                                          audit::rounding(cones(result)) * penalty);
  if (!agrees) {
    result.failures.push_back(
        fmt::format("best.robust_logit is {}, recomputed {}", stated, found.robust_logit));
  }
  if (best.has("bound")) {
    for (const std::string& broken : constraints.broken_by(row.values))
      result.failures.push_back("best: constraint broken: " + broken);
    const double most = best.number("bound");
    if (most < stated) result.failures.emplace_back("best exceeds its own bound");
    // What the proof's models give no row more than is a bound for all.
    const bool is_shown =
        most >= bound - 1e-9 * (1 + std::abs(bound)) ||
        is_empty(most + 1e-9 * (1 + std::abs(most)), row, constraints, result, asked_.max_changes);
    if (!is_shown)
      result.unverified.emplace_back("best: that no row is better is what a search found");
  }
  best.finish();
}

Auditor::Row Auditor::row_of(RawRow values) const {
  Row result{.values = std::move(values)};
  result.z = model_->encoder.encode(result.values);
  return result;
}

bool Auditor::changes_at_most(std::int64_t most, const RawRow& row,
                              const audit::RowConstraints& constraints) const {
  const Vector raw = model_->encoder.raw(row);
  return (raw.array() != constraints.query_raw().array()).count() <= most;
}

void Auditor::check_epsilon_bounds(JsonObject bounds, double stated, const Row& near,
                                   const audit::RowConstraints& constraints,
                                   AnswerAudit& result) const {
  const double upper = bounds.number("upper");
  const double lower = bounds.has("lower") ? bounds.number("lower") : 0;
  if (stated != lower || lower < 0 || lower > upper || upper > result.epsilon)
    result.failures.emplace_back(
        "max_epsilon does not lie between its bounds and the epsilon asked for");
  if (bounds.has("lower")) {
    const Row row = row_of(
        row_from_json(model_->schema(), bounds.at("point"), source_, "max_epsilon_bounds.point"));
    const bool is_allowed =
        constraints.broken_by(row.values).empty() &&
        (!asked_.max_changes || changes_at_most(*asked_.max_changes, row.values, constraints));
    const Radius own = radius_of(row, result);
    const double slack = negligible * own.least + 1e-9 * result.epsilon;
    const auto is_between = [&](const Radius& radius) {
      return std::min(radius.least, result.epsilon) - slack <= lower &&
             lower <= radius.most + slack;
    };
    const bool is_its_own = is_between(own) || is_between(radius_in_doubles(row, result));
    if (!is_allowed || !is_its_own)
      result.failures.push_back(
          fmt::format("max_epsilon is {}, for which its point is no answer", lower));
  }
  if (bounds.has("proofs")) {
    // A model of the border is made by a solve, and where rows have no end none inside may do.
    const double known =
        std::max(known_epsilon, true_models_ ? 0.0 : audit::rounding(cones(result)));
    (void)check_cases(bounds.objects("proofs"), constraints, upper * (1 + known),
                      "max_epsilon: ", result);
  } else if (upper < result.epsilon) {
    if (!refuses_every_row(upper * (1 + negligible), near, constraints, result,
                           asked_.max_changes)) {
      result.unverified.push_back(
          fmt::format("max_epsilon: that there is no answer at {} is what a search found", upper));
    }
  }
  bounds.finish();
}

void Auditor::check_blocking(JsonObject& infeasible, const Row& near,
                             const audit::RowConstraints& constraints, AnswerAudit& result) const {
  const auto fault = [&](std::string_view text) {
    result.failures.push_back("blocking: " + std::string(text));
  };
  const std::vector<std::string> blocking = infeasible.strings("blocking");
  const std::string how = infeasible.string("blocking_is");
  if (how != "proved" && how != "likely") infeasible.wrong("blocking_is", "proved or likely");
  const Json& witnesses = infeasible.at("blocking_witnesses");
  if (!witnesses.is_array() || witnesses.size() != blocking.size())
    infeasible.wrong("blocking_witnesses", "one for each constraint that blocks");
  std::vector<std::string> known = constraints.names();
  if (asked_.max_changes) known.push_back(limit_of_changes(*asked_.max_changes));
  for (const std::string& name : blocking) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      fault(fmt::format("the query has no constraint \"{}\"", name));
  }
  bool has_all = true;
  for (std::size_t k = 0; k < blocking.size(); ++k) {
    if (witnesses[k].is_null()) {
      has_all = false;
      continue;
    }
    std::vector<std::string> others = blocking;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    const Row row = row_of(
        row_from_json(model_->schema(), witnesses[k], source_, "infeasible.blocking_witnesses"));
    if (!is_witness(row, others, constraints, result))
      fault(fmt::format("without \"{}\" its row is no answer", blocking[k]));
  }
  if (how == "proved" && !has_all) fault("a row is missing that shows that a constraint counts");
  if (infeasible.has("blocking_proofs")) {
    (void)check_cases(infeasible.objects("blocking_proofs"), constraints.only(blocking),
                      result.epsilon, "blocking: ", result);
    return;
  }
  const bool limits_changes =
      asked_.max_changes && std::find(blocking.begin(), blocking.end(),
                                      limit_of_changes(*asked_.max_changes)) != blocking.end();
  if (!refuses_every_row(result.epsilon, near, constraints.only(blocking), result,
                         limits_changes ? asked_.max_changes : std::nullopt)) {
    result.unverified.emplace_back(
        "blocking: that these constraints alone leave no answer is what a search found");
  }
}

bool Auditor::is_witness(const Row& row, const std::vector<std::string>& kept,
                         const audit::RowConstraints& constraints,
                         const AnswerAudit& result) const {
  if (!constraints.only(kept).broken_by(row.values).empty()) return false;
  const bool is_limited =
      asked_.max_changes &&
      std::find(kept.begin(), kept.end(), limit_of_changes(*asked_.max_changes)) != kept.end();
  if (is_limited && !changes_at_most(*asked_.max_changes, row.values, constraints)) return false;
  const Evaluation found = evaluate(row, result);
  const double slack = true_models_ ? 1e-9 * (found.logit - found.robust_logit) : 0;
  return found.robust_logit >= result.threshold - slack;
}

audit::ReachIn Auditor::reach_near(double near, const AnswerAudit& result) const {
  const double t = result.threshold;
  const SetChoice set = set_of(result);
  const std::vector<audit::LongMatrix> lifts =
      set.contest ? audit::lifts_of(*model_, *set.contest) : std::vector<audit::LongMatrix>{};
  return [this, near, t, lifts, &result,
          is_contest = set.contest.has_value()](const audit::Region& region) {
    if (!true_models_) return audit::find_reach(cones(result), t, region, near);
    return is_contest ? true_models_->find_reach(lifts, t, region, near)
                      : true_models_->find_reach(t, region, near);
  };
}

bool Auditor::refuses_every_row(double most, const Row& near,
                                const audit::RowConstraints& constraints, const AnswerAudit& result,
                                std::optional<std::int64_t> most_changes) const {
  AnswerAudit own{.epsilon = most, .threshold = result.threshold, .winner = result.winner};
  if (most > 0 && is_empty(result.threshold, near, constraints, own, most_changes)) return true;
  // Whatever the changes are.
  const double below = std::nextafter(most, 0.0);
  const audit::ReachIn reach = reach_near(below, result);
  // Over the true set a part takes passes over all rows.
  if (true_models_) return audit::largest_epsilon(constraints, reach).admitted <= below;
  return audit::refuses_every_row(constraints, model_->encoder, below, reach);
}

void Auditor::check_max_epsilon(double stated, const audit::RowConstraints& constraints,
                                AnswerAudit& result) const {
  const bool is_below = true_models_ ? stated <= result.epsilon : stated < result.epsilon;
  if (stated < 0 || (!is_below && result.epsilon > 0)) {
    result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
    return;
  }
  const bool is_one = !true_models_ && cones(result).size() == 1 && !has_rules();
  const double tolerance =
      true_models_ ? true_tolerance : (is_one ? radius_tolerance : rules_tolerance);
  const audit::LargestEpsilon found =
      audit::largest_epsilon(constraints, reach_near(stated, result));
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

#include "audit/audit_proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

constexpr long double proof_tolerance = 1e-9L;
// What is left of a coefficient by cancellation, relative to what it was summed from.
constexpr long double cancelled = 1e-12L;
// Of its terms: what a sum in double precision is known to.
constexpr long double summed = 1e-14L;
// Of ε: how far outside its set rounding may leave a model, at least. A solve (H + E)v = a with
// ‖E‖ ≤ n·u·‖H‖ leaves vᵀHv = vᵀa − vᵀEv, which is off by n·u·κ(H) relatively (Cone::rounding).
constexpr long double least_outside = 1e-6L;

}  // namespace

bool ProofChecker::Stated::refuses(const Box& box, double threshold) const {
  return maximum_over(box, sure, size, cancelled) < total * static_cast<long double>(threshold);
}

bool ProofChecker::Stated::is_bound_over(const Box& box) const {
  const long double bound = maximum_over(box, plane, size, cancelled);
  const long double scale =
      std::max({std::abs(static_cast<long double>(upper_bound)), std::abs(bound), 1e-3L});
  // Who states it sums in double precision; what refuses rows is `sure`.
  const Index d = box.lower.size();
  long double terms = size(d);
  for (Index i = 0; i < d; ++i) {
    // What cancellation left of a coefficient counts at the end that there is.
    for (const double side : {box.lower(i), box.upper(i)})
      if (std::isfinite(side)) terms += size(i) * std::abs(side);
  }
  return std::abs(upper_bound - bound) <= proof_tolerance * scale + summed * terms;
}

LongVector ProofChecker::member_of_set(const LongVector& theta, std::size_t member) {
  const auto excess = [&](const LongVector& model) {
    return true_models_ != nullptr ? true_models_->excess(model) : (*cones_)[member].excess(model);
  };
  const long double epsilon = result_->epsilon;
  const long double own = excess(theta);
  if (own <= epsilon) return theta;
  const long double outside =
      true_models_ != nullptr ? least_outside
                              : std::max<long double>(least_outside, (*cones_)[member].rounding());
  if (own > epsilon * (1 + outside) + 1e-15L) {
    // How far its digits, as written, may take it: in the set's own norm, entry by entry.
    const LongVector& from =
        true_models_ != nullptr ? true_models_->center() : (*cones_)[member].center();
    long double written = 0;
    for (Index i = 0; i < theta.size(); ++i) {
      LongVector moved = from;
      moved(i) += 0x1p-52L * theta(i);
      written += std::sqrt(std::max(excess(moved), 0.0L));
    }
    if (std::sqrt(own) > std::sqrt(epsilon * (1 + outside)) + written)
      fault("the model does not belong to the set");
  }
  // A higher bias brings a worst model nearer to the centre and leaves its columns as they are, so
  // that those without weight stay so, whose sides may be infinite.
  LongVector raised = theta;
  const Index p = model_->encoder.columns() + 1;
  const Index bias = (has_all_heads() ? set_->contest->winner : 0) * p + p - 1;
  const long double start = theta(bias);
  for (long double step = 1e-17L * (1 + std::abs(start)); step < 1; step *= 2) {
    raised(bias) = start + step;
    if (excess(raised) <= epsilon) return raised;
  }
  // Where that leads away, one of the entries that have weight leads in: on its boundary the set
  // has a slope along some of them.
  for (long double share = 1e-18L; share < 1e-9L; share *= 4) {
    for (Index i = 0; i < theta.size(); ++i) {
      for (const long double side : {-share, share}) {
        LongVector moved = theta;
        moved(i) += side * theta(i);
        if (excess(moved) <= epsilon) return moved;
      }
    }
  }
  const LongVector& center =
      true_models_ != nullptr ? true_models_->center() : (*cones_)[member].center();
  return center + epsilon / own * (1 - dust) * (theta - center);
}

void ProofChecker::add_models(JsonObject& proof, Stated& stated) {
  const Index d = model_->encoder.columns();
  if (!proof.has("models")) {
    if (!proof.has("model")) return;  // the rules alone leave nothing
    if (has_all_heads()) {
      (void)proof.at("model");
      return fault("the heads of all classes are missing");
    }
    stated.plane = proof.vector("model", d + 1).cast<long double>();
    stated.size = stated.plane.cwiseAbs();
    stated.sure = member_of_set(stated.plane, 0);
    stated.total = 1;
    return;
  }
  for (JsonObject& entry : proof.objects("models")) {
    const auto member = entry.integer("member");
    const double weight = entry.number("weight");
    const Index size = has_all_heads() ? (d + 1) * model_->network.outputs() : d + 1;
    const LongVector theta = entry.vector("model", size).cast<long double>();
    entry.finish();
    if (member < 0 || static_cast<std::size_t>(member) >= member_count() || !(weight >= 0)) {
      fault(fmt::format("member {} with the weight {} does not exist", member, weight));
      continue;
    }
    const auto index = static_cast<std::size_t>(member);
    const LongVector plane = seen(theta, index);
    stated.size += weight * size_of(theta, index);
    stated.sure += weight * seen(member_of_set(theta, index), index);
    stated.plane += weight * plane;
    stated.total += weight;
  }
  if (std::abs(stated.total - 1) > proof_tolerance)
    fault("the weights of the models do not add up to 1");
}

LongVector ProofChecker::seen(const LongVector& theta, std::size_t member) const {
  if (!has_all_heads()) return theta;
  const Index p = model_->encoder.columns() + 1;
  return theta.segment(set_->contest->winner * p, p) -
         theta.segment(set_->contest->rivals[member] * p, p);
}

LongVector ProofChecker::size_of(const LongVector& theta, std::size_t member) const {
  if (!has_all_heads()) return theta.cwiseAbs();
  const Index p = model_->encoder.columns() + 1;
  const LongVector sizes = theta.segment(set_->contest->winner * p, p).cwiseAbs() +
                           theta.segment(set_->contest->rivals[member] * p, p).cwiseAbs();
  // A column that both heads ignore is what a solve with all columns left of it.
  return sizes.cwiseMax(1e-4L * sizes.head(p - 1).maxCoeff());
}

std::size_t ProofChecker::member_count() const {
  if (set_->contest) return set_->contest->rivals.size();
  return set_->members.size() + 1;
}

void ProofChecker::add_rules(std::vector<JsonObject> rules, const RowConstraints& constraints,
                             Stated& stated) {
  const Schema& schema = model_->schema();
  const Encoder& encoder = model_->encoder;
  const Index d = encoder.columns();
  for (JsonObject& entry : rules) {
    const std::string text = entry.string("rule");
    const long double multiplier = entry.number("multiplier");
    entry.finish();
    const auto rule = std::find_if(schema.constraints.begin(), schema.constraints.end(),
                                   [&](const Rule& known) { return known.text == text; });
    if (rule == schema.constraints.end() || !constraints.has_rule(text)) {
      fault(fmt::format("there is no rule \"{}\"", text));
      continue;
    }
    const bool has_side = multiplier > 0 ? rule->relation != Rule::Relation::at_least
                                         : rule->relation != Rule::Relation::at_most;
    if (!has_side) {
      fault(fmt::format("the rule \"{}\" has no side for the multiplier {}", text,
                        static_cast<double>(multiplier)));
      continue;
    }
    // multiplier·(bound − Σ coefficient·raw) ≥ 0 for every row that keeps the rule.
    const auto add = [&](Index at, long double value) {
      stated.plane(at) += value;
      stated.sure(at) += value;
      stated.size(at) += std::abs(value);
    };
    add(d, multiplier * rule->bound);
    for (const auto& [name, coefficient] : rule->terms) {
      const Index column = encoder.first_column(*schema.find(name));
      add(column, -multiplier * coefficient * encoder.scale()(column));
      add(d, -multiplier * coefficient * encoder.mean()(column));
    }
  }
}

ProofChecker::Stated ProofChecker::read(JsonObject proof, const RowConstraints& constraints) {
  const Index d = model_->encoder.columns();
  Stated stated{.upper_bound = proof.number("upper_bound"),
                .plane = LongVector::Zero(d + 1),
                .size = LongVector::Zero(d + 1),
                .sure = LongVector::Zero(d + 1)};
  if (proof.has("supposes")) stated.supposes = proof.strings("supposes");
  add_models(proof, stated);
  if (proof.has("rules")) add_rules(proof.objects("rules"), constraints, stated);
  proof.finish();
  return stated;
}

double ProofChecker::check(std::vector<JsonObject> proofs, const RowConstraints& constraints) {
  std::vector<Stated> stated;
  for (const JsonObject& proof : proofs) stated.push_back(read(proof, constraints));
  const std::vector<Case> cases = constraints.cases();
  // Every case must be refused by one of them, whichever it was made for.
  for (const Case& one : cases) {
    const Box box = constraints.around(one.values);
    const bool is_refused = std::any_of(stated.begin(), stated.end(), [&](const Stated& proof) {
      return proof.refuses(box, result_->threshold);
    });
    if (is_refused) continue;
    fault(one.supposes.empty() ? "the model does not stay below the threshold"
                               : fmt::format("no model stays below the threshold where {}",
                                             fmt::join(one.supposes, " and ")));
  }
  check_bounds(stated, cases, constraints);
  double bound = -std::numeric_limits<double>::infinity();
  for (const Stated& proof : stated) {
    bound = std::max(bound,
                     proof.total > 0 ? proof.upper_bound : std::numeric_limits<double>::infinity());
  }
  return bound;
}

void ProofChecker::check_bounds(const std::vector<Stated>& proofs, const std::vector<Case>& cases,
                                const RowConstraints& constraints) {
  std::vector<std::vector<std::string>> seen;
  for (const Stated& proof : proofs) {
    if (std::find(seen.begin(), seen.end(), proof.supposes) != seen.end())
      fault("two proofs are about the same case");
    seen.push_back(proof.supposes);
    bool is_a_case = proof.supposes.empty();
    bool is_bound = is_a_case && proof.is_bound_over(constraints.around(constraints.values()));
    for (const Case& one : cases) {
      // A proof that names no case may be about the only one that is left.
      if (!proof.supposes.empty() && proof.supposes != one.supposes) continue;
      is_a_case = true;
      is_bound = is_bound || proof.is_bound_over(constraints.around(one.values));
    }
    if (!is_a_case) {
      fault("a case is not one that the rules make");
    } else if (!is_bound) {
      const Box box = constraints.around(constraints.values());
      fault(
          fmt::format("upper_bound is {}, recomputed {}", proof.upper_bound,
                      static_cast<double>(maximum_over(box, proof.plane, proof.size, cancelled))));
    }
  }
}

}  // namespace ellice::audit

#include "audit/audit_proof.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "ellice/core/json.hpp"
#include "model/softmax_objective.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

namespace {

constexpr double tolerance = 1e-9;
// What is left of a coefficient by cancellation, relative to what it was summed from.
constexpr double rounding = 1e-12;

/// max planeᵀx̃ over the box; rounding dust does not count on infinite sides.
double maximum(const Box& box, const Vector& plane, const Vector& size) {
  const Index d = box.lower.size();
  double sum = plane[d];
  for (Index i = 0; i < d; ++i) {
    if (plane[i] == 0) continue;
    const double side = plane[i] > 0 ? box.upper[i] : box.lower[i];
    if (std::isinf(side) && std::abs(plane[i]) <= rounding * size[i]) continue;
    sum += plane[i] * side;
  }
  return sum;
}

/// The least excess of a model of all classes for which the winner's parameters exceed the rival's
/// by θ, with the dense inverse of H (theory.md, Result 38).
double pair_excess(const Model& model, const SetChoice& set, const Vector& theta, Index rival) {
  const Index p = theta.size();
  const Index winner = set.contest->winner;
  const Vector head = model.network.head();
  const Matrix inverse =
      with_gauge(damped_hessian(model, set.damping), model.network.outputs()).inverse();
  const auto block = [&](Index j, Index k) { return inverse.block(j * p, k * p, p, p); };
  const Matrix spread =
      block(winner, winner) - block(winner, rival) - block(rival, winner) + block(rival, rival);
  const Vector away = theta - (head.segment(winner * p, p) - head.segment(rival * p, p));
  return 0.5 * away.dot(spread.ldlt().solve(away));
}

}  // namespace

void ProofChecker::check_membership(const Vector& theta, std::size_t member) {
  const double epsilon = result_->epsilon;
  double excess = 0;
  if (true_set_ != nullptr) {
    excess = true_set_->objective(theta) - true_set_->optimum();
  } else if (set_->contest) {
    excess = pair_excess(*model_, *set_, theta, set_->contest->rivals[member]);
  } else {
    // In the member's own space its score of the same rows is the same.
    const Model& own = member == 0 ? *model_ : *set_->members[member - 1];
    const Index d = model_->encoder.columns();
    Vector moved = theta;
    for (Index i = 0; i < d; ++i) {
      const double stretch = model_->encoder.scale()(i) / own.encoder.scale()(i);
      const double offset =
          (model_->encoder.mean()(i) - own.encoder.mean()(i)) / own.encoder.scale()(i);
      moved(i) = theta(i) / stretch;
      moved(d) -= moved(i) * offset;
    }
    const Vector away = moved - own.network.head();
    excess = 0.5 * away.dot(damped_hessian(own, set_->damping) * away);
  }
  if (excess > epsilon * (1 + tolerance) + 1e-15) fault("the model does not belong to the set");
}

void ProofChecker::add_rules(std::vector<JsonObject> rules, Vector& plane, Vector& size) {
  const Schema& schema = model_->schema();
  const Encoder& encoder = model_->encoder;
  const Index d = encoder.columns();
  for (JsonObject& entry : rules) {
    const std::string text = entry.string("rule");
    const double multiplier = entry.number("multiplier");
    entry.finish();
    const auto rule = std::find_if(schema.constraints.begin(), schema.constraints.end(),
                                   [&](const Rule& known) { return known.text == text; });
    if (rule == schema.constraints.end()) {
      fault(fmt::format("the schema has no rule \"{}\"", text));
      continue;
    }
    const bool has_side = multiplier > 0 ? rule->relation != Rule::Relation::at_least
                                         : rule->relation != Rule::Relation::at_most;
    if (!has_side) {
      fault(fmt::format("the rule \"{}\" has no side for the multiplier {}", text, multiplier));
      continue;
    }
    // multiplier·(bound − Σ coefficient·raw) ≥ 0 for every row that keeps the rule.
    plane(d) += multiplier * rule->bound;
    size(d) += std::abs(multiplier * rule->bound);
    for (const auto& [name, coefficient] : rule->terms) {
      const Index column = encoder.first_column(*schema.find(name));
      const double slope = multiplier * coefficient * encoder.scale()(column);
      plane(column) -= slope;
      size(column) += std::abs(slope);
      plane(d) -= multiplier * coefficient * encoder.mean()(column);
      size(d) += std::abs(multiplier * coefficient * encoder.mean()(column));
    }
  }
}

void ProofChecker::check(JsonObject proof, const FeasibleSet& feasible) {
  const Index d = model_->encoder.columns();
  const double stated = proof.number("upper_bound");
  if (proof.has("supposes")) (void)proof.strings("supposes");
  Vector plane = Vector::Zero(d + 1);
  Vector size = Vector::Zero(d + 1);
  double total = 0;
  if (proof.has("models")) {
    for (JsonObject& entry : proof.objects("models")) {
      const auto member = entry.integer("member");
      const double weight = entry.number("weight");
      // Of the true set of several classes: heads of all of them, which alone show that they belong
      // to it.
      const bool of_all = true_set_ != nullptr && set_->contest;
      Vector theta = entry.vector("model", of_all ? (d + 1) * model_->network.outputs() : d + 1);
      entry.finish();
      const std::size_t last =
          set_->contest ? set_->contest->rivals.size() - 1 : set_->members.size();
      if (member < 0 || static_cast<std::size_t>(member) > last || weight < 0) {
        fault(fmt::format("member {} with the weight {} does not exist", member, weight));
        continue;
      }
      check_membership(theta, static_cast<std::size_t>(member));
      if (of_all) {
        const Index rival = set_->contest->rivals[static_cast<std::size_t>(member)];
        theta = (theta.segment(set_->contest->winner * (d + 1), d + 1) -
                 theta.segment(rival * (d + 1), d + 1))
                    .eval();
      }
      plane += weight * theta;
      size += weight * theta.cwiseAbs();
      total += weight;
    }
    if (std::abs(total - 1) > tolerance) fault("the weights of the models do not add up to 1");
  } else if (proof.has("model")) {
    plane = proof.vector("model", d + 1);
    size = plane.cwiseAbs();
    total = 1;
    check_membership(plane, 0);
  }
  if (proof.has("rules")) add_rules(proof.objects("rules"), plane, size);
  proof.finish();
  const double bound = maximum(feasible.relaxed(), plane, size);
  const double scale = std::max({std::abs(stated), std::abs(bound), 1e-6, rounding * size.sum()});
  if (!(std::abs(stated - bound) <= tolerance * scale))
    fault(fmt::format("upper_bound is {}, recomputed {}", stated, bound));
  if (!(bound < total * result_->threshold)) fault("the model does not stay below the threshold");
}

void ProofChecker::check_cases(std::vector<JsonObject> proofs, const FeasibleSet& feasible) {
  const std::vector<FeasibleSet> cases = feasible.branches();
  if (proofs.size() != cases.size()) {
    fault(fmt::format("{} cases are proved, and the rules make {}", proofs.size(), cases.size()));
    return;
  }
  for (std::size_t k = 0; k < cases.size(); ++k) {
    if (!proofs[k].has("supposes") || proofs[k].strings("supposes") != cases[k].supposes())
      fault("a case is not the one that the rules make");
    check(proofs[k], cases[k]);
  }
}

}  // namespace ellice

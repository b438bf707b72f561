#include "ellice/recourse/infeasibility.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_halvings = 45;

/// One query's question, asked again and again with fewer constraints or another ε.
class Explanation {
 public:
  Explanation(const Problem& problem, const LinearCones& cones)
      : problem_(&problem), cones_(&cones) {}

  /// Whether some branch of the set may have an answer.
  [[nodiscard]] bool is_reachable(const FeasibleSet& feasible, double epsilon) const {
    const std::vector<FeasibleSet> branches = feasible.branches();
    return std::any_of(branches.begin(), branches.end(), [&](const FeasibleSet& branch) {
      const Box& box = branch.relaxed();
      if (is_plain(branch)) {
        const BoxMaximum top = cones_->factors.front().maximize(box.lower, box.upper, epsilon,
                                                                std::nullopt, problem_->threshold);
        return top.logit >= problem_->threshold || top.ray.has_value();
      }
      const CommonPoint common =
          find_common_point(intersection(*problem_, *cones_, branch, box, epsilon));
      return common.status != CommonPoint::Status::none;
    });
  }

  /// That a branch has no answer, or nothing.
  [[nodiscard]] std::optional<InfeasibilityProof> proof(const FeasibleSet& branch) const {
    const Box& box = branch.relaxed();
    const IntersectionProblem whole =
        intersection(*problem_, *cones_, branch, box, problem_->epsilon);
    InfeasibilityProof result{.supposes = branch.supposes()};
    ConeWeights weights;
    if (is_plain(branch)) {
      const BoxMaximum top = cones_->factors.front().maximize(
          box.lower, box.upper, problem_->epsilon, std::nullopt, problem_->threshold);
      if (top.ray || top.logit >= problem_->threshold) return std::nullopt;
      weights = {.cones = Vector::Ones(1), .models = {top.model}};
    } else {
      const CommonPoint common = find_common_point(whole);
      if (common.status != CommonPoint::Status::none) return std::nullopt;
      weights = common.weights;
    }
    const ConeWeights all = weights;
    normalise(weights, 1e-9);
    if (!(half_space_maximum(whole, weights) < 0)) normalise(weights = all, 0);
    const double total = weights.cones.sum();
    result.upper_bound = half_space_maximum(whole, weights) + total * problem_->threshold;
    if (!(result.upper_bound < total * problem_->threshold)) return std::nullopt;
    if (total > 0) {
      result.model = Vector::Zero(branch.query().size() + 1);
      for (std::size_t k = 0; k < weights.models.size(); ++k) {
        const double weight = weights.cones[static_cast<Index>(k)];
        result.model += weight * weights.models[k];
        if (!cones_->is_single() && weight > 0)
          result.models.push_back({.member = k, .weight = weight, .model = weights.models[k]});
      }
    }
    for (std::size_t r = 0; r < branch.rules().size(); ++r) {
      const double multiplier = weights.rules[static_cast<Index>(r)];
      if (multiplier == 0) continue;
      result.rules.push_back({.rule = branch.rules()[r].text, .multiplier = multiplier});
    }
    return result;
  }

  /// Drops one constraint after another for good while the query stays infeasible without it; what
  /// is left blocks, and none of it could be spared.
  [[nodiscard]] std::vector<std::string> blocking(const FeasibleSet& feasible) const {
    FeasibleSet current = feasible;
    std::vector<std::string> result;
    for (const NamedConstraint& constraint : feasible.constraints()) {
      FeasibleSet without = current.without(constraint);
      if (is_reachable(without, problem_->epsilon)) {
        result.push_back(constraint.text);
      } else {
        current = std::move(without);
      }
    }
    return result;
  }

  [[nodiscard]] double max_epsilon(const FeasibleSet& feasible) const {
    if (feasible.supposes().empty() && is_plain(feasible) && feasible.branches().size() == 1) {
      const Box& box = feasible.relaxed();
      return cones_->factors.front().max_epsilon(box.lower, box.upper, problem_->threshold).epsilon;
    }
    if (!is_reachable(feasible, 0)) return 0;
    double low = 0;
    double high = problem_->epsilon;
    for (int step = 0; step < most_halvings; ++step) {
      const double middle = 0.5 * (low + high);
      (is_reachable(feasible, middle) ? low : high) = middle;
    }
    return low;
  }

  /// The best row of the searched boxes that keeps every rule.
  void add_best(const FeasibleSet& feasible, Infeasibility& why) const {
    const Encoder& encoder = problem_->model->encoder;
    why.best_robust_logit = -infinity;
    const auto offer = [&](const Vector& raw) {
      const RawRow row = encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
      const double logit = cones_->robust_logit(encoder.encode(row));
      if (!(logit > why.best_robust_logit)) return;
      why.best_robust_logit = logit;
      why.best = row;
    };
    for (const FeasibleSet& branch : feasible.branches()) {
      for (const Box& box : branch.boxes()) {
        if (is_plain(branch)) {
          offer(branch.decode(
              cones_->factors.front().maximize(box.lower, box.upper, problem_->epsilon).point));
          continue;
        }
        const Vector raw = branch.decode(
            best_common_point(intersection(*problem_, *cones_, branch, box, problem_->epsilon)));
        const bool keeps_rules =
            std::all_of(branch.rules().begin(), branch.rules().end(), [&](const ModelRule& rule) {
              LinearRule wide = rule.rule;
              wide.tolerance = 1e-9 * (std::abs(wide.coefficients.lpNorm<1>()) + 1);
              return wide.holds(encoder.encode(
                  encoder.values({raw.data(), static_cast<std::size_t>(raw.size())})));
            });
        if (keeps_rules) offer(raw);
      }
    }
    if (why.best.empty()) why.best_robust_logit = 0;
  }

 private:
  /// One cone and no rule: closed forms.
  [[nodiscard]] bool is_plain(const FeasibleSet& feasible) const {
    return cones_->is_single() && feasible.rules().empty();
  }
  /// Weights of models that add up to 1, or of rules where there are no models, without what is
  /// `dust` against the others.
  static void normalise(ConeWeights& weights, double dust) {
    const double largest =
        std::max(weights.cones.size() > 0 ? weights.cones.maxCoeff() : 0,
                 weights.rules.size() > 0 ? weights.rules.cwiseAbs().maxCoeff() : 0);
    const auto is_dust = [&](double weight) { return std::abs(weight) < dust * largest; };
    for (double& weight : weights.cones) weight = is_dust(weight) ? 0 : weight;
    for (double& weight : weights.rules) weight = is_dust(weight) ? 0 : weight;
    double total = weights.cones.sum();
    if (total == 0) total = weights.rules.cwiseAbs().sum();
    weights.cones /= total;
    weights.rules /= total;
  }

  const Problem* problem_;
  const LinearCones* cones_;
};

}  // namespace

std::optional<Infeasibility> explain_infeasibility(const Problem& problem, const LinearCones& cones,
                                                   const FeasibleSet& feasible) {
  const Explanation explanation(problem, cones);
  Infeasibility result{.upper_bound = -infinity};
  const std::vector<FeasibleSet> branches = feasible.branches();
  for (const FeasibleSet& branch : branches) {
    std::optional<InfeasibilityProof> proof = explanation.proof(branch);
    if (!proof) return std::nullopt;
    result.upper_bound = std::max(result.upper_bound, proof->upper_bound);
    result.cases.push_back(std::move(*proof));
  }
  if (result.cases.size() == 1 && result.cases.front().supposes.empty()) {
    result.model = std::move(result.cases.front().model);
    result.models = std::move(result.cases.front().models);
    result.rules = std::move(result.cases.front().rules);
    result.cases.clear();
  }
  result.max_epsilon = explanation.max_epsilon(feasible);
  result.blocking = explanation.blocking(feasible);
  explanation.add_best(feasible, result);
  return result;
}

}  // namespace ellice

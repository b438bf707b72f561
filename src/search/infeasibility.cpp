#include "search/infeasibility.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/number_search.hpp"
#include "solver/corrected_search.hpp"

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_halvings = 45;
// Of the largest ε of sets that are searched: rounds, each of which makes the reached ε the next.
constexpr int most_rounds = 20;

/// One query's question, asked again and again with fewer constraints or another ε.
class Explanation {
 public:
  Explanation(const Problem& problem, const LinearQuestion& question)
      : problem_(&problem),
        question_(&question),
        cost_(separable_cost(problem.cost, problem.model->encoder)) {}

  /// Whether some branch of the set may have an answer, as far as that can be found.
  [[nodiscard]] bool is_reachable(const FeasibleSet& feasible,
                                  const LinearQuestion& question) const {
    const std::vector<FeasibleSet> branches = feasible.branches();
    return std::any_of(branches.begin(), branches.end(), [&](const FeasibleSet& branch) {
      const Box& box = branch.relaxed();
      if (!question.is_conic()) {
        // Any point will do: from the middle of the model's space.
        OracleProblem asked = oracle_problem(branch, box);
        asked.query = Vector::Zero(box.lower.size()).cwiseMax(box.lower).cwiseMin(box.upper);
        return search_corrected(*question.oracle(), asked, OracleGoal::any).found;
      }
      if (is_plain(branch)) {
        const BoxMaximum top = question.cones().front().maximize(
            box.lower, box.upper, question.epsilon(), std::nullopt, problem_->threshold);
        return top.logit >= problem_->threshold || top.ray.has_value();
      }
      const CommonPoint common = find_common_point(intersection(question, branch, box));
      return common.status != CommonPoint::Status::none;
    });
  }
  [[nodiscard]] bool is_reachable(const FeasibleSet& feasible) const {
    return is_reachable(feasible, *question_);
  }

  /// That a branch has no answer, or nothing.
  [[nodiscard]] std::optional<InfeasibilityProof> proof(const FeasibleSet& branch) const {
    const Box& box = branch.relaxed();
    const IntersectionProblem whole = intersection(*question_, branch, box);
    InfeasibilityProof result{.supposes = branch.supposes()};
    ConeWeights weights;
    std::vector<Vector> heads;  // of sets that are searched
    if (!question_->is_conic()) {
      OracleResult searched =
          search_corrected(*question_->oracle(), oracle_problem(branch, box), OracleGoal::nearest);
      if (!searched.proof) return std::nullopt;
      weights = std::move(searched.proof->weights);
      heads = std::move(searched.proof->heads);
    } else if (is_plain(branch)) {
      const BoxMaximum top = question_->cones().front().maximize(
          box.lower, box.upper, problem_->epsilon, std::nullopt, problem_->threshold);
      if (top.ray || top.logit >= problem_->threshold) return std::nullopt;
      weights = {.cones = Vector::Ones(1), .models = {top.model}};
    } else {
      const CommonPoint common = find_common_point(whole);
      if (common.status != CommonPoint::Status::none) return std::nullopt;
      weights = common.weights;
    }
    if (weights.rules.size() == 0)
      weights.rules = Vector::Zero(static_cast<Index>(whole.rules.size()));
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
        // A mixture of heads belongs to its set; differences of them alone could not show that.
        const bool is_difference = !heads.empty() && heads[k].size() > result.model.size();
        if ((question_->is_single() && !is_difference) || !(weight > 0)) continue;
        result.models.push_back(
            {.member = k, .weight = weight, .model = heads.empty() ? weights.models[k] : heads[k]});
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
    // Where ε is too large for every point, one search says so instead of one per constraint.
    FeasibleSet unconstrained = feasible;
    for (const NamedConstraint& constraint : feasible.constraints())
      unconstrained = unconstrained.without(constraint);
    if (!is_reachable(unconstrained)) return {};
    FeasibleSet current = feasible;
    std::vector<std::string> result;
    for (const NamedConstraint& constraint : feasible.constraints()) {
      FeasibleSet without = current.without(constraint);
      if (is_reachable(without)) {
        result.push_back(constraint.text);
      } else {
        current = std::move(without);
      }
    }
    return result;
  }

  [[nodiscard]] double max_epsilon(const FeasibleSet& feasible) const {
    if (!question_->is_conic()) return searched_max_epsilon(feasible);
    if (feasible.supposes().empty() && is_plain(feasible) && feasible.branches().size() == 1) {
      const Box& box = feasible.relaxed();
      return question_->cones()
          .front()
          .max_epsilon(box.lower, box.upper, problem_->threshold)
          .epsilon;
    }
    if (!is_reachable(feasible, question_->with_epsilon(0))) return 0;
    double low = 0;
    double high = problem_->epsilon;
    for (int step = 0; step < most_halvings; ++step) {
      const double middle = 0.5 * (low + high);
      (is_reachable(feasible, question_->with_epsilon(middle)) ? low : high) = middle;
    }
    return low;
  }

  /// The best row of the searched boxes that keeps every rule.
  void add_best(const FeasibleSet& feasible, Infeasibility& why) const {
    const Encoder& encoder = problem_->model->encoder;
    why.best_robust_logit = -infinity;
    const auto offer = [&](const Vector& raw) {
      const RawRow row = encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
      const double logit = question_->robust_logit(encoder.encode(row));
      if (!(logit > why.best_robust_logit)) return;
      why.best_robust_logit = logit;
      why.best = row;
    };
    for (const FeasibleSet& branch : feasible.branches()) {
      for (const Box& box : branch.boxes()) {
        if (question_->is_conic() && is_plain(branch)) {
          offer(branch.decode(
              question_->cones().front().maximize(box.lower, box.upper, problem_->epsilon).point));
          continue;
        }
        const Vector raw = branch.decode(
            question_->is_conic()
                ? best_common_point(intersection(*question_, branch, box))
                : search_corrected(*question_->oracle(), oracle_problem(branch, box)).point);
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
  /// One part and no rule: closed forms, for a cone.
  [[nodiscard]] bool is_plain(const FeasibleSet& feasible) const {
    return question_->is_single() && feasible.rules().empty();
  }
  [[nodiscard]] OracleProblem oracle_problem(const FeasibleSet& branch, const Box& box) const {
    OracleProblem result{.query = branch.query(),
                         .lower = box.lower,
                         .upper = box.upper,
                         .cost = cost_,
                         .threshold = problem_->threshold,
                         .margin = 2e-12};
    for (const ModelRule& rule : branch.rules()) result.rules.push_back(rule.rule);
    return result;
  }
  /// Where the search for the largest ε begins: the point of the picture that bears most.
  [[nodiscard]] Vector start_of(const FeasibleSet& branch) const {
    const Box& box = branch.relaxed();
    if (is_plain(branch)) {
      return question_->cones()
          .front()
          .max_epsilon(box.lower, box.upper, problem_->threshold)
          .point;
    }
    Vector best;
    double largest = -1;
    for (const double share : {1.0, 0.3, 0.1, 0.03, 0.01}) {
      IntersectionProblem picture = intersection(*question_, branch, box);
      for (RobustCone& cone : picture.cones) cone.epsilon *= share;
      const Vector point = best_common_point(picture);
      const double radius = question_->radius(point);
      if (!(radius > largest)) continue;
      largest = radius;
      best = point;
    }
    return best;
  }
  /// Dinkelbach's iteration as in Result 8: what the most robust point at one ε attains is the
  /// next.
  [[nodiscard]] double searched_max_epsilon(const FeasibleSet& feasible) const {
    double largest = 0;
    for (const FeasibleSet& branch : feasible.branches()) {
      const Box& box = branch.relaxed();
      const OracleProblem asked = oracle_problem(branch, box);
      Vector point = start_of(branch);
      double epsilon = question_->radius(point);
      const double least = question_->question().front().set->smallest_epsilon();
      for (int round = 0; round < most_rounds && epsilon > least && epsilon < problem_->epsilon;
           ++round) {
        const LinearQuestion smaller = question_->with_epsilon(epsilon);
        point = most_robust_point(*smaller.oracle(), asked, point);
        const double attained = question_->radius(point);
        if (!(attained > epsilon * (1 + 1e-8))) break;
        epsilon = attained;
      }
      largest = std::max(largest, std::min(epsilon, problem_->epsilon));
    }
    return largest;
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
  const LinearQuestion* question_;
  SeparableCost cost_;
};

}  // namespace

std::optional<Infeasibility> explain_infeasibility(const Problem& problem,
                                                   const LinearQuestion& question,
                                                   const FeasibleSet& feasible) {
  const Explanation explanation(problem, question);
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

bool is_proved_unreachable(const Problem& problem, const LinearQuestion& question,
                           const FeasibleSet& feasible) {
  Problem squares = problem;
  squares.cost = {.kind = CostKind::l2};  // for which cutting planes settle best
  const Explanation explanation(squares, question);
  const std::vector<FeasibleSet> branches = feasible.branches();
  return std::all_of(branches.begin(), branches.end(), [&](const FeasibleSet& branch) {
    return explanation.proof(branch).has_value();
  });
}

}  // namespace ellice

#include "search/infeasibility_proof.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "search/number_search.hpp"
#include "solver/half_space.hpp"

namespace ellice {

namespace {

/// Weights of models that add up to 1, or of rules where there are no models, without what is
/// `dust` against the others.
void normalise(ConeWeights& weights, double dust) {
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

// Of its terms: what a sum is known to.
constexpr double summed = 1e-14;

/// By how much a half-space may exceed half_space_maximum(): rounding of its terms, and of rules,
/// whose bounds are sums themselves.
double rounding_of(const IntersectionProblem& problem, const ConeWeights& weights) {
  const Index d = problem.query.size();
  Vector value = Vector::Zero(d + 1);
  Vector size = Vector::Zero(d + 1);
  double rules = 0;
  for (std::size_t k = 0; k < problem.cones.size(); ++k) {
    const double weight = weights.cones(static_cast<Index>(k));
    if (weight == 0) continue;
    value += weight * weights.models[k];
    size += weight * weights.models[k].cwiseAbs();
    size(d) += weight * std::abs(problem.cones[k].threshold);
  }
  for (std::size_t r = 0; r < problem.rules.size(); ++r) {
    const double weight = weights.rules(static_cast<Index>(r));
    if (weight == 0) continue;
    const LinearRule& rule = problem.rules[r];
    value.head(d) -= weight * rule.coefficients;
    size.head(d) += std::abs(weight) * rule.coefficients.cwiseAbs();
    size(d) += std::abs(weight * (weight > 0 ? rule.upper : rule.lower));
    rules += std::abs(weight) * rule.tolerance;
  }
  double terms = size(d);
  for (Index i = 0; i < d; ++i) {
    const double side = value(i) > 0 ? problem.upper(i) : problem.lower(i);
    if (std::isfinite(side)) terms += size(i) * std::abs(side);
  }
  return summed * terms + rules;
}

/// By how much the bias of a model must rise until it belongs to its ellipsoid, of which rounding
/// may have left it outside; ∞ where that does not bring it nearer.
double missing_bias(const RobustCone& cone, const Vector& model) {
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const LongVector away = (model - cone.factor->theta()).cast<long double>();
  const LongVector image = LongMatrix(cone.factor->inverse().cast<long double>()).llt().solve(away);
  const long double outside = away.dot(image) / 2 - cone.epsilon * (1 - 1e-15L);
  if (outside <= 0) return 0;
  const long double slope = image(image.size() - 1);
  return slope < 0 ? static_cast<double>(-2 * outside / slope)
                   : std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<ReachPlane> ProofSearch::plane(const FeasibleSet& branch) const {
  const Box& box = branch.relaxed();
  const bool is_plain = question_->is_single() && branch.rules().empty();
  const double t = problem_->threshold;
  if (!question_->is_conic()) {
    OracleProblem asked{.query = branch.query(),
                        .lower = box.lower,
                        .upper = box.upper,
                        .cost = separable_cost(problem_->cost, problem_->model->encoder),
                        .threshold = t,
                        .margin = 2e-12};
    for (const ModelRule& rule : branch.rules()) asked.rules.push_back(rule.rule);
    const std::unique_ptr<RobustOracle> oracle = question_->oracle();
    OracleResult searched = search_corrected(*oracle, asked, OracleGoal::nearest);
    if (!searched.proof) return std::nullopt;
    return reach_->plane_of(std::move(searched.proof->weights), std::move(searched.proof->heads),
                            branch);
  }
  if (is_plain) {
    const BoxMaximum top = question_->cones().front().maximize(
        box.lower, box.upper, question_->epsilon(), std::nullopt, t);
    if (top.ray || top.logit >= t) return std::nullopt;
    return reach_->plane_of({.cones = Vector::Ones(1), .models = {top.model}}, {}, branch);
  }
  CommonPoint common = find_common_point(intersection(*question_, branch, box));
  if (common.status != CommonPoint::Status::none) return std::nullopt;
  return reach_->plane_of(std::move(common.weights), {}, branch);
}

std::optional<InfeasibilityProof> ProofSearch::written(const ReachPlane& plane,
                                                       const FeasibleSet& branch) const {
  const IntersectionProblem whole = intersection(*question_, branch, branch.relaxed());
  ConeWeights weights{.cones = plane.cones,
                      .models = plane.models,
                      .rules = Vector::Zero(static_cast<Index>(whole.rules.size()))};
  for (const WeightedRule& weighted : plane.rules) {
    for (std::size_t r = 0; r < branch.rules().size(); ++r) {
      if (branch.rules()[r].text == weighted.rule)
        weights.rules(static_cast<Index>(r)) = weighted.multiplier;
    }
  }
  const ConeWeights all = weights;
  normalise(weights, 1e-9);
  if (!(half_space_maximum(whole, weights) < 0)) normalise(weights = all, 0);
  const double total = weights.cones.sum();
  InfeasibilityProof result{.supposes = branch.supposes()};
  // Without the threshold, in which a bound that is small beside it would lose its digits.
  IntersectionProblem plain = whole;
  for (RobustCone& cone : plain.cones) cone.threshold = 0;
  result.upper_bound = half_space_maximum(plain, weights);
  double doubt = rounding_of(whole, weights);
  for (std::size_t k = 0; k < whole.cones.size() && question_->is_conic(); ++k) {
    const double weight = weights.cones(static_cast<Index>(k));
    if (weight > 0) doubt += weight * missing_bias(whole.cones[k], weights.models[k]);
  }
  // A proof that holds by less is none to whoever computes it again.
  if (!(result.upper_bound + doubt < total * problem_->threshold)) return std::nullopt;
  if (total > 0) {
    result.model = Vector::Zero(branch.query().size() + 1);
    for (std::size_t k = 0; k < weights.models.size(); ++k) {
      const double weight = weights.cones(static_cast<Index>(k));
      result.model += weight * weights.models[k];
      // A mixture of heads belongs to its set; differences of them alone could not show that.
      const std::vector<Vector>& heads = plane.heads;
      const bool is_difference = !heads.empty() && heads[k].size() > result.model.size();
      if ((question_->is_single() && !is_difference) || !(weight > 0)) continue;
      result.models.push_back(
          {.member = k, .weight = weight, .model = heads.empty() ? weights.models[k] : heads[k]});
    }
  }
  for (std::size_t r = 0; r < branch.rules().size(); ++r) {
    const double multiplier = weights.rules(static_cast<Index>(r));
    if (multiplier == 0) continue;
    result.rules.push_back({.rule = branch.rules()[r].text, .multiplier = multiplier});
  }
  return result;
}

std::optional<InfeasibilityProof> ProofSearch::find(const FeasibleSet& branch) const {
  std::optional<ReachPlane> found = plane(branch);
  if (!found) return std::nullopt;
  std::optional<InfeasibilityProof> proof = written(*found, branch);
  if (proof) reach_->add(std::move(*found));
  return proof;
}

std::optional<InfeasibilityProof> ProofSearch::known(const FeasibleSet& branch) const {
  std::optional<InfeasibilityProof> proof;
  const std::vector<ReachPlane>& planes = reach_->planes();
  for (std::size_t k = planes.size(); k-- > 0 && !proof;) {
    const ReachPlane& plane = planes[k];
    if (plane.weighs_levels || !RowReach::applies(plane, branch)) continue;
    const Box& box = branch.relaxed();
    const double most = linear_maximum(plane.coefficients, box.lower, box.upper);
    if (most < plane.weight * problem_->threshold) proof = written(plane, branch);
  }
  return proof;
}

std::vector<InfeasibilityProof> ProofSearch::find_all(const FeasibleSet& feasible) const {
  std::vector<InfeasibilityProof> result;
  for (const FeasibleSet& branch : feasible.branches()) {
    std::optional<InfeasibilityProof> proof = known(branch);
    if (!proof) proof = find(branch);
    if (!proof) return {};
    result.push_back(std::move(*proof));
  }
  return result;
}

}  // namespace ellice

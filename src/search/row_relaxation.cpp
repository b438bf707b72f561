// What a part of a search for rows can reach when nothing in it is discrete.

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"
#include "search/row_reach.hpp"
#include "sets/true_set.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

// Beyond the threshold by this much of its terms a row is certified, whatever rounding does.
constexpr double relaxed_margin = 2 * certificate_margin;
// Where infinite ranges are cut, one after the other, to look for a point.
constexpr std::array<double, 3> far_reaches = {30, 3e3, 3e5};
// By this share of ε models stay inside their sets, whatever rounding does.
constexpr double safety = 1e-9;

/// Whether a half-space with this coefficient rises along a side without an end.
bool meets_infinity(const Box& box, Index i, double coefficient) {
  return coefficient != 0 && std::isinf(coefficient > 0 ? box.upper(i) : box.lower(i));
}

/// The sides of a box, those without an end so far from the query or from the other side.
void cut(const Box& box, const Vector& query, double reach, Vector& lower, Vector& upper) {
  for (Index i = 0; i < query.size(); ++i) {
    if (std::isinf(box.lower(i))) lower(i) = std::min(query(i), box.upper(i)) - reach;
    if (std::isinf(box.upper(i))) upper(i) = std::max(query(i), box.lower(i)) + reach;
  }
}

/// About how far one may go from 0, which belongs, to 1.
template <typename Belongs>
double last_inside(const Belongs& belongs) {
  if (belongs(1)) return 1;
  double inside = 0;
  for (double outside = 1; outside - inside > 1e-3;) {
    const double middle = 0.5 * (inside + outside);
    (belongs(middle) ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace

const std::vector<BoxFactor>& RowReach::cones_of(const RowDomain& domain) const {
  return domain.level_rules().empty() ? question_->cones() : question_->level_cones();
}

RowReach::Relaxed RowReach::relax_cone(const RowDomain& domain) {
  const Box box = domain.box();
  std::optional<Vector> start;
  if (start_.size() > 0) start = start_.cwiseMax(box.lower).cwiseMin(box.upper);
  BoxMaximum top =
      cones_of(domain).front().maximize(box.lower, box.upper, question_->epsilon(), start);
  Relaxed result{.point = std::move(top.point), .ray = std::move(top.ray)};
  if (!result.ray) {
    ReachPlane plane =
        plane_of({.cones = Vector::Ones(1), .models = {std::move(top.model)}}, {}, domain.branch());
    plane.weighs_levels = !domain.level_rules().empty();
    add(std::move(plane));
    start_ = result.point;
  }
  return result;
}

std::optional<ReachPlane> RowReach::plane_ignoring(const RowDomain& domain,
                                                   const ConeWeights& found) const {
  const Box box = domain.box();
  const std::vector<BoxFactor>& cones = question_->cones();
  const double most = question_->epsilon() * (1 - safety);
  std::vector<Vector> centres;
  centres.reserve(cones.size());
  for (const BoxFactor& cone : cones) centres.push_back(cone.theta());
  ConeWeights weights = found;
  std::vector<Index> ignored;
  while (true) {
    ReachPlane plane = plane_of(weights, {}, domain.branch());
    const std::size_t before = ignored.size();
    for (Index i = 0; i + 1 < plane.coefficients.size(); ++i) {
      if (!meets_infinity(box, i, plane.coefficients(i))) continue;
      if (std::count(ignored.begin(), ignored.end(), i) > 0) return std::nullopt;
      ignored.push_back(i);
    }
    if (ignored.size() == before) return plane;
    const auto size = static_cast<Index>(ignored.size());
    Matrix block = Matrix::Zero(size, size);
    for (std::size_t k = 0; k < cones.size(); ++k)
      block += found.cones(static_cast<Index>(k)) * cones[k].inverse()(ignored, ignored);
    const Eigen::LLT<Matrix> factor(block);
    const auto without = [&](const std::vector<Vector>& models) {
      weights.models = models;
      const Vector rest = plane_of(weights, {}, domain.branch()).coefficients(ignored);
      const Vector shift = factor.solve(rest);
      std::vector<Vector> moved = models;
      for (std::size_t k = 0; k < cones.size(); ++k)
        moved[k] -= cones[k].inverse()(Eigen::all, ignored) * shift;
      return moved;
    };
    const std::vector<Vector> inner = without(centres);
    const std::vector<Vector> outer = without(found.models);
    double share = 1;
    for (std::size_t k = 0; k < cones.size(); ++k) {
      if (found.cones(static_cast<Index>(k)) == 0) continue;
      const Eigen::LLT<Matrix> inverse(cones[k].inverse());
      const Vector from = inverse.matrixL().solve(Vector(inner[k] - centres[k]));
      const Vector step = inverse.matrixL().solve(Vector(outer[k] - inner[k]));
      const auto belongs = [&](double part) {
        return 0.5 * (from + part * step).squaredNorm() <= most;
      };
      if (!belongs(0)) return std::nullopt;
      share = std::min(share, last_inside(belongs));
    }
    for (std::size_t k = 0; k < cones.size(); ++k)
      weights.models[k] = inner[k] + share * (outer[k] - inner[k]);
  }
}

RowReach::Relaxed RowReach::relax_far_cones(const RowDomain& domain, IntersectionProblem whole,
                                            double level) {
  const Box box = domain.box();
  for (const double reach : far_reaches) {
    cut(box, domain.branch().query(), reach, whole.lower, whole.upper);
    CommonPoint common = find_common_point(whole);
    if (common.status == CommonPoint::Status::found) return {.point = std::move(common.point)};
    if (common.status != CommonPoint::Status::none) continue;
    std::optional<ReachPlane> plane = plane_ignoring(domain, common.weights);
    if (!plane) continue;
    const bool is_proof = bound(domain, *plane) < level;
    add(std::move(*plane));
    if (is_proof) return {.is_empty = true};
  }
  return {};
}

RowReach::Relaxed RowReach::relax_cones(const RowDomain& domain, double level) {
  IntersectionProblem whole = intersection(*question_, domain.branch(), domain.box());
  for (LinearRule& rule : domain.level_rules()) whole.rules.push_back(std::move(rule));
  const bool is_bounded = whole.lower.allFinite() && whole.upper.allFinite();
  const bool weighs_levels = is_bounded && !domain.level_rules().empty();
  for (std::size_t k = 0; k < whole.cones.size() && weighs_levels; ++k)
    whole.cones[k].factor = &question_->level_cones()[k];
  if (std::isfinite(level)) {
    for (RobustCone& cone : whole.cones) cone.threshold = level;
    CommonPoint common = find_common_point(whole);
    if (common.status == CommonPoint::Status::none) {
      ReachPlane plane = plane_of(std::move(common.weights), {}, domain.branch());
      plane.weighs_levels = plane.weighs_levels || weighs_levels;
      const bool is_proof = bound(domain, plane) < level;
      add(std::move(plane));
      if (is_proof) return {.is_empty = true};
    }
    if (!is_bounded) {
      if (common.status == CommonPoint::Status::found) return {.point = std::move(common.point)};
      Relaxed far = relax_far_cones(domain, whole, level);
      if (far.is_empty || far.point.size() > 0) return far;
    }
  }
  for (RobustCone& cone : whole.cones) cone.threshold = problem_->threshold;
  return {.point = best_common_point(whole)};
}

std::optional<ReachPlane> RowReach::plane_ignoring(const RowDomain& domain,
                                                   const Support& at) const {
  const Part& part = question_->question().front();
  const auto* set = dynamic_cast<const TrueSet*>(part.set.get());
  if (set == nullptr || part.rival || !at.worst) return std::nullopt;
  const auto excess = [&](const Vector& head) { return set->objective(head) - set->optimum(); };
  const Box box = domain.box();
  const double most = set->epsilon() * (1 - safety);
  const Index size = at.model.size();
  const Matrix inverse =
      Eigen::LLT<Matrix>(set->curvature(*at.worst)).solve(Matrix::Identity(size, size));
  Vector model = at.model;
  std::vector<Index> ignored;
  while (true) {
    const std::size_t before = ignored.size();
    for (Index i = 0; i + 1 < size; ++i) {
      if (meets_infinity(box, i, model(i))) ignored.push_back(i);
    }
    if (ignored.size() == before) break;
    const Eigen::LLT<Matrix> block(Matrix(inverse(ignored, ignored)));
    const auto without = [&](const Vector& from) {
      Vector result = from - inverse(Eigen::all, ignored) * block.solve(Vector(from(ignored)));
      for (const Index i : ignored) result(i) = 0;
      return result;
    };
    const Vector centre = without(set->center());
    const Vector wanted = without(at.model);
    if (!(excess(centre) < most)) return std::nullopt;
    const double share =
        last_inside([&](double s) { return excess(centre + s * (wanted - centre)) <= most; });
    model = centre + share * (wanted - centre);
  }
  return plane_of({.cones = Vector::Ones(1), .models = {model}}, {model}, domain.branch());
}

RowReach::Relaxed RowReach::relax_far(const RowDomain& domain, OracleProblem asked, double level) {
  const Box box{.lower = asked.lower, .upper = asked.upper};
  for (const double reach : far_reaches) {
    cut(box, domain.branch().query(), reach, asked.lower, asked.upper);
    Vector point;
    if (is_plain(domain)) {
      const BoxFactor& cone = question_->cones().front();
      point = most_robust_point(
          *oracle_, asked, cone.maximize(asked.lower, asked.upper, question_->epsilon()).point);
    } else {
      asked.query = asked.query.cwiseMax(asked.lower).cwiseMin(asked.upper);
      point = search_corrected(*oracle_, asked, OracleGoal::any).point;
    }
    if (least(point) > level) return {.point = std::move(point)};
    if (!is_plain(domain)) continue;
    std::optional<ReachPlane> plane = plane_ignoring(domain, oracle_->at(0, point));
    if (!plane) continue;
    const bool is_proof = bound(domain, *plane) < level;
    add(std::move(*plane));
    if (is_proof) return {.is_empty = true};
  }
  return {};
}

RowReach::Relaxed RowReach::relax_searched(const RowDomain& domain, double level, bool climbs) {
  const Box box = domain.box();
  OracleProblem asked{
      .query = Vector::Zero(box.lower.size()).cwiseMax(box.lower).cwiseMin(box.upper),
      .lower = box.lower,
      .upper = box.upper,
      .threshold = level,
      .margin = relaxed_margin};
  for (const ModelRule& rule : domain.branch().rules()) asked.rules.push_back(rule.rule);
  const bool is_bounded = box.lower.allFinite() && box.upper.allFinite();
  if (!std::isfinite(level) || (climbs && is_bounded && is_plain(domain))) {
    asked.threshold = problem_->threshold;
    Vector start = asked.query;
    if (start_.size() > 0) {
      start = start_.cwiseMax(box.lower).cwiseMin(box.upper);
    } else if (is_plain(domain)) {
      start = question_->cones().front().maximize(box.lower, box.upper, question_->epsilon()).point;
    } else {
      start = best_common_point(intersection(*question_, domain.branch(), box));
    }
    Relaxed result{.point = most_robust_point(*oracle_, asked, std::move(start))};
    start_ = result.point;
    if (!is_plain(domain)) return result;
    const Support at = oracle_->at(0, result.point);
    ReachPlane plane = plane_of({.cones = Vector::Ones(1), .models = {at.model}},
                                {at.worst ? at.worst->model : Vector()}, domain.branch());
    const double most = bound(domain, plane);
    add(std::move(plane));
    if (most < level || at.proved >= level || !std::isfinite(level)) return result;
    asked.threshold = level;
  }
  if (!is_bounded) {
    Relaxed far = relax_far(domain, asked, level);
    if (far.is_empty || far.point.size() > 0) return far;
  }
  OracleResult searched = search_corrected(*oracle_, asked, OracleGoal::any);
  if (!searched.found && !searched.proof)
    searched = search_corrected(*oracle_, asked, OracleGoal::nearest);
  if (searched.proof) {
    ReachPlane plane = plane_of(std::move(searched.proof->weights),
                                std::move(searched.proof->heads), domain.branch());
    const bool is_proof = bound(domain, plane) < level;
    add(std::move(plane));
    if (is_proof) return {.is_empty = true};
  }
  if (searched.found && climbs && is_bounded)
    searched.point = most_robust_point(*oracle_, asked, std::move(searched.point));
  start_ = searched.point;
  return {.point = std::move(searched.point)};
}

std::optional<double> RowReach::relaxed_radius(const FeasibleSet& branch) {
  const RowDomain domain(branch, {});
  if (domain.is_empty()) return 0;
  const Relaxed found = relax(domain, infinity, true);
  if (found.ray) return std::nullopt;
  Vector lifted(found.point.size() + 1);
  lifted << found.point, 1;
  double least = infinity;
  for (const BoxFactor& cone : cones_of(domain)) {
    const double lead = cone.theta().dot(lifted) - problem_->threshold;
    if (!(lead > 0)) return 0;
    least = std::min(least, 0.5 * lead * lead / lifted.dot(cone.inverse() * lifted));
  }
  return least;
}

RowReach::Relaxed RowReach::relax(const RowDomain& domain, double level, bool climbs) {
  if (!question_->is_conic()) return relax_searched(domain, level, climbs);
  return is_plain(domain) ? relax_cone(domain) : relax_cones(domain, level);
}

}  // namespace ellice

#include "search/largest_epsilon.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "search/infeasibility_proof.hpp"

namespace ellice {

namespace {

// How near the bounds of the largest ε are brought, relatively; where each step takes passes over
// all training rows, less near: a proof close to it takes long to find.
constexpr double conic_width = 1e-6;
constexpr double searched_width = 2e-3;
constexpr int hint_rounds = 40;
// By how much the steps grow and shrink between them.
constexpr double stride = 4;
// Squared columns times functions that all parts of a hint's search may take together, and the
// fewest and most parts.
constexpr double hint_work = 6e4;
constexpr std::size_t fewest_parts = 8;
constexpr std::size_t most_parts = 400;
// Steps of the relaxation's own largest ε, when they have settled, and how far beyond its proof is
// looked for.
constexpr int relaxed_rounds = 12;
constexpr double relaxed_settled = 1e-5;
constexpr double relaxed_beyond[] = {1e-4, 1e-3, 1e-2, 1e-1};
constexpr int most_halvings = 12;

}  // namespace

std::size_t hinted_parts(const LinearQuestion& question) {
  double work = 0;
  for (const BoxFactor& cone : question.cones())
    work += static_cast<double>(cone.theta().size() * cone.theta().size());
  return std::clamp(static_cast<std::size_t>(hint_work / std::max(work, 1.0)), fewest_parts,
                    most_parts);
}

LargestEpsilon::LargestEpsilon(const Problem& problem, const LinearQuestion& question,
                               const FeasibleSet& feasible, std::optional<std::size_t> most_changes,
                               RowReach& reach)
    : problem_(&problem),
      question_(&question),
      feasible_(&feasible),
      most_changes_(most_changes),
      reach_(&reach),
      bounds_{.upper = problem.epsilon},
      least_(question.question().front().set->smallest_epsilon()),
      // Rounding decides between.
      width_(std::max(question.is_conic() ? conic_width : searched_width, 2 * question.lost())),
      left_(hinted_parts(question)) {}

std::optional<double> LargestEpsilon::radius(const Vector& z, double margin) const {
  const double threshold = problem_->threshold + margin;
  double least = infinity;
  for (const Part& part : question_->question().parts()) {
    const Vector features = part.features(z);
    if (part.picture->center().dot(features) < threshold) return std::nullopt;
    least = std::min(least, part.radius(features, threshold));
  }
  return least;
}

bool LargestEpsilon::offer(const Vector& row) {
  if (row.size() == 0) return false;
  Vector z(problem_->model->encoder.columns());
  problem_->model->encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
  const std::optional<double> attained = radius(z, reach_->score(row).margin);
  if (!attained || (bounds_.lower && *attained <= *bounds_.lower)) return false;
  start(row, std::min(*attained, problem_->epsilon));
  return true;
}

void LargestEpsilon::start(const Vector& row, double attained) {
  bounds_.lower = attained;
  row_ = row;
}

void LargestEpsilon::known(double limit, const std::vector<ReachPlane>& planes, bool is_part) {
  known_limit_ = limit;
  known_planes_ = &planes;
  is_part_ = is_part;
}

LargestEpsilon::Probe LargestEpsilon::probe(double epsilon, std::optional<std::size_t> parts) {
  check_stop();
  const LinearQuestion smaller = question_->with_epsilon(epsilon * (1 - question_->lost()));
  RowReach reach(*problem_, smaller);
  if (epsilon >= planes_epsilon_) {
    for (const ReachPlane& plane : planes_) reach.add(plane);
  }
  if (epsilon >= known_limit_) {
    for (const ReachPlane& plane : *known_planes_) reach.add(plane);
  }
  const Reached reached = is_part_ && epsilon >= known_limit_
                              ? Reached{.status = Reached::Status::none}
                              : reach.search(*feasible_, {.floor = problem_->threshold,
                                                          .enough = problem_->threshold,
                                                          .most_changes = most_changes_,
                                                          .climbs = true,
                                                          .most_parts = parts});
  left_ -= std::min(left_, reached.parts);
  if (reached.status == Reached::Status::none) {
    bounds_.upper = epsilon;
    limit_planes_ = reach.planes();
    bounds_.proofs.clear();
    if (!most_changes_) {
      Problem at = *problem_;
      at.epsilon = epsilon;
      bounds_.proofs = ProofSearch(at, smaller, reach).find_all(*feasible_);
    }
    return Probe::none;
  }
  planes_ = reach.planes();
  planes_epsilon_ = epsilon;
  return offer(reached.row) ? Probe::better : Probe::unknown;
}

/// Dinkelbach's iteration as in Result 8: what the most robust row at one ε attains is the next,
/// until it is proved that a little more has no answer.
void LargestEpsilon::climb() {
  double step = width_;
  for (int round = 0; round < hint_rounds; ++round) {
    const double next = bounds_.lower ? std::max(*bounds_.lower * (1 + step), least_) : least_;
    if (!(next < bounds_.upper)) return;
    const bool has_parts = question_->is_conic();
    const Probe found =
        probe(next, has_parts ? std::optional(std::max<std::size_t>(left_ / 2, 1)) : std::nullopt);
    if (found == Probe::none) {
      if (step <= width_) return;
      step = std::max(width_, step / stride);
    } else if (found == Probe::better) {
      // A row that is hardly more robust than was asked for: longer steps get there sooner.
      if (*bounds_.lower < next * (1 + width_)) step *= stride;
    } else if (bounds_.lower && !has_parts) {
      width_ = step = 10 * step;
    } else {
      return;
    }
  }
}

void LargestEpsilon::relax() {
  const std::vector<FeasibleSet> branches = feasible_->branches();
  double epsilon = bounds_.lower.value_or(least_);
  for (int round = 0; round < relaxed_rounds; ++round) {
    check_stop();
    const LinearQuestion there = question_->with_epsilon(epsilon);
    RowReach reach(*problem_, there);
    double attained = 0;
    for (const FeasibleSet& branch : branches)
      attained = std::max(attained, reach.relaxed_radius(branch).value_or(0));
    if (!(attained > epsilon * (1 + relaxed_settled))) break;
    epsilon = attained;
  }
  for (const double beyond : relaxed_beyond) {
    const double next = std::max(epsilon * (1 + beyond), least_);
    if (!(next < bounds_.upper) || probe(next, 1) == Probe::none) return;
  }
}

bool LargestEpsilon::is_narrow() const {
  return bounds_.lower && bounds_.upper <= *bounds_.lower * (1 + width_);
}

void LargestEpsilon::halve() {
  double below = std::max(bounds_.lower.value_or(0), least_);
  for (int round = 0; round < most_halvings && left_ > 0 && !is_narrow(); ++round) {
    below = std::max(below, bounds_.lower.value_or(0));
    const double middle = std::sqrt(below * bounds_.upper);
    if (!(below < middle && middle < bounds_.upper)) return;
    if (probe(middle, std::max<std::size_t>(left_ / 2, 1)) == Probe::unknown) below = middle;
  }
}

EpsilonBounds LargestEpsilon::find() {
  climb();
  if (question_->is_conic() && bounds_.lower && !is_narrow()) {
    relax();
    halve();
  }
  if (bounds_.lower)
    bounds_.point =
        problem_->model->encoder.values({row_.data(), static_cast<std::size_t>(row_.size())});
  if (!bounds_.lower && bounds_.upper <= least_ && least_ > 0 && is_refused_by_centre()) {
    bounds_.upper = 0;
    bounds_.proofs.clear();  // of models around the fitted one
  }
  return bounds_;
}

/// Whether one of the fitted models alone accepts no allowed row.
bool LargestEpsilon::is_refused_by_centre() const {
  const std::vector<FeasibleSet> branches = feasible_->branches();
  return std::any_of(
      question_->cones().begin(), question_->cones().end(), [&](const BoxFactor& cone) {
        return std::all_of(branches.begin(), branches.end(), [&](const FeasibleSet& branch) {
          return RowDomain(branch, most_changes_).maximum(cone.theta()) < problem_->threshold;
        });
      });
}

}  // namespace ellice

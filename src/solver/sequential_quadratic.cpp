#include "solver/sequential_quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "boxed_quadratic.hpp"
#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// Trials per step after which a restored point is looked at as well.
constexpr int restored_trials = 3;
// Restoration aims this far beyond g = 0, for a feasible point in spite of rounding.
constexpr double restoration_margin = 1e-9;
// The merit must fall by this share of the step's squared length.
constexpr double sufficient_decrease = 1e-5;
// The penalty's weight over the multiplier that would make it exact, and its bound where gradients
// vanish.
constexpr double penalty_factor = 1.5;
constexpr double largest_penalty = 1e8;

// Kinks enter the quadratic steps once no step may be longer than this share of the first, or none
// at all will do. Far away they would lead into other valleys, which are as often worse as better.
constexpr double kink_share = 0.125;
// A step is solved again with the kinks that it crosses so often.
constexpr int most_kink_rounds = 6;

// From this step on a search whose distance is this many steps above the cutoff is given up. Steps
// shrink at kinks, along which searches creep to their end.
constexpr int judged_steps = 4;
constexpr double far_steps = 8;

// A search is about to end where another one did if its step leaves at most this share of the way
// there, and no kink lies on this share of it: ends lie on kinks themselves, up to rounding.
constexpr double share_left = 0.3;
constexpr double share_seen = 0.9;

void validate(const NearestPoint& problem) {
  const Index d = problem.query.size();
  require(problem.lower.size() == d && problem.upper.size() == d && problem.weights.size() == d,
          "query, bounds and weights must have the same size");
  require((problem.lower.array() <= problem.upper.array()).all(), "the box is empty");
  require((problem.weights.array() > 0).all(), "the weights must be positive");
}

}  // namespace

class SequentialQuadratic::Search {
 public:
  Search(const NearestPoint& problem, Index constraints, const SequentialQuadraticOptions& options)
      : problem_(&problem),
        options_(options),
        moves_(movable(problem)),
        quadratic_(static_cast<Index>(moves_.size()), constraints),
        best_(problem.query.size()),
        home_(problem.query.cwiseMax(problem.lower).cwiseMin(problem.upper)),
        x_(best_.size()),
        trial_(best_.size()),
        restored_(best_.size()),
        values_(constraints),
        gradients_(best_.size(), constraints),
        multipliers_(constraints) {}

  SequentialQuadraticResult run(SmoothConstraints& constraints, VectorArg start, double cutoff,
                                std::span<const Vector> ends);
  [[nodiscard]] const Vector& best() const { return best_; }

 private:
  static std::vector<Index> movable(const NearestPoint& problem) {
    std::vector<Index> moves;
    for (Index i = 0; i < problem.query.size(); ++i) {
      if (problem.lower[i] < problem.upper[i]) moves.push_back(i);
    }
    return moves;
  }

  /// The smallest value at x, which is recorded where it is feasible.
  double evaluate(SmoothConstraints& constraints, const Vector& x) {
    constraints.values(x, values_);
    return record(x);
  }
  double record(const Vector& x);
  void bisect(SmoothConstraints& constraints);
  void guess_multipliers();
  void quadratic_step(SmoothConstraints& constraints);
  void solve_with_kinks(SmoothConstraints& constraints);
  /// False for one that is known, and where nothing falls short beyond it.
  bool add_kink(SmoothConstraints& constraints, Index name);
  [[nodiscard]] bool line_search(SmoothConstraints& constraints);
  [[nodiscard]] bool leads_to(SmoothConstraints& constraints, const Vector& end);
  /// restored_ ← x moved along the gradient of the smallest value until its linearisation holds;
  /// false where that is farther than a step may go.
  [[nodiscard]] bool restore(const Vector& x, double smallest);

  [[nodiscard]] double objective(const Vector& x) const {
    return 0.5 * (x - problem_->query).cwiseAbs2().dot(problem_->weights);
  }
  [[nodiscard]] double merit(const Vector& x) const {  // with the values evaluated last
    return values_.allFinite() ? objective(x) - penalty_ * values_.cwiseMin(0).sum() : infinity;
  }
  void move(const Vector& from, double share, Vector& to) const;
  [[nodiscard]] double step_length() const;
  [[nodiscard]] bool is_done() const { return options_.first_feasible && result_.found; }

  const NearestPoint* problem_;
  SequentialQuadraticOptions options_;
  std::vector<Index> moves_;  // coordinates that the box lets move
  BoxedQuadratic quadratic_;  // over these
  SequentialQuadraticResult result_ = {};
  Vector best_, home_, x_, trial_, restored_, values_;
  Matrix gradients_, root_;
  Vector multipliers_;
  bool has_kinks_ = false;                           // whether they enter the steps
  std::vector<Index> kinks_, last_kinks_, crossed_;  // names
  Kink kink_;
  double merit_ = 0;  // of x_
  double penalty_ = 0;
  double radius_ = 0;
  double scale_ = 1;  // share of the quadratic step that the radius allows
};

double SequentialQuadratic::Search::record(const Vector& x) {
  ++result_.evaluations;
  const double smallest = values_.allFinite() ? values_.minCoeff() : -infinity;
  const double cost = objective(x);
  if (smallest >= 0 && (!result_.found || cost < result_.objective)) {
    result_.found = true;
    result_.objective = cost;
    best_ = x;
  }
  return smallest;
}

void SequentialQuadratic::Search::bisect(SmoothConstraints& constraints) {
  double near = 0;  // shares of the way from home_ to the start, which is feasible
  double far = 1;
  restored_ = x_;
  for (int k = 0; k < options_.bisections && !is_done(); ++k) {
    check_stop();
    const double middle = (near + far) / 2;
    trial_ = home_ + middle * (restored_ - home_);
    if (evaluate(constraints, trial_) >= 0) {
      far = middle;
      x_ = trial_;
    } else {
      near = middle;
    }
  }
}

void SequentialQuadratic::Search::guess_multipliers() {
  const double distance = std::sqrt(2 * objective(x_));
  for (Index k = 0; k < multipliers_.size(); ++k) {
    double square = 0;
    for (const Index i : moves_)
      square += gradients_(i, k) * gradients_(i, k) / problem_->weights[i];
    multipliers_[k] = square > 0 ? distance / std::sqrt(square) : 0;
  }
  penalty_ = std::min(largest_penalty, penalty_factor * multipliers_.maxCoeff());
}

void SequentialQuadratic::Search::quadratic_step(SmoothConstraints& constraints) {
  for (double& m : multipliers_) m = std::min(m, options_.max_curvature);
  const bool curved =
      multipliers_.maxCoeff() > 0 && constraints.curvature_root(multipliers_, root_);
  const auto size = static_cast<Index>(moves_.size());
  const Index rows = curved ? root_.rows() : 0;
  quadratic_.clear_kinks();
  quadratic_.root.resize(rows, size);
  for (Index a = 0; a < size; ++a) {
    const Index i = moves_[static_cast<std::size_t>(a)];
    if (curved) quadratic_.root.col(a) = root_.col(i);
    quadratic_.diagonal[a] = problem_->weights[i];
    quadratic_.linear[a] = problem_->weights[i] * (x_[i] - problem_->query[i]);
    quadratic_.lower[a] = problem_->lower[i] - x_[i];
    quadratic_.upper[a] = problem_->upper[i] - x_[i];
    quadratic_.normals.row(a) = gradients_.row(i);
  }
  quadratic_.constants = values_;
  has_kinks_ = has_kinks_ || radius_ < kink_share * options_.radius;
  if (has_kinks_) {
    solve_with_kinks(constraints);
  } else {
    quadratic_.solve(result_.iterations > 1);
  }
  multipliers_ = quadratic_.multipliers().head(values_.size());
  penalty_ =
      std::min(largest_penalty, std::max(penalty_, penalty_factor * multipliers_.maxCoeff()));
}

bool SequentialQuadratic::Search::add_kink(SmoothConstraints& constraints, Index name) {
  if (std::find(kinks_.begin(), kinks_.end(), name) != kinks_.end()) return false;
  if (!constraints.find_kink(name, kink_)) return false;
  const auto size = static_cast<Index>(moves_.size());
  quadratic_.add_kink({.owner = kink_.row, .weight = kink_.weight}, kink_.distance);
  for (Index a = 0; a < size; ++a)
    quadratic_.normals(a, quadratic_.constants.size() - 1) =
        kink_.normal[moves_[static_cast<std::size_t>(a)]];
  kinks_.push_back(name);
  return true;
}

void SequentialQuadratic::Search::solve_with_kinks(SmoothConstraints& constraints) {
  // Those that the last step came to are likely to count again.
  last_kinks_.swap(kinks_);
  kinks_.clear();
  for (const Index name : last_kinks_) (void)add_kink(constraints, name);
  quadratic_.solve(result_.iterations > 1);
  for (int round = 0; round < most_kink_rounds; ++round) {
    move(x_, std::min(1.0, radius_ / step_length()), trial_);
    trial_ -= x_;
    crossed_.clear();
    constraints.crossed_kinks(trial_, crossed_);
    bool any = false;
    for (const Index name : crossed_) any = add_kink(constraints, name) || any;
    if (!any) break;
    quadratic_.solve_again();
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < kinks_.size(); ++k) {
    if (quadratic_.multipliers()[values_.size() + static_cast<Index>(k)] > 0)
      kinks_[kept++] = kinks_[k];
  }
  kinks_.resize(kept);
}

double SequentialQuadratic::Search::step_length() const {
  double square = 0;
  for (std::size_t a = 0; a < moves_.size(); ++a) {
    const double p = quadratic_.step()[static_cast<Index>(a)];
    square += problem_->weights[moves_[a]] * p * p;
  }
  return std::sqrt(square);
}

void SequentialQuadratic::Search::move(const Vector& from, double share, Vector& to) const {
  to = from;
  for (std::size_t a = 0; a < moves_.size(); ++a) {
    const Index i = moves_[a];
    to[i] = std::clamp(from[i] + share * quadratic_.step()[static_cast<Index>(a)],
                       problem_->lower[i], problem_->upper[i]);
  }
}

bool SequentialQuadratic::Search::restore(const Vector& x, double smallest) {
  Index k = 0;
  values_.minCoeff(&k);
  const auto moves_up = [&](Index i) {  // whether g_k can still grow along coordinate i
    return gradients_(i, k) > 0 ? x[i] < problem_->upper[i] : x[i] > problem_->lower[i];
  };
  double square = 0;
  for (const Index i : moves_) {
    if (moves_up(i)) square += gradients_(i, k) * gradients_(i, k) / problem_->weights[i];
  }
  const double shortfall = restoration_margin - smallest;
  if (!(square > 0) || shortfall > radius_ * std::sqrt(square)) return false;
  restored_ = x;
  for (const Index i : moves_) {
    if (!moves_up(i)) continue;
    restored_[i] = std::clamp(x[i] + shortfall / square * gradients_(i, k) / problem_->weights[i],
                              problem_->lower[i], problem_->upper[i]);
  }
  return true;
}

bool SequentialQuadratic::Search::line_search(SmoothConstraints& constraints) {
  const double length = scale_ * result_.residual;
  double share = 1;
  for (int trial = 0; trial < options_.trials; ++trial, share *= options_.shrink) {
    check_stop();
    const double enough = merit_ - sufficient_decrease * share * length * length;
    move(x_, share * scale_, trial_);
    const double smallest = evaluate(constraints, trial_);
    double lowest = merit(trial_);
    if (is_done()) return false;
    if (smallest < 0 && trial < restored_trials && restore(trial_, smallest)) {
      evaluate(constraints, restored_);
      const double restored = merit(restored_);
      if (restored < lowest) {
        lowest = restored;
        trial_.swap(restored_);
      }
    }
    if (lowest > enough) continue;
    x_.swap(trial_);
    radius_ = trial == 0 ? std::min(2 * radius_, options_.max_radius) : 2 * share * length;
    return true;
  }
  return false;
}

bool SequentialQuadratic::Search::leads_to(SmoothConstraints& constraints, const Vector& end) {
  double way = 0;
  double left = 0;
  for (std::size_t a = 0; a < moves_.size(); ++a) {
    const Index i = moves_[a];
    const double apart = end[i] - x_[i];
    const double then = apart - quadratic_.step()[static_cast<Index>(a)];
    way += problem_->weights[i] * apart * apart;
    left += problem_->weights[i] * then * then;
  }
  if (left > share_left * share_left * way) return false;
  if (result_.found && result_.objective < objective(end)) return false;
  trial_ = share_seen * (end - x_);
  crossed_.clear();
  constraints.crossed_kinks(trial_, crossed_);
  return crossed_.empty();
}

SequentialQuadraticResult SequentialQuadratic::Search::run(SmoothConstraints& constraints,
                                                           VectorArg start, double cutoff,
                                                           std::span<const Vector> ends) {
  result_ = {};
  radius_ = options_.radius;
  has_kinks_ = false;
  kinks_.clear();
  x_ = start.cwiseMax(problem_->lower).cwiseMin(problem_->upper);
  if (evaluate(constraints, x_) >= 0) bisect(constraints);
  while (result_.iterations < options_.max_iterations && !is_done() && !moves_.empty()) {
    check_stop();
    ++result_.iterations;
    constraints.gradients(x_, values_, gradients_);
    record(x_);
    if (!values_.allFinite() || !gradients_.allFinite()) break;
    if (result_.iterations == 1) guess_multipliers();
    quadratic_step(constraints);
    merit_ = merit(x_);
    result_.residual = step_length();
    const double distance = std::sqrt(2 * objective(x_));
    if (result_.residual <= options_.tolerance * (1 + distance)) {
      move(x_, 1, trial_);
      if (evaluate(constraints, trial_) < 0 && restore(trial_, values_.minCoeff())) {
        evaluate(constraints, restored_);
      }
      break;
    }
    const double within_reach = distance - far_steps * std::min(radius_, result_.residual);
    result_.given_up =
        (result_.iterations >= judged_steps && within_reach > std::sqrt(2 * cutoff)) ||
        std::any_of(ends.begin(), ends.end(),
                    [&](const Vector& end) { return leads_to(constraints, end); });
    if (result_.given_up) break;
    scale_ = std::min(1.0, radius_ / result_.residual);
    if (line_search(constraints)) continue;
    if (has_kinks_) break;
    has_kinks_ = true;
  }
  return result_;
}

SequentialQuadratic::SequentialQuadratic(const NearestPoint& problem, Index constraints,
                                         const SequentialQuadraticOptions& options) {
  validate(problem);
  ellice::validate(options, "SequentialQuadraticOptions");
  require(constraints >= 1, "a search needs a constraint");
  search_ = std::make_unique<Search>(problem, constraints, options);
}

SequentialQuadratic::~SequentialQuadratic() = default;

SequentialQuadraticResult SequentialQuadratic::solve(SmoothConstraints& constraints,
                                                     VectorArg start, double cutoff,
                                                     std::span<const Vector> ends) {
  return search_->run(constraints, start, cutoff, ends);
}

const Vector& SequentialQuadratic::point() const {
  return search_->best();
}

}  // namespace ellice

#include "search/local_polish.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/stop.hpp"
#include "search/robust_constraints.hpp"
#include "search/rounding.hpp"
#include "solver/sequential_quadratic.hpp"

namespace ellice {

namespace {

constexpr int most_polishes = 3;
// How often all features of a row are looked at for a change that can be taken back.
constexpr int most_retreats = 8;
// A little more than a certificate asks for; more where writing and reading loses it.
constexpr std::array<double, 3> local_margins = {1e-9, 1e-7, 1e-5};

/// Rounds with local re-solves over the set itself.
class Guide final : public RoundingGuide {
 public:
  Guide(RobustConstraints& constraints, Index members, const FeasibleSet& feasible,
        const Vector& weights, const SequentialQuadraticOptions& options)
      : constraints_(&constraints),
        members_(members),
        feasible_(&feasible),
        weights_(&weights),
        options_(options) {}

  [[nodiscard]] double margin(VectorArg z) override { return constraints_->smallest(z); }
  [[nodiscard]] Vector slope(VectorArg z) override {
    Vector value(constraints_->count());
    Matrix gradient(z.size(), constraints_->count());
    constraints_->gradients(z, value, gradient);
    Index least = 0;
    value.head(members_).minCoeff(&least);
    return gradient.col(least);
  }
  [[nodiscard]] std::optional<Vector> solve(const Box& part, VectorArg start) override {
    const NearestPoint problem{.query = feasible_->query(),
                               .lower = part.lower,
                               .upper = part.upper,
                               .weights = *weights_};
    SequentialQuadratic solver(problem, constraints_->count(), options_);
    if (!solver.solve(*constraints_, start).found) return std::nullopt;
    return solver.point();
  }
  [[nodiscard]] bool tries_exchanges() const override { return false; }

 private:
  RobustConstraints* constraints_;
  Index members_;  // constraints that are not rules
  const FeasibleSet* feasible_;
  const Vector* weights_;
  SequentialQuadraticOptions options_;
};

}  // namespace

LocalPolish::LocalPolish(const Problem& problem, const Assembler& assembler,
                         const LocalSearchOptions& options, const std::vector<Level>& levels,
                         std::size_t plain)
    : problem_(&problem),
      assembler_(&assembler),
      options_(&options),
      levels_(&levels),
      plain_(plain),
      function_(assembler.set().function()),
      kappa_(std::sqrt(2 * problem.epsilon)),
      weights_(column_weights(problem.model->encoder)) {}

Vector LocalPolish::encode(const Vector& row) const {
  const Encoder& encoder = problem_->model->encoder;
  Vector z(encoder.columns());
  encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
  return z;
}

Answer LocalPolish::nearest(const Query& query, const FeasibleSet& feasible) {
  Answer result = assembler_->begin(query, feasible);
  if (assembler_->already_robust(result, feasible)) return result;
  const std::vector<Vector> rows = candidates(query, feasible, result);
  std::optional<Answer> best;
  for (const Vector& row : rows) {
    Answer offered = result;
    if (!polish(offered, row, feasible)) continue;
    if (!best || offered.distance.weighted < best->distance.weighted) best = std::move(offered);
  }
  if (best) return *best;
  reduce(result, rows, feasible);
  if (is_certified(result.status)) return result;
  result.status = Status::not_found;
  result.message = fmt::format(
      "{}; the search is local and proves nothing",
      rows.empty() ? "no allowed point was found that even the model itself accepts"
                   : "points that the model accepts were found, but none that the set does");
  return result;
}

std::vector<Vector> LocalPolish::candidates(const Query& query, const FeasibleSet& feasible,
                                            Answer& blank) {
  std::vector<Vector> rows;
  std::vector<bool> visited(levels_->size());
  std::size_t level = plain_;
  for (int k = 0; k < most_polishes; ++k) {
    check_stop();
    // Where the radius is right already, a smaller one may lead to a nearer row, which is then
    // brought to the border of the true set.
    if (visited[level]) level = level > 0 ? level - 1 : 0;
    if (visited[level]) break;
    visited[level] = true;
    const Answer found = (*levels_)[level].steps->nearest(query, feasible);
    blank.held = found.held;
    std::size_t next = level > 0 ? level - 1 : 0;  // where nothing is found, ask for less
    if (found.counterfactual) {
      Vector row = problem_->model->encoder.raw(*found.counterfactual);
      const double reach = extent(encode(row));
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
      if (found.status != Status::reduced) {
        const auto nearest =
            std::min_element(levels_->begin(), levels_->end(), [&](const Level& a, const Level& b) {
              return std::abs(a.radius - reach) < std::abs(b.radius - reach);
            });
        next = static_cast<std::size_t>(nearest - levels_->begin());
      }
    }
    level = next;
  }
  return rows;
}

double LocalPolish::extent(const Vector& x) {
  double least = std::numeric_limits<double>::infinity();
  double result = 1;
  const std::vector<Part>& parts = assembler_->question()->parts();
  for (Index k = 0; k < function_->parts(); ++k) {
    const Part& part = parts[static_cast<std::size_t>(k)];
    const RobustScore score = function_->value(k, x);
    if (!(score.robust(kappa_) < least)) continue;
    least = score.robust(kappa_);
    result = score.spread / part.picture->factor().inverse_norm(part.features(x));
  }
  return result;
}

bool LocalPolish::polish(Answer& offered, const Vector& row, const FeasibleSet& feasible) {
  RobustConstraints constraints(*function_, problem_->threshold, feasible);
  const SequentialQuadraticOptions options{.max_iterations = options_->max_iterations};
  const Answer blank = offered;
  bool accepted = false;
  const auto offer = [&](const Vector& raw) {
    Answer candidate = blank;
    const WorstHead* near =
        function_->parts() == 1 ? function_->worst_head(0, encode(raw)) : nullptr;
    if (!assembler_->accept(candidate, raw, feasible, near)) return false;
    if (!accepted || candidate.distance.weighted < offered.distance.weighted) {
      offered = std::move(candidate);
    }
    accepted = true;
    return true;
  };
  const auto search_around = [&](const Vector& held) {
    const FeasibleSet pinned = feasible.holding(held);
    const Vector start = encode(held);
    for (const Box& box : pinned.boxes()) {
      const NearestPoint nearest{
          .query = feasible.query(), .lower = box.lower, .upper = box.upper, .weights = weights_};
      Vector from = start.cwiseMax(box.lower).cwiseMin(box.upper);
      for (const double margin : local_margins) {
        constraints.set_radius(kappa_, margin);
        SequentialQuadratic solver(nearest, constraints.count(), options);
        if (!solver.solve(constraints, from).found) break;
        from = solver.point();
        Vector raw = feasible.decode(from);
        if (pinned.has_grid()) {
          Guide guide(constraints, function_->parts(), pinned, weights_, options);
          const std::optional<Vector> rounded = round_to_grid(*problem_, guide, pinned, box, from);
          if (!rounded) break;
          raw = *rounded;
        }
        if (offer(raw)) break;
      }
    }
  };
  (void)offer(row);
  search_around(row);
  if (!accepted) return false;
  const Vector known = problem_->model->encoder.raw(*offered.counterfactual);
  const Vector nearer = retreat(known, feasible);
  if (nearer == known) return true;
  if (offer(nearer)) search_around(nearer);
  return true;
}

Vector LocalPolish::retreat(Vector row, const FeasibleSet& feasible) {
  const auto cost = [&](const Vector& one) {
    return cost_of(problem_->cost, problem_->model->encoder, feasible.query(), encode(one));
  };
  double paid = cost(row);
  bool gains = true;
  for (int sweep = 0; sweep < most_retreats && gains; ++sweep) {
    gains = false;
    for (Index j = 0; j < row.size(); ++j) {
      const FeatureRange& range = feasible.ranges()[static_cast<std::size_t>(j)];
      if (row(j) == range.query) continue;
      std::vector<double> values = {range.query};
      if (const auto next = range.beyond(row(j), row(j) < range.query ? 1 : -1)) {
        if (range.has_grid()) values.push_back(*next);
      }
      for (const double value : values) {
        Vector trial = row;
        trial(j) = value;
        const double less = cost(trial);
        if (!(less < paid) || !feasible.violations(trial).empty()) continue;
        const double robust = function_->robust_logit(kappa_, encode(trial));
        if (robust <
            problem_->threshold + local_margins.front() * (1 + std::abs(problem_->threshold)))
          continue;
        row = std::move(trial);
        paid = less;
        gains = true;
        break;
      }
    }
  }
  return row;
}

void LocalPolish::reduce(Answer& result, const std::vector<Vector>& rows,
                         const FeasibleSet& feasible) {
  const double smallest = assembler_->question()->front().set->smallest_epsilon();
  for (const Vector& row : rows) {
    if (!feasible.violations(row).empty()) continue;
    const double radius = function_->radius(encode(row), problem_->threshold);
    const double epsilon = std::min((1 - 1e-6) * radius, problem_->epsilon);
    const double known = result.attained_epsilon.value_or(0);
    if (!(epsilon > std::max(known, smallest))) continue;
    if (!assembler_->accept_reduced(result, row, feasible, epsilon)) continue;
    result.message =
        fmt::format("no answer was found for epsilon = {:.6g}; this one is certified for {:.6g}",
                    problem_->epsilon, epsilon);
  }
}

}  // namespace ellice

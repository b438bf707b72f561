#include "ellice/recourse/true_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/recourse/rounding.hpp"
#include "ellice/solver/sequential_quadratic.hpp"
#include "robust_constraints.hpp"
#include "true_function.hpp"

namespace ellice {

namespace {

// Radii of the ellipsoid's searches as multiples of √(2ε): what the true set's extent along one
// direction is of the ellipsoid's, on data that were looked at.
constexpr std::array<double, 8> factors = {0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.4};
constexpr std::size_t plain_level = 3;
constexpr int most_searches = 3;
// How often all features of a row are looked at for a change that can be taken back.
constexpr int most_retreats = 8;
// A little more than a certificate asks for; more where writing and reading loses it.
constexpr std::array<double, 3> margins = {1e-9, 1e-7, 1e-5};

const Problem& validated(const Problem& problem) {
  require(problem.set.kind == SetKind::true_set, "this search is for the true set, not for {}",
          enum_name(problem.set.kind));
  validate(problem);
  return problem;
}

/// The same request to the ellipsoid, at a multiple of its radius.
Problem ellipsoid_problem(const Problem& problem, double factor) {
  Problem result = problem;
  result.set = {.contest = problem.set.contest};
  result.epsilon *= factor * factor;
  return result;
}

/// Rounds with local re-solves over the true set.
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

struct TrueNetwork::Level {
  Level(const Problem& given, double factor, const NetworkSearchOptions& options,
        const Execution& execution)
      : problem(ellipsoid_problem(given, factor)),
        search(problem, &training_rows(given.set, *given.model), options, execution) {}

  Problem problem;  // of the ellipsoid
  NetworkSearch search;
};

TrueNetwork::TrueNetwork(const Problem& problem, const NetworkSearchOptions& options,
                         const Execution& execution)
    : problem_(&validated(problem)),
      options_(options),
      assembler_(problem),
      weights_(column_weights(problem.model->encoder)) {
  const Model& model = *problem.model;
  const StoredRows& rows = training_rows(problem.set, model);
  if (problem.set.contest) {
    classes_ = true_softmax(model, rows, problem.epsilon);
  } else {
    set_ = true_set(model, rows, problem.epsilon);
  }
  for (const double factor : factors) {
    levels_.push_back(std::make_unique<Level>(problem, factor, options, execution));
  }
}

TrueNetwork::~TrueNetwork() = default;

std::vector<Recourse> TrueNetwork::generate(const std::vector<Query>& queries,
                                            const Execution& execution) const {
  std::vector<Recourse> answers(queries.size());
  parallel_for("explaining", queries.size(), execution,
               [&](std::size_t i) { answers[i] = answer(queries[i]); });
  return answers;
}

Vector TrueNetwork::encode(const Vector& row) const {
  const Encoder& encoder = problem_->model->encoder;
  Vector z(encoder.columns());
  encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
  return z;
}

std::unique_ptr<TrueFunction> TrueNetwork::make_function() const {
  const Network& network = problem_->model->network;
  if (classes_) return std::make_unique<TrueMargins>(network, *classes_, *problem_->set.contest);
  return std::make_unique<TrueLogit>(network, *set_);
}

Recourse TrueNetwork::answer(const Query& query) const {
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw, problem_->display_steps);
  Recourse result = assembler_.begin(query, feasible);
  if (assembler_.already_robust(result, feasible)) return result;
  const std::unique_ptr<TrueFunction> owned = make_function();
  TrueFunction& function = *owned;
  const std::vector<Vector> rows = candidates(query, function, result);
  std::optional<Recourse> best;
  for (const Vector& row : rows) {
    Recourse offered = result;
    if (!polish(offered, row, feasible, function)) continue;
    if (!best || offered.distance.weighted < best->distance.weighted) best = std::move(offered);
  }
  if (best) return *best;
  reduce(result, rows, feasible, function);
  if (is_certified(result.status)) return result;
  result.status = Status::not_found;
  result.message = fmt::format(
      "{}; the search is local and proves nothing",
      rows.empty() ? "no allowed point was found that even the model itself accepts"
                   : "points that the model accepts were found, but none that the true set does");
  return result;
}

std::vector<Vector> TrueNetwork::candidates(const Query& query, TrueFunction& function,
                                            Recourse& blank) const {
  std::vector<Vector> rows;
  std::array<bool, factors.size()> visited = {};
  std::size_t level = plain_level;
  for (int k = 0; k < most_searches; ++k) {
    // Where the radius is right already, a smaller one may lead to a nearer row, which is then
    // brought to the border of the true set.
    if (visited[level]) level = level > 0 ? level - 1 : 0;
    if (visited[level]) break;
    visited[level] = true;
    const Recourse found = levels_[level]->search.generate({query}, {.threads = 1}).front();
    blank.held = found.held;
    std::size_t next = level > 0 ? level - 1 : 0;  // where nothing is found, ask for less
    if (found.counterfactual) {
      Vector row = problem_->model->encoder.raw(*found.counterfactual);
      const double extent = function.extent(encode(row));
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
      if (found.status != Status::reduced) {
        const auto nearest = std::min_element(
            factors.begin(), factors.end(),
            [&](double a, double b) { return std::abs(a - extent) < std::abs(b - extent); });
        next = static_cast<std::size_t>(nearest - factors.begin());
      }
    }
    level = next;
  }
  return rows;
}

bool TrueNetwork::polish(Recourse& offered, const Vector& row, const FeasibleSet& feasible,
                         TrueFunction& function) const {
  RobustConstraints constraints(function, problem_->threshold, feasible.rules());
  const SequentialQuadraticOptions options{.max_iterations = options_.max_iterations};
  const Recourse blank = offered;
  bool accepted = false;
  const auto offer = [&](const Vector& raw) {
    Recourse candidate = blank;
    if (!assembler_.accept(candidate, raw, feasible, function.start_at(encode(raw)))) return false;
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
      for (const double margin : margins) {
        constraints.set_radius(function.kappa(), margin);
        SequentialQuadratic solver(nearest, constraints.count(), options);
        if (!solver.solve(constraints, from).found) break;
        from = solver.point();
        Vector raw = feasible.decode(from);
        if (pinned.has_grid()) {
          Guide guide(constraints, function.members(), pinned, weights_, options);
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
  const Vector nearer = retreat(known, feasible, function);
  if (nearer == known) return true;
  if (offer(nearer)) search_around(nearer);
  return true;
}

Vector TrueNetwork::retreat(Vector row, const FeasibleSet& feasible, TrueFunction& function) const {
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
        const double robust = function.robust_logit(function.kappa(), encode(trial));
        if (robust < problem_->threshold + margins.front() * (1 + std::abs(problem_->threshold)))
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

void TrueNetwork::reduce(Recourse& result, const std::vector<Vector>& rows,
                         const FeasibleSet& feasible, TrueFunction& function) const {
  for (const Vector& row : rows) {
    if (!feasible.violations(row).empty()) continue;
    const double radius = function.robustness_radius(encode(row), problem_->threshold);
    const double epsilon = std::min((1 - 1e-6) * radius, problem_->epsilon);
    const double known = result.attained_epsilon.value_or(0);
    if (!(epsilon > std::max(known, function.smallest_epsilon()))) continue;
    if (!assembler_.accept_reduced(result, row, feasible, epsilon)) continue;
    result.message =
        fmt::format("no answer was found for epsilon = {:.6g}; this one is certified for {:.6g}",
                    problem_->epsilon, epsilon);
  }
}

}  // namespace ellice

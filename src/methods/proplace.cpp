#include "methods/proplace.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/error.hpp"
#include "methods/cutting_set.hpp"
#include "methods/delta_rows.hpp"
#include "methods/hull_program.hpp"
#include "model/network_pass.hpp"
#include "search/allowed_row.hpp"
#include "search/comparison.hpp"

namespace ellice {

namespace {

constexpr double first_margin = 1e-4;
constexpr int most_raises = 3;

/// What the solver moved by rounding only did not move.
Vector without_rounding(const Vector& point, const Vector& query) {
  return ((point - query).array().abs() <= 1e-9 * (1 + query.array().abs())).select(query, point);
}

Vector logit_slope(const Network& network, const Vector& x) {
  NetworkPass pass(network);
  (void)pass.forward(x);
  pass.backward();
  Vector slope(x.size());
  pass.input_gradient(slope);
  return slope;
}

std::string why_unsolved(MixedIntegerStatus status, double seconds) {
  switch (status) {
    case MixedIntegerStatus::infeasible:
      return "no robust point in the hull of the nearest robust rows meets the ranges and fixed "
             "features";
    case MixedIntegerStatus::time_limit:
      return fmt::format("CBC was not done after {} s (`query_seconds`)", seconds);
    case MixedIntegerStatus::optimal:
    case MixedIntegerStatus::failed:
      break;
  }
  return "CBC met numerical difficulties";
}

}  // namespace

std::string why_not_proplace() {
  if (has_mixed_integer()) return {};
  return "`method: proplace` needs CBC, without which this program was built: install "
         "coinor-libcbc-dev (scripts/setup does) and build again";
}

Proplace::Proplace(const Problem& problem, RowMatrixArg rows, const ProplaceOptions& options,
                   const Execution& execution)
    : Proplace(
          problem, rows,
          largest_deltas(problem, problem.model->encoder.encode(rows), options.variant, execution),
          options) {}

Proplace::Proplace(const Problem& problem, RowMatrixArg rows, const Vector& largest,
                   const ProplaceOptions& options)
    : problem_(&problem),
      options_(options),
      assembler_(problem),
      check_(problem.model->network, problem.threshold),
      network_(problem.model->network),
      all_(rows.rows()) {
  validate(problem);
  validate(options, "ProplaceOptions");
  const std::string reason = why_not_proplace();
  require(reason.empty(), "{}", reason);
  require(largest.size() == rows.rows(), "{} deltas for {} rows", largest.size(), rows.rows());
  network_.layers.back().bias[0] -= problem.threshold;
  std::vector<Index> robust;
  for (Index i = 0; i < rows.rows(); ++i)
    if (largest[i] > options.delta) robust.push_back(i);
  robust_ = static_cast<Index>(robust.size());
  if (all_ > 0) widest_ = largest.maxCoeff();
  if (robust.empty()) return;
  const Encoder& encoder = problem.model->encoder;
  const RowMatrix chosen = rows(robust, Eigen::all);
  search_.emplace(encoder.encode(chosen), weighted_squares(Vector::Ones(encoder.columns())));
}

Proplace::~Proplace() = default;

RowMatrix Proplace::corners(VectorArg query) const {
  if (!search_) return RowMatrix(0, query.size());
  const std::vector<Neighbour> nearest = search_->find_one(query, options_.hull_rows);
  RowMatrix result(static_cast<Index>(nearest.size()), query.size());
  for (std::size_t i = 0; i < nearest.size(); ++i)
    result.row(static_cast<Index>(i)) = search_->rows().row(nearest[i].row);
  return result;
}

std::vector<Answer> Proplace::generate(const std::vector<Query>& queries,
                                       const Execution& execution) const {
  const SpaceMethod method{
      .progress = "solving programs",
      .published = [&](std::size_t /*index*/,
                       const FeasibleSet& feasible) { return run_published(feasible); },
      .is_enough = [&](const Vector& x) { return check_.is_robust(x, options_.delta); },
      .corrected = [&](Answer& answer,
                       const FeasibleSet& feasible) { run_corrected(answer, feasible); }};
  return answer_in_space(*problem_, assembler_, options_.variant, method, queries, execution);
}

bool Proplace::has_query_corner() const {
  return options_.hull_query == QueryInHull::automatic ? options_.variant == Variant::corrected
                                                       : options_.hull_query == QueryInHull::yes;
}

RowMatrix Proplace::region(const FeasibleSet& feasible) const {
  RowMatrix result = corners(feasible.query());
  if (has_query_corner() && result.rows() > 0) {
    result.conservativeResize(result.rows() + 1, Eigen::NoChange);
    result.bottomRows(1) = feasible.query().transpose();
  }
  return result;
}

std::optional<WorstInBox> Proplace::published_adversary(const Vector& point) const {
  if (network_.layers.size() > 1) return check_.worst(point, options_.delta);
  // Linear: infeasible where 1 + Σx is negative, otherwise the wrong sign for x < 0.
  if (1 + point.sum() < 0) return std::nullopt;
  WorstInBox worst{.network = network_};
  worst.network.layers.front().weights.array() -= options_.delta;
  worst.network.layers.front().bias.array() -= options_.delta;
  worst.logit = worst.network.logit(point);
  return worst;
}

Proplace::Attempt Proplace::cutting_set(const RowMatrix& hull, const FeasibleSet& feasible,
                                        double margin) const {
  const CuttingSet::Result result =
      CuttingSet(hull, feasible.query(), feasible.relaxed(), network_, options_.delta, margin)
          .solve(options_.query_seconds);
  if (result.status == MixedIntegerStatus::optimal) return {.point = result.point};
  const std::string why = why_unsolved(result.status, options_.query_seconds);
  return result.point ? Attempt{.point = result.point, .doubt = why} : Attempt{.failure = why};
}

std::optional<Vector> Proplace::run_published(const FeasibleSet& feasible) const {
  const ThreadStopwatch watch;  // waiting for others is not this query's time
  const RowMatrix hull = region(feasible);
  if (hull.rows() < options_.hull_rows) return std::nullopt;
  HullProgram program(hull, feasible.query(), nullptr);
  program.require_accepted(network_, first_margin);
  while (watch.seconds() <= options_.query_seconds) {
    check_stop();
    const HullProgram::Solution solution = program.solve(options_.query_seconds);
    if (solution.status != MixedIntegerStatus::optimal) break;
    const std::optional<WorstInBox> worst = published_adversary(solution.point);
    if (!worst) break;
    if (worst->logit >= 0) return solution.point;
    program.require_accepted(worst->network, first_margin);
  }
  return std::nullopt;
}

void Proplace::run_corrected(Answer& answer, const FeasibleSet& feasible) const {
  answer.status = Status::not_found;
  const RowMatrix hull = region(feasible);
  if (hull.rows() == 0) {
    answer.message = fmt::format(
        "none of the {} training rows is robust at delta = {}; the largest delta of any is {:.6g}",
        all_, options_.delta, widest_);
    return;
  }
  const Encoder& encoder = feasible.encoder();
  double margin = first_margin;
  for (int raise = 0; raise <= most_raises; ++raise, margin *= 10) {
    const Attempt attempt = network_.layers.size() <= 2 ? one_program(hull, feasible, margin)
                                                        : cutting_set(hull, feasible, margin);
    if (!attempt.point) {
      if (raise == 0) answer.message = attempt.failure;
      return;
    }
    const Vector point = without_rounding(*attempt.point, feasible.query());
    const Vector row = allowed_row(feasible, logit_slope(network_, point), point);
    Vector z(point.size());
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
    if (check_.is_robust(z, options_.delta)) {
      assembler_.take(answer, row, feasible);
      if (!attempt.doubt.empty()) {
        answer.message += fmt::format("{}a nearer robust point may exist: {}",
                                      answer.message.empty() ? "" : "; ", attempt.doubt);
      }
      return;
    }
    answer.message =
        "the nearest robust point is not robust once its features take values that they can have";
  }
}

Proplace::Attempt Proplace::one_program(const RowMatrix& hull, const FeasibleSet& feasible,
                                        double margin) const {
  HullProgram program(hull, feasible.query(), &feasible.relaxed());
  program.require_robust(network_, options_.delta, margin);
  const HullProgram::Solution solution = program.solve(options_.query_seconds);
  if (solution.status != MixedIntegerStatus::optimal)
    return {.failure = why_unsolved(solution.status, options_.query_seconds)};
  return {.point = solution.point};
}

}  // namespace ellice

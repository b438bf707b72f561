#include "radius/epsilon_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/progress.hpp"
#include "ellice/core/error.hpp"
#include "radius/selection_effect.hpp"

namespace ellice {

namespace {

// Parts of each search for whole numbers and levels: shares and medians need no proved optimum.
constexpr int table_nodes = 300;

/// The columns that some person may move under the constraints of the run.
std::vector<bool> movable_columns(const Problem& problem) {
  const Encoder& encoder = problem.model->encoder;
  std::vector<bool> movable;
  for (Index column = 0; column < encoder.columns(); ++column) {
    const Feature& feature = encoder.schema().features[encoder.feature_of(column)];
    const auto found = problem.constraints.features.find(feature.name);
    const bool locked = found != problem.constraints.features.end() && found->second.locked;
    movable.push_back(!feature.immutable && !locked);
  }
  return movable;
}

void explain_people(Problem problem, const std::vector<Query>& queries, const StoredRows& rows,
                    const Execution& execution, EpsilonLevel& level) {
  problem.epsilon = level.epsilon;
  std::vector<double> distances;
  std::vector<Answer> answers =
      sketching_generator(problem, table_nodes, &rows, execution)->generate(queries, execution);
  state_fresh_survival(problem, queries, answers, disturbed_generator, execution, ShiftFor::mean);
  const MeanSurvival survival = mean_survival(answers);
  if (survival.answered > 0) {
    level.survival = survival.mean;
    level.interval = survival.interval;
  }
  for (const Answer& answer : answers) {
    if (is_certified(answer.status) && answer.status != Status::reduced)
      distances.push_back(answer.distance.l2);
  }
  level.share_with_recourse =
      static_cast<double>(distances.size()) / static_cast<double>(queries.size());
  if (distances.empty()) return;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  level.median_distance = *middle;
}

}  // namespace

std::optional<double> reachable_epsilon(const Problem& problem) {
  const Model& model = *problem.model;
  const bool is_linear = model.network.is_linear() && model.network.has_one_output();
  if (!is_linear || problem.set.kind != SetKind::last_layer || problem.set.damping) return {};
  return epsilon_limit(model.network.head(), model.curvature.hessian, movable_columns(problem));
}

std::optional<bool> declines_everybody(const Problem& problem) {
  const std::vector<bool> movable = movable_columns(problem);
  if (!std::all_of(movable.begin(), movable.end(), [](bool moves) { return moves; })) return {};
  // Theorem 2 with the bias alone fixed, r = 1: the largest robust score of anybody.
  const Vector head = problem.model->network.head();
  const Matrix& hessian = problem.model->curvature.hessian;
  const Index bias = head.size() - 1;
  const double curvature = hessian(bias, bias);
  const double center = head(bias) + hessian.row(bias).head(bias).dot(head.head(bias)) / curvature;
  const double beyond = problem.epsilon - epsilon_limit(head, hessian, movable);
  return center - std::sqrt(2 * std::max(0.0, beyond) / curvature) < problem.threshold;
}

EpsilonTable epsilon_table(const Problem& problem, const std::optional<FittedRows>& fitted,
                           const std::vector<double>& epsilons, int people,
                           const Execution& execution) {
  validate(problem);
  const Model& model = *problem.model;
  require(problem.set.kind == SetKind::last_layer && !problem.set.damping,
          "what an epsilon means is tabulated for the set last-layer with the objective's own l2, "
          "not for {}; for other sets `ellice calibrate` measures it",
          problem.set.damping ? "another damping" : enum_name(problem.set.kind));
  const bool linear = model.network.is_linear();
  EpsilonTable table{.epsilon_max = reachable_epsilon(problem)};
  std::vector<Query> queries;
  std::optional<BoundaryModels> boundary;
  if (fitted) {
    boundary.emplace(model, *fitted->rows, model.decision.threshold);
    queries = declined_rows(problem, *fitted->raw, people);
    table.people = queries.size();
  }
  const Execution inner{.threads = execution.threads};
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    report_progress(execution.progress, {"measuring", i, epsilons.size()});
    EpsilonLevel level{.epsilon = epsilons[i], .objective = model.training.objective + epsilons[i]};
    if (linear && queries.empty() && !problem.retraining.fresh_rows)
      level.survival = predicted_survival(model, epsilons[i], problem.retraining);
    if (boundary) level.accuracy = boundary->accuracy(epsilons[i], inner);
    if (!queries.empty()) explain_people(problem, queries, *fitted->rows, inner, level);
    table.levels.push_back(level);
  }
  report_progress(execution.progress, {"measuring", epsilons.size(), epsilons.size()});
  return table;
}

}  // namespace ellice

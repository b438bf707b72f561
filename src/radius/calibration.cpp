#include "radius/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "core/binomial.hpp"
#include "core/number_text.hpp"
#include "core/progress.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "methods/automatic.hpp"

namespace ellice {

namespace {

// Streams of the seed, one per kind of stress model.
constexpr std::uint64_t retrain_stream = 300;
constexpr std::uint64_t noise_stream = 301;
constexpr std::uint64_t redrawn_stream = 302;

/// The largest radius worth trying: this factor on the radius that all but 3 % of the accepted rows
/// reach at most.
constexpr double reach_factor = 1.7;
constexpr double reach_quantile = 0.97;
/// The grid is finer at small radii, where answers change most.
constexpr double grid_power = 1.3;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// κ at which accepted rows stop being robust: f/s.
double largest_radius(const Problem& problem, const UncertaintySet& set, const RowMatrix& rows) {
  const std::unique_ptr<RobustFunction> function = set.function();
  std::vector<double> radii;
  for (Index i = 0; i < rows.rows(); ++i) {
    double radius = std::numeric_limits<double>::infinity();
    for (Index member = 0; member < function->parts(); ++member) {
      const RobustScore score = function->value(member, rows.row(i).transpose());
      radius = std::min(radius, (score.logit - problem.threshold) / score.spread);
    }
    if (radius > 0 && std::isfinite(radius)) radii.push_back(radius);
  }
  require_input(!radii.empty(),
                "calibrate: the model accepts none of the {} rows, so that there is nothing to "
                "measure a radius by; check threshold and data",
                rows.rows());
  const auto at = radii.begin() + static_cast<std::ptrdiff_t>(
                                      reach_quantile * static_cast<double>(radii.size() - 1));
  std::nth_element(radii.begin(), at, radii.end());
  return reach_factor * *at;
}

std::vector<Query> declined(const Problem& problem, const RowMatrix& people, int most) {
  std::vector<Query> queries;
  const Vector logits = problem.model->network.logits(problem.model->encoder.encode(people));
  for (Index i = 0; i < logits.size() && std::cmp_less(queries.size(), most); ++i) {
    if (logits(i) >= problem.threshold) continue;
    queries.push_back({.index = queries.size(), .raw = people.row(i).transpose()});
  }
  require_input(!queries.empty(), "calibrate: the model declines none of the {} people",
                people.rows());
  return queries;
}

StressSource source_of(const Problem& problem, const CalibrationData& data) {
  const Model& model = *problem.model;
  return {.base = &model.network,
          .train = labelled(*data.fitted),
          .validation = data.validation != nullptr ? labelled(*data.validation) : LabelledRows{},
          .loss = model.training.loss_kind,
          .penalty = penalty_of(model.training),
          .network = model.training.network.value_or(NetworkOptions{}),
          .threshold = problem.threshold};
}

std::vector<StressSet> make_stress(const Problem& problem, const CalibrationData& data,
                                   const CalibrationOptions& options, const Random& random,
                                   const Execution& execution) {
  const Model& model = *problem.model;
  require(options.threat != Threat::retrain || model.network.layers.size() > 1,
          "a model without hidden layers has one optimum, so that retraining it says nothing about "
          "a radius; use `threat: dropout`, awp or all");
  const StressSource source = source_of(problem, data);
  const double bound = (1 + options.target) * base_objective(source);
  const auto wanted = [&](Threat threat) {
    return options.threat == Threat::all || options.threat == threat;
  };
  std::vector<StressSet> sets;
  if (wanted(Threat::retrain)) {
    sets.push_back(retrain_set(source, bound, {.count = options.retrain},
                               random.split(retrain_stream), execution));
  }
  if (wanted(Threat::dropout)) {
    sets.push_back(noise_set(source, bound, {.count = options.dropout}, random.split(noise_stream),
                             execution));
  }
  if (wanted(Threat::awp)) {
    sets.push_back(adversarial_set(source, bound, {.count = options.awp}, execution));
  }
  std::erase_if(sets, [](const StressSet& set) { return set.models.empty(); });
  require_input(!sets.empty(),
                "calibrate: no stress model stays within {:g} of the base model's objective; use a "
                "larger `target`",
                options.target);
  return sets;
}

/// mean − k·deviation of each row's logits over the models reaches the threshold.
bool deviations_hold(const Matrix& logits, double deviations, double threshold) {
  if (logits.cols() < 2) return true;
  const Vector mean = logits.rowwise().mean();
  const Vector variance =
      (logits.colwise() - mean).rowwise().squaredNorm() / static_cast<double>(logits.cols() - 1);
  return ((mean - deviations * variance.cwiseSqrt()).array() >= threshold).all();
}

struct Measured {
  CalibrationLevel level = {};
  RowMatrix points = {};           // the answers, model space
  std::vector<bool> reached = {};  // by query
};

/// Explains everybody at one ε and holds the stress models against the answers.
Measured measure(Problem problem, double epsilon, const std::vector<Query>& queries,
                 const CalibrationData& data, const std::vector<StressSet>& stress,
                 const CalibrationOptions& options, const Execution& execution) {
  problem.epsilon = epsilon;
  const std::unique_ptr<Generator> generator = automatic_generator(problem, data.fitted, execution);
  const std::vector<Answer> answers = generator->generate(queries, execution);
  Measured result{.level = {.epsilon = epsilon}};
  CalibrationLevel& level = result.level;
  std::vector<double> distances;
  std::vector<Vector> points;
  for (const Answer& answer : answers) {
    result.reached.push_back(is_certified(answer.status));
    if (!result.reached.back()) continue;
    if (answer.status != Status::reduced) ++level.answered;
    distances.push_back(answer.distance.l2);
    points.push_back(problem.model->encoder.encode(*answer.counterfactual));
  }
  level.median_distance = median(distances);
  RowMatrix rows(static_cast<Index>(points.size()), problem.model->encoder.columns());
  for (std::size_t i = 0; i < points.size(); ++i) rows.row(static_cast<Index>(i)) = points[i];
  std::vector<bool> survived(points.size(), true);
  for (const StressSet& set : stress) {
    const Matrix scores = stress_logits(set, rows, execution);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool all = (scores.row(static_cast<Index>(i)).array() >= problem.threshold).all();
      accepted += all ? 1 : 0;
      survived[i] = survived[i] && all;
    }
    level.accepted[set.kind] = accepted;
    if (set.kind == StressKind::retrain) {
      level.deviations_hold = deviations_hold(scores, options.deviations, problem.threshold);
    }
  }
  level.survived = static_cast<std::size_t>(std::count(survived.begin(), survived.end(), true));
  result.points = std::move(rows);
  return result;
}

/// What networks of other rows say about answers.
RetrainedShare retrained_share(const Problem& problem, const CalibrationData& data,
                               const RowMatrix& points, int count, const Random& random,
                               const Execution& execution) {
  const StressSet set = bootstrap_set(source_of(problem, data), {.count = count},
                                      random.split(redrawn_stream), execution);
  const Matrix logits = stress_logits(set, points, execution);
  const Vector shares =
      (logits.array() >= problem.threshold).cast<double>().colwise().mean().transpose();
  const auto models = static_cast<double>(shares.size());
  const double mean = shares.mean();
  const double squares = (shares.array() - mean).square().sum();
  return {.models = static_cast<std::size_t>(shares.size()),
          .mean = mean,
          .standard_error = models > 1 ? std::sqrt(squares / (models - 1) / models) : 0};
}

}  // namespace

Calibration calibrate(const Problem& problem, const CalibrationData& data,
                      const CalibrationOptions& options, const Random& random,
                      const Execution& execution) {
  validate(problem);
  validate(options, "CalibrationOptions");
  const std::unique_ptr<UncertaintySet> set = make_set(*problem.model, problem.set);
  const double largest = largest_radius(problem, *set, data.fitted->encoded);
  std::vector<Query> queries = declined(problem, data.people, options.people);
  Calibration result;
  result.stress = make_stress(problem, data, options, random, execution);

  const Execution inner{.threads = execution.threads};
  const auto levels = static_cast<std::size_t>(options.levels);
  const auto at = [&](double epsilon) {
    return measure(problem, epsilon, queries, data, result.stress, options, inner);
  };
  for (std::size_t i = 0; i < levels; ++i) {
    check_stop();
    report_progress(execution.progress, {"calibrating", i, levels});
    const double kappa =
        largest * std::pow(static_cast<double>(i) / static_cast<double>(levels - 1), grid_power);
    Measured measured = at(kappa * kappa / 2);
    if (i == 0) {  // whom nothing helps says nothing about radii
      const std::size_t before = queries.size();
      std::erase_if(queries, [&](const Query& query) { return !measured.reached[query.index]; });
      result.people = queries.size();
      result.unreachable = before - queries.size();
      require_input(!queries.empty(),
                    "calibrate: none of the {} people has an answer at epsilon = 0", before);
    }
    result.levels.push_back(measured.level);
    const auto needed = static_cast<std::size_t>(
        std::ceil(options.share * static_cast<double>(queries.size()) - 1e-9));
    const auto survives = [&](const CalibrationLevel& level) {
      return level.survived >= needed && level.deviations_hold;
    };
    if (!survives(measured.level)) continue;
    // The factor is on κ = √(2ε). Answers for it are others and can fail where these did not.
    // Larger radii ask for longer moves and are not needed.
    Measured widened = at(options.safety * options.safety * measured.level.epsilon);
    if (!survives(widened.level)) continue;
    result.recommended = std::move(widened.level);
    const bool can_retrain =
        problem.model->network.layers.size() > 1 && problem.model->training.network;
    if (can_retrain && options.redrawn > 0 && widened.points.rows() > 0) {
      result.retrained =
          retrained_share(problem, data, widened.points, options.redrawn, random, execution);
    }
    result.lower_bound =
        clopper_pearson_lower(result.recommended->survived, queries.size(), options.confidence);
    break;
  }
  report_progress(execution.progress, {"calibrating", levels, levels});
  return result;
}

Json recommendation(const Calibration& calibration, const Problem& problem,
                    const CalibrationOptions& options) {
  Json stress = Json::object();
  for (const StressSet& set : calibration.stress) {
    stress[std::string(enum_name(set.kind))] = set.models.size();
  }
  require(calibration.recommended.has_value(), "there is nothing to recommend");
  Json result = {{"epsilon", calibration.recommended->epsilon},
                 {"rule", fmt::format("smallest radius that survives the stress models, times {}",
                                      number_text(options.safety))},
                 {"target", options.target},
                 {"stress", stress},
                 {"people", calibration.people},
                 {"survived", calibration.recommended->survived},
                 {"survival_at_least", calibration.lower_bound},
                 {"confidence", options.confidence},
                 {"threshold", problem.threshold}};
  if (calibration.retrained) {
    result["retrained"] = {{"models", calibration.retrained->models},
                           {"survival", calibration.retrained->mean},
                           {"standard_error", calibration.retrained->standard_error}};
  }
  if (problem.set.kind == SetKind::full) {
    result["damping"] = problem.set.damping.value_or(problem.model->curvature.full->damping);
  } else if (problem.set.damping) {
    result["damping"] = *problem.set.damping;
  }
  return result;
}

}  // namespace ellice

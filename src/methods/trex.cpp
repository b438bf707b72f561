#include "methods/trex.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/random.hpp"
#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/loss.hpp"
#include "methods/stability.hpp"
#include "model/network_pass.hpp"
#include "search/allowed_row.hpp"
#include "search/comparison.hpp"
#include "search/supported_rows.hpp"
#include "solver/adam.hpp"

namespace ellice {

namespace {

constexpr Index published_draws = 200;
constexpr Index published_rows = 100;
constexpr Index corrected_draws = 1000;
constexpr int start_steps = 100;
constexpr double start_rate = 0.1;
constexpr double start_probability = 0.501;
constexpr double start_seconds = 30;
constexpr int ascent_steps = 200;
constexpr double ascent_rate = 0.01;

Random stream_of(const TrexOptions& options) {
  const Random random(options.seed);
  // The published runs drew new noise for every τ.
  return options.variant == Variant::corrected
             ? random
             : random.split(std::bit_cast<std::uint64_t>(options.tau));
}

Stability corrected_stability(const Problem& problem, const TrexOptions& options) {
  const Network& network = problem.model->network;
  if (network.is_linear()) return {network, problem.threshold};
  return {network, problem.threshold,
          stability_noise(corrected_draws, network.inputs(), true, stream_of(options))};
}

bool is_accepted(const Problem& problem, const Vector& x) {
  return problem.model->network.logit(x) >= problem.threshold;
}

Vector encoded_row(const FeasibleSet& feasible, const Vector& raw) {
  Vector z(feasible.encoder().columns());
  feasible.encoder().encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
  return z;
}

/// Gradient steps from the query to the model's yes; `box` holds what may not move.
class WayToYes {
 public:
  WayToYes(const Problem& problem, const Box& box)
      : pass_(problem.model->network),
        head_(problem.model->network.head().head(pass_.features().size())),
        threshold_(problem.threshold),
        free_(box.lower.array() < box.upper.array()) {}

  /// m at x, and the gradient of −ln m in what may move.
  double loss_gradient(const Vector& x, Vector& gradient) {
    const double m = sigmoid(pass_.forward(x) - threshold_);
    pass_.feature_gradient(head_, gradient);
    gradient = free_.select(-(1 - m) * gradient, 0);
    return m;
  }

 private:
  NetworkPass pass_;
  Vector head_;
  double threshold_;
  Eigen::Array<bool, Eigen::Dynamic, 1> free_;
};

}  // namespace

/// A way up the stability inside one box.
struct TrexContinuous::Climb {
  Vector origin = {};  // the query, brought into the box
  Vector start = {};   // where the model says yes
  Vector end = {};
  Vector slope = {};  // of the logit there
  double value = 0;   // the stability there
};

TrexContinuous::Climb TrexContinuous::climb(const Box& box, const Vector& query) const {
  Climb way{.origin = query.cwiseMax(box.lower).cwiseMin(box.upper)};
  WayToYes yes(*problem_, box);
  Vector gradient(query.size());
  Adam adam(query.size());
  way.start = way.origin;
  for (int step = 0; step < start_steps; ++step) {
    check_stop();
    if (yes.loss_gradient(way.start, gradient) >= start_probability) break;
    adam.step(gradient, start_rate, box.lower, box.upper, way.start);
  }
  // Along the gradient: the step doubles while it pays and is halved until it does.
  way.end = way.start;
  way.value = stability_->gradient(way.end, gradient);
  double length = 1;
  for (int step = 0; step < ascent_steps && way.value < options_.tau; ++step) {
    check_stop();
    const double norm = gradient.norm();
    bool climbed = false;
    while (norm > 0 && length > 1e-10 && !climbed) {
      const Vector next =
          (way.end + length / norm * gradient).cwiseMax(box.lower).cwiseMin(box.upper);
      const double gain = stability_->value(next) - way.value;
      climbed = gain > 0 && gain >= 1e-4 * gradient.dot(next - way.end);
      length *= climbed ? 2 : 0.5;
      if (climbed) way.end = next;
    }
    if (!climbed) break;
    way.value = stability_->gradient(way.end, gradient);
  }
  (void)yes.loss_gradient(way.end, gradient);
  way.slope = -gradient;
  return way;
}

Vector stabilities(const Problem& problem, RowMatrixArg encoded, const TrexOptions& options,
                   const Execution& execution) {
  validate(options, "TrexOptions");
  const Network& network = problem.model->network;
  Vector result(encoded.rows());
  const auto for_rows = [&](const auto& value_of) {
    parallel_for("stability of rows", static_cast<std::size_t>(encoded.rows()), execution,
                 [&](std::size_t i) {
                   result[static_cast<Index>(i)] =
                       value_of(i, encoded.row(static_cast<Index>(i)).transpose());
                 });
  };
  if (options.variant == Variant::corrected) {
    const Stability stability = corrected_stability(problem, options);
    for_rows([&](std::size_t /*row*/, const Vector& x) { return stability.value(x); });
    return result;
  }
  const Random random = stream_of(options);
  for_rows([&](std::size_t row, const Vector& x) {
    return Stability(network, problem.threshold,
                     stability_noise(published_draws, network.inputs(), false, random.split(row)))
        .value(x);
  });
  return result;
}

Trex::Trex(const Problem& problem, RowMatrixArg rows, const TrexOptions& options,
           const Execution& execution)
    : Trex(problem, rows,
           stabilities(problem, problem.model->encoder.encode(rows), options, execution), options) {
}

Trex::Trex(const Problem& problem, RowMatrixArg rows, const Vector& stability,
           const TrexOptions& options)
    : problem_(&problem), options_(options) {
  validate(options, "TrexOptions");
  require(stability.size() == rows.rows(), "{} stabilities for {} rows", stability.size(),
          rows.rows());
  const Vector logits = problem.model->network.logits(problem.model->encoder.encode(rows));
  const bool corrected = options.variant == Variant::corrected;
  std::vector<Index> chosen;
  std::vector<bool> passes(static_cast<std::size_t>(rows.rows()));
  for (Index i = 0; i < rows.rows(); ++i) {
    if (logits[i] < problem.threshold) continue;
    ++accepted_;
    const bool is_stable = stability[i] > options.tau;
    passes[static_cast<std::size_t>(i)] = is_stable;
    stable_ += is_stable ? 1 : 0;
    if (is_stable || !corrected) chosen.push_back(i);
  }
  rows_ = std::make_unique<SupportedRows>(problem, rows, chosen, options.variant);
  if (corrected) {
    stability_ = std::make_unique<Stability>(corrected_stability(problem, options));
  } else {
    rows_->look_at(published_rows, std::move(passes));
  }
}

Trex::~Trex() = default;

std::vector<Answer> Trex::generate(const std::vector<Query>& queries,
                                   const Execution& execution) const {
  const auto is_enough = [&](const Vector& x) {
    return is_accepted(*problem_, x) && stability_->value(x) > options_.tau;
  };
  return rows_->answer(queries, execution, is_enough, [&] {
    return fmt::format("{} of the {} accepted training rows have a stability above tau = {}",
                       stable_ == 0 ? "none" : std::to_string(stable_), accepted_, options_.tau);
  });
}

TrexContinuous::TrexContinuous(const Problem& problem, const TrexOptions& options)
    : problem_(&problem), options_(options), assembler_(problem) {
  validate(problem);
  validate(options, "TrexOptions");
  if (options.variant == Variant::corrected)
    stability_ = std::make_unique<Stability>(corrected_stability(problem, options));
}

TrexContinuous::~TrexContinuous() = default;

std::vector<Answer> TrexContinuous::generate(const std::vector<Query>& queries,
                                             const Execution& execution) const {
  const SpaceMethod method{
      .progress = "climbing",
      .published = [&](std::size_t index,
                       const FeasibleSet& feasible) { return run_published(index, feasible); },
      .is_enough =
          [&](const Vector& x) {
            return is_accepted(*problem_, x) && stability_->value(x) >= options_.tau;
          },
      .corrected = [&](Answer& answer,
                       const FeasibleSet& feasible) { run_corrected(answer, feasible); }};
  return answer_in_space(*problem_, assembler_, options_.variant, method, queries, execution);
}

Vector TrexContinuous::run_published(std::size_t index, const FeasibleSet& feasible) const {
  const Network& network = problem_->model->network;
  const Box& box = feasible.relaxed();
  WayToYes way(*problem_, box);
  Vector x = feasible.query();
  Vector gradient(x.size());
  Adam start(x.size());
  const Stopwatch watch;
  for (int step = 0; step < start_steps && watch.seconds() < start_seconds; ++step) {
    check_stop();
    const double m = way.loss_gradient(x, gradient);
    start.step(gradient, start_rate, x);
    if (m >= start_probability) break;  // of the point before the step
  }
  const Random random = stream_of(options_).split(index);
  Adam ascent(x.size());
  for (int step = 0; step < ascent_steps; ++step) {
    check_stop();
    const Stability drawn(network, problem_->threshold,
                          stability_noise(published_draws, x.size(), false,
                                          random.split(static_cast<std::uint64_t>(step))));
    if (drawn.gradient(x, gradient) >= options_.tau) break;
    gradient = (box.lower.array() < box.upper.array()).select(-gradient, 0);
    ascent.step(gradient, ascent_rate, x);
  }
  return x;
}

void TrexContinuous::run_corrected(Answer& answer, const FeasibleSet& feasible) const {
  double highest = 0;
  const std::vector<SearchStage> stages = search_stages(feasible);
  answer.held = stages.front().held;
  for (const SearchStage& stage : stages) {
    std::optional<Answer> nearest;
    // Each piece of the feasible set by itself: steps from one to another do not exist.
    for (const Box& box : stage.boxes) {
      const Climb way = climb(box, feasible.query());
      highest = std::max(highest, way.value);
      if (way.value < options_.tau) continue;
      const std::optional<Vector> row = first_stable_row(way, feasible);
      if (!row) continue;
      Answer found = answer;
      assembler_.take(found, *row, feasible);
      if (!nearest || found.distance.l2 < nearest->distance.l2) nearest = std::move(found);
    }
    if (nearest) {
      answer = std::move(*nearest);
      answer.held = stage.held;
      return;
    }
  }
  answer.status = Status::not_found;
  answer.message = fmt::format(
      "no row with a stability of tau = {} was found; the highest on the way was {:.6g}. The "
      "search "
      "is local and proves nothing",
      options_.tau, highest);
}

std::optional<Vector> TrexContinuous::first_stable_row(const Climb& way,
                                                       const FeasibleSet& feasible) const {
  const auto is_stable = [&](const Vector& row) {
    return stability_->value(encoded_row(feasible, row)) >= options_.tau;
  };
  Vector row = allowed_row(feasible, way.slope, way.end);
  if (!is_stable(row)) return std::nullopt;
  const Vector& from = way.end == way.start ? way.origin : way.start;
  double unstable = 0;
  double stable = 1;
  while (stable - unstable > 1e-9) {
    check_stop();
    const double middle = (stable + unstable) / 2;
    const Vector candidate = allowed_row(feasible, way.slope, from + middle * (way.end - from));
    if (is_stable(candidate)) {
      stable = middle;
      row = candidate;
    } else {
      unstable = middle;
    }
  }
  return row;
}

}  // namespace ellice

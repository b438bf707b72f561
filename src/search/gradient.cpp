#include "search/gradient.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/loss.hpp"
#include "search/allowed_row.hpp"
#include "search/branch_answers.hpp"
#include "search/comparison.hpp"
#include "solver/adam.hpp"

namespace ellice {

namespace {

/// ln(1 + e^{−margin}): the logistic loss of class 1.
double class_one_loss(double margin) {
  return std::max(0.0, -margin) + std::log1p(std::exp(-std::abs(margin)));
}

/// The model with H + 2ε·jitter·I in place of H, so that H/(2ε) has the jitter on its diagonal;
/// nothing where that is the model itself.
std::unique_ptr<Model> with_jitter(const Problem& problem, double jitter) {
  if (jitter == 0 || problem.set.kind != SetKind::last_layer) return nullptr;
  auto model = std::make_unique<Model>(*problem.model);
  model->curvature.hessian.diagonal().array() += 2 * problem.epsilon * jitter;
  return model;
}

/// A point on its way down. Columns in which the box has no width stay where they are.
class Descent {
 public:
  Descent(const GradientSettings& settings, const Vector& start, const Box& box)
      : settings_(&settings),
        x_(start),
        is_free_(box.lower.array() < box.upper.array()),
        adam_(x_.size()) {}

  [[nodiscard]] const Vector& x() const { return x_; }

  void step(const Vector& gradient) {
    slope_ = is_free_.select(gradient, 0);
    if (settings_->optimizer == Optimizer::gd) {
      x_ -= settings_->step * slope_;
    } else {
      adam_.step(slope_, settings_->step, x_);
    }
  }

  void clip(const Box& box) {
    x_ = is_free_.select(x_.cwiseMax(box.lower).cwiseMin(box.upper), x_);
  }

  /// To the nearest point of the box that keeps the rules.
  void project(const Box& box, const std::vector<ModelRule>& rules) {
    clip(box);
    if (rules.empty()) return;
    IntersectionProblem nearest{.query = x_, .lower = box.lower, .upper = box.upper};
    for (const ModelRule& rule : rules) nearest.rules.push_back(rule.rule);
    const ConeIntersection found = intersect_cones(nearest);
    if (found.feasible) x_ = found.point;
  }

 private:
  const GradientSettings* settings_;
  Vector x_;
  Eigen::Array<bool, Eigen::Dynamic, 1> is_free_;
  Vector slope_;
  Adam adam_;
};

/// Raw numbers of a point, not brought back into any range; nothing but numbers has moved.
Vector decode_numbers(const FeasibleSet& feasible, const Vector& z) {
  const Encoder& encoder = feasible.encoder();
  Vector raw = feasible.query_raw();
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Index column = encoder.first_column(j);
    if (encoder.schema().features[j].kind != FeatureKind::numeric ||
        z[column] == feasible.query()[column]) {
      continue;
    }
    raw[static_cast<Index>(j)] = z[column] * encoder.scale()[column] + encoder.mean()[column];
  }
  return raw;
}

}  // namespace

std::string why_not_projected(const GradientOptions& options, std::string_view method) {
  if (options.preset == GradientPreset::corrected) return {};
  return fmt::format("the {} method projects every step: its `preset` is corrected, not {}", method,
                     enum_name(options.preset));
}

GradientSettings settings_of(const GradientOptions& options) {
  validate(options, "GradientOptions");
  GradientSettings settings{.preset = options.preset};
  if (options.preset == GradientPreset::printed) {
    // The paper prints no values of its coefficients; these are the ones of its runs.
    settings.optimizer = Optimizer::gd;
    settings.patience = 0;
  } else if (options.preset == GradientPreset::as_run) {
    settings.radius_factor = 0.99;
    settings.jitter = 1e-6;
  }
  if (options.optimizer != Optimizer::preset) settings.optimizer = options.optimizer;
  settings.alpha = options.alpha.value_or(settings.alpha);
  settings.beta = options.beta.value_or(settings.beta);
  settings.proximity = options.proximity.value_or(settings.proximity);
  settings.sparsity = options.sparsity.value_or(settings.sparsity);
  settings.step = options.step.value_or(settings.step);
  settings.max_steps = options.max_steps.value_or(settings.max_steps);
  settings.patience = options.patience.value_or(settings.patience);
  settings.radius_factor = options.radius_factor.value_or(settings.radius_factor);
  settings.jitter = options.jitter.value_or(settings.jitter);
  return settings;
}

GradientObjective::GradientObjective(const UncertaintySet& set, double epsilon,
                                     const GradientSettings& settings, double threshold)
    : own_(set.function()),
      function_(own_.get()),
      settings_(settings),
      kappa_(settings.radius_factor * std::sqrt(2 * epsilon)),
      threshold_(threshold) {}

GradientObjective::GradientObjective(RobustFunction& function, double epsilon,
                                     const GradientSettings& settings, double threshold)
    : function_(&function),
      settings_(settings),
      kappa_(settings.radius_factor * std::sqrt(2 * epsilon)),
      threshold_(threshold) {}

GradientObjective::Value GradientObjective::evaluate(VectorArg query, VectorArg x) {
  const Vector move = x - query;
  Value value{.robust_logit = infinity};
  double logit = 0;
  for (Index k = 0; k < function_->parts(); ++k) {
    const RobustScore score = function_->gradient(k, x, member_gradient_, spread_gradient_);
    if (k == 0) {
      logit = score.logit;
      logit_gradient_ = member_gradient_;
    }
    if (score.robust(kappa_) >= value.robust_logit) continue;
    value.robust_logit = score.robust(kappa_);
    value.robust_gradient = member_gradient_ - kappa_ * spread_gradient_;
  }
  const double robust = value.robust_logit;
  value.loss = settings_.alpha * class_one_loss(logit - threshold_) +
               settings_.beta * class_one_loss(robust - threshold_) +
               settings_.proximity * move.squaredNorm() + settings_.sparsity * move.lpNorm<1>();
  value.gradient = -settings_.alpha * sigmoid(threshold_ - logit) * logit_gradient_ -
                   settings_.beta * sigmoid(threshold_ - robust) * value.robust_gradient +
                   2 * settings_.proximity * move + settings_.sparsity * move.cwiseSign();
  return value;
}

GradientSearch::GradientSearch(const Problem& problem, const GradientOptions& options)
    : problem_(&problem),
      settings_(settings_of(options)),
      assembler_(problem),
      jittered_(with_jitter(problem, settings_.jitter)),
      set_((require_closed_form(problem.set.kind),
            make_set(jittered_ ? *jittered_ : *problem.model, problem.set))) {
  validate(problem);
  const Encoder& encoder = problem.model->encoder;
  training_range_ = {.lower = (encoder.min() - encoder.mean()).cwiseQuotient(encoder.scale()),
                     .upper = (encoder.max() - encoder.mean()).cwiseQuotient(encoder.scale())};
}

std::vector<Answer> GradientSearch::generate(const std::vector<Query>& queries,
                                             const Execution& execution) const {
  std::vector<Answer> answers(queries.size());
  parallel_for("descending", queries.size(), execution,
               [&](std::size_t i) { answers[i] = answer(queries[i]); });
  return answers;
}

Answer GradientSearch::answer(const Query& query) const {
  const bool corrected = settings_.preset == GradientPreset::corrected;
  const std::vector<std::optional<double>> no_steps;
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw, corrected ? problem_->display_steps : no_steps);
  if (!corrected) return answer(query, feasible);
  return best_over_branches(feasible,
                            [&](const FeasibleSet& branch) { return answer(query, branch); });
}

Answer GradientSearch::answer(const Query& query, const FeasibleSet& feasible) const {
  Answer result = assembler_.begin(query, feasible);
  if (settings_.preset == GradientPreset::corrected) {
    if (!assembler_.already_robust(result, feasible)) run_corrected(result, feasible);
    return result;
  }
  const Vector point =
      settings_.preset == GradientPreset::printed ? run_printed(feasible) : run_as_run(feasible);
  if (!point.allFinite()) {
    result.status = Status::not_found;
    result.message = "the steps left every bound: their length is too large for this model";
    return result;
  }
  Vector row = decode_numbers(feasible, point);
  round_as_displayed(*problem_, feasible, row);
  assembler_.take(result, row, feasible);
  return result;
}

GradientObjective GradientSearch::objective() const {
  return {*set_, problem_->epsilon, settings_, problem_->threshold};
}

Vector GradientSearch::run_printed(const FeasibleSet& feasible) const {
  Descent descent(settings_, feasible.query(), feasible.boxes().front());
  GradientObjective objective = this->objective();
  for (int step = 0; step < settings_.max_steps; ++step) {
    check_stop();
    const GradientObjective::Value value = objective.evaluate(feasible.query(), descent.x());
    descent.step(value.gradient);
    if (value.robust_logit >= problem_->threshold) break;  // of the point before the step
  }
  return descent.x();
}

Vector GradientSearch::run_as_run(const FeasibleSet& feasible) const {
  Descent descent(settings_, feasible.query(), feasible.boxes().front());
  GradientObjective objective = this->objective();
  Vector best = descent.x();
  double best_logit = -infinity;
  int idle = 0;
  for (int step = 0; step < settings_.max_steps; ++step) {
    check_stop();
    const GradientObjective::Value value = objective.evaluate(feasible.query(), descent.x());
    ++idle;
    if (value.robust_logit > best_logit) {
      best_logit = value.robust_logit;
      best = descent.x();
      idle = 0;
    }
    if (value.robust_logit > problem_->threshold) break;
    if (settings_.patience > 0 && idle >= settings_.patience) break;
    descent.step(value.gradient);
    descent.clip(training_range_);
  }
  return best;
}

void GradientSearch::run_corrected(Answer& answer, const FeasibleSet& feasible) const {
  // Each piece of the feasible set by itself: steps from one to another do not exist.
  std::optional<Answer> cheapest;
  DescentEnd farthest{.best_logit = -infinity};
  for (const Box& box : feasible.boxes()) {
    Answer found = answer;
    const DescentEnd end = descend(found, feasible, box);
    if (end.best_logit > farthest.best_logit) farthest = end;
    if (end.accepted && (!cheapest || found.distance.weighted < cheapest->distance.weighted))
      cheapest = std::move(found);
  }
  if (cheapest) {
    answer = std::move(*cheapest);
    return;
  }
  answer.status = Status::not_found;
  answer.message = fmt::format(
      "no certified point in {} steps; the best worst-case logit {}was {:.6g}, asked for {}. The "
      "search is local and proves nothing",
      farthest.steps, is_first_order(problem_->set.kind) ? "of the linearised network " : "",
      farthest.best_logit, problem_->threshold);
}

GradientSearch::DescentEnd GradientSearch::descend(Answer& answer, const FeasibleSet& feasible,
                                                   const Box& box) const {
  Descent descent(settings_, feasible.query().cwiseMax(box.lower).cwiseMin(box.upper), box);
  GradientObjective objective = this->objective();
  DescentEnd end{.best_logit = -infinity};
  int idle = 0;
  while (true) {
    check_stop();
    const GradientObjective::Value value = objective.evaluate(feasible.query(), descent.x());
    end.accepted = value.robust_logit >= problem_->threshold &&
                   assembler_.accept(
                       answer, allowed_row(feasible, value.robust_gradient, descent.x()), feasible);
    ++idle;
    if (value.robust_logit > end.best_logit) {
      end.best_logit = value.robust_logit;
      idle = 0;
    }
    if (end.accepted || end.steps == settings_.max_steps ||
        (settings_.patience > 0 && idle >= settings_.patience)) {
      return end;
    }
    descent.step(value.gradient);
    descent.project(box, feasible.rules());
    ++end.steps;
  }
}

}  // namespace ellice

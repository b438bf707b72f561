#include "methods/greedy.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "search/allowed_row.hpp"
#include "search/branch_answers.hpp"
#include "search/robust_constraints.hpp"
#include "search/tolerances.hpp"
#include "solver/adam.hpp"
#include "solver/augmented_descent.hpp"

namespace ellice {

namespace {

/// One query's point, the features let go so far and their optimisation.
class Growth {
 public:
  Growth(const Problem& problem, const GradientSettings& settings, const Assembler& assembler,
         const Vector& weights, const FeasibleSet& feasible, Answer& answer)
      : problem_(&problem),
        settings_(&settings),
        assembler_(&assembler),
        weights_(&weights),
        feasible_(&feasible),
        answer_(&answer),
        objective_(assembler.set(), problem.epsilon, settings, problem.threshold),
        function_(assembler.set().function()),
        constraints_(*function_, problem.threshold, feasible),
        point_(feasible.query()),
        box_{.lower = feasible.query(), .upper = feasible.query()} {
    constraints_.set_radius(std::sqrt(2 * problem.epsilon), search_margin);
  }

  void let_go(std::size_t feature) {
    const Encoder& encoder = feasible_->encoder();
    if (is_category(encoder.schema().features[feature])) {
      categories_.push_back(feature);
    } else {
      const Index column = encoder.first_column(feature);
      box_.lower(column) = feasible_->relaxed().lower(column);
      box_.upper(column) = feasible_->relaxed().upper(column);
    }
    for (const std::size_t category : categories_) choose_level(category);
  }

  /// Adam, from where the point is, to the first one that is certified as it is written.
  [[nodiscard]] bool descend() {
    Adam adam(point_.size());
    double highest = -infinity;
    for (int step = 0, idle = 1;; ++step, ++idle) {
      check_stop();
      const GradientObjective::Value value = objective_.evaluate(feasible_->query(), point_);
      if (value.robust_logit >= problem_->threshold &&
          accept(allowed_row(*feasible_, value.robust_gradient, point_))) {
        return true;
      }
      if (value.robust_logit > highest) {
        highest = value.robust_logit;
        idle = 0;
      }
      if (step == settings_->max_steps ||
          (settings_->patience > 0 && idle >= settings_->patience)) {
        return false;
      }
      adam.step(value.gradient, settings_->step, box_.lower, box_.upper, point_);
    }
  }

  /// The nearest robust point, on its grids, the rest solved again.
  [[nodiscard]] bool solve() {
    NearestPoint problem{.query = feasible_->query(),
                         .lower = box_.lower,
                         .upper = box_.upper,
                         .weights = *weights_};
    if (!nearest(problem)) return false;
    const Vector row = allowed_row(*feasible_, slope(), point_);
    if (accept(row)) return true;
    const Encoder& encoder = feasible_->encoder();
    Vector rounded(encoder.columns());
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, rounded);
    for (std::size_t j = 0; j < feasible_->ranges().size(); ++j) {
      if (!feasible_->ranges()[j].has_grid()) continue;
      for (Index i = encoder.first_column(j); i < encoder.first_column(j) + encoder.column_count(j);
           ++i) {
        point_(i) = problem.lower(i) = problem.upper(i) = rounded(i);
      }
    }
    return nearest(problem) && accept(allowed_row(*feasible_, slope(), point_));
  }

 private:
  void choose_level(std::size_t feature) {
    const Encoder& encoder = feasible_->encoder();
    double best = -infinity;
    double best_level = feasible_->ranges()[feature].query;
    for (const double level : allowed_levels(*feasible_, feature)) {
      set_level(encoder, feature, level, point_);
      const double margin = constraints_.smallest(point_);
      if (margin <= best) continue;
      best = margin;
      best_level = level;
    }
    for (Vector* z : {&point_, &box_.lower, &box_.upper}) {
      set_level(encoder, feature, best_level, *z);
    }
  }

  [[nodiscard]] bool nearest(const NearestPoint& problem) {
    SequentialQuadratic solver(problem, constraints_.count());
    if (!solver.solve(constraints_, point_).found) {
      const Vector start = augmented_descent(constraints_, problem, point_);
      if (!solver.solve(constraints_, start).found) return false;
    }
    point_ = solver.point();
    return true;
  }

  [[nodiscard]] Vector slope() {
    return objective_.evaluate(feasible_->query(), point_).robust_gradient;
  }

  [[nodiscard]] bool accept(const Vector& row) const {
    return assembler_->accept(*answer_, row, *feasible_);
  }

  const Problem* problem_;
  const GradientSettings* settings_;
  const Assembler* assembler_;
  const Vector* weights_;
  const FeasibleSet* feasible_;
  Answer* answer_;
  GradientObjective objective_;
  std::unique_ptr<RobustFunction> function_;
  RobustConstraints constraints_;
  Vector point_;
  Box box_;  // what may change has width here
  std::vector<std::size_t> categories_ = {};
};

}  // namespace

GreedySearch::GreedySearch(const Problem& problem, const GreedyOptions& options,
                           const GradientOptions& gradient)
    : problem_(&problem),
      options_(options),
      settings_(settings_of(gradient)),
      assembler_(problem),
      weights_(column_weights(problem.model->encoder)) {
  require_closed_form(problem.set.kind);
  validate(problem);
  validate(options, "GreedyOptions");
  const std::string reason = why_not_projected(gradient, "greedy");
  require(reason.empty(), "{}", reason);
}

FeasibleSet GreedySearch::feasible_of(const Query& query) const {
  return {problem_->model->encoder, problem_->constraints, query.index, query.raw,
          problem_->display_steps};
}

std::vector<Answer> GreedySearch::generate(const std::vector<Query>& queries,
                                           const Execution& execution) const {
  std::vector<Answer> answers(queries.size());
  parallel_for("choosing features", queries.size(), execution,
               [&](std::size_t i) { answers[i] = answer(queries[i]); });
  return answers;
}

std::vector<std::size_t> GreedySearch::ranking(const Query& query) const {
  return ranking(feasible_of(query));
}

std::vector<std::size_t> GreedySearch::ranking(const FeasibleSet& feasible) const {
  // Categories are relaxed here, where nothing is returned.
  const Box& box = feasible.relaxed();
  GradientObjective objective(assembler_.set(), problem_->epsilon, settings_, problem_->threshold);
  Vector sums = Vector::Zero(box.lower.size());
  Vector point = feasible.query();
  Adam adam(point.size());
  double highest = -infinity;
  for (int step = 0, idle = 1; step < settings_.max_steps; ++step, ++idle) {
    check_stop();
    const GradientObjective::Value value = objective.evaluate(feasible.query(), point);
    sums += value.gradient.cwiseAbs();
    if (value.robust_logit > highest) {
      highest = value.robust_logit;
      idle = 0;
    }
    if (value.robust_logit >= problem_->threshold ||
        (settings_.patience > 0 && idle >= settings_.patience)) {
      break;
    }
    adam.step(value.gradient, settings_.step, box.lower, box.upper, point);
  }
  const Encoder& encoder = feasible.encoder();
  std::vector<std::size_t> order;
  std::vector<double> magnitude(feasible.ranges().size(), 0);
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    if (box.lower.segment(first, count) == box.upper.segment(first, count)) continue;
    magnitude[j] = sums.segment(first, count).sum();
    order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return magnitude[a] > magnitude[b]; });
  return order;
}

Answer GreedySearch::answer(const Query& query) const {
  return best_over_branches(feasible_of(query),
                            [&](const FeasibleSet& branch) { return answer(query, branch); });
}

Answer GreedySearch::answer(const Query& query, const FeasibleSet& feasible) const {
  Answer result = assembler_.begin(query, feasible);
  if (assembler_.already_robust(result, feasible)) return result;
  Growth growth(*problem_, settings_, assembler_, weights_, feasible, result);
  for (const std::size_t feature : ranking(feasible)) {
    growth.let_go(feature);
    if (options_.greedy_step == GreedyStep::gradient ? growth.descend() : growth.solve()) {
      return result;
    }
  }
  result.status = Status::not_found;
  result.message =
      "no certified point, even with every feature that may change; the search is local and proves "
      "nothing";
  return result;
}

}  // namespace ellice

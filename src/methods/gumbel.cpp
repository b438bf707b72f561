#include "methods/gumbel.hpp"

#include <cmath>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "search/allowed_row.hpp"
#include "search/branch_answers.hpp"
#include "solver/adam.hpp"

namespace ellice {

namespace {

// Where the cooling ends, as a share of the temperature.
constexpr double coldest = 0.1;

double gumbel_noise(Random& random) {
  // Half a unit of the last place away from 0, so that the logarithms are finite.
  return -std::log(-std::log(random.uniform() + 0x1p-54));
}

/// A category's levels and where their logits stand.
struct Category {
  std::size_t feature = 0;
  Index first_column = 0;
  bool is_single = false;  // one 0/1 column
  Index first_logit = 0;
  std::vector<double> levels = {};
};

/// The relaxed point of one query: numbers, and logits of the levels.
class Relaxation {
 public:
  Relaxation(const FeasibleSet& feasible, double own_logit)
      : feasible_(&feasible), numbers_(feasible.query()), box_(feasible.relaxed()) {
    const Encoder& encoder = feasible.encoder();
    std::vector<double> logits;
    for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
      if (!feasible.ranges()[j].held || !is_category(encoder.schema().features[j])) continue;
      const Index first = encoder.first_column(j);
      const Index count = encoder.column_count(j);
      categories_.push_back({.feature = j,
                             .first_column = first,
                             .is_single = count == 1,
                             .first_logit = static_cast<Index>(logits.size()),
                             .levels = allowed_levels(feasible, j)});
      for (const double level : categories_.back().levels) {
        logits.push_back(level == feasible.ranges()[j].query ? own_logit : 0);
      }
      // Adam moves only the numbers in this box.
      box_.lower.segment(first, count) = feasible.query().segment(first, count);
      box_.upper.segment(first, count) = feasible.query().segment(first, count);
    }
    logits_ = Eigen::Map<const Vector>(logits.data(), static_cast<Index>(logits.size()));
    unbounded_ = Vector::Constant(logits_.size(), infinity);
    shares_ = Vector::Zero(logits_.size());
    number_steps_.emplace(numbers_.size());
    logit_steps_.emplace(logits_.size());
  }

  /// The point with relaxed categories under fresh noise.
  [[nodiscard]] Vector relaxed(Random& random, double temperature) {
    Vector z = numbers_;
    for (const Category& category : categories_) {
      const auto count = static_cast<Index>(category.levels.size());
      Vector scores(count);
      for (Index k = 0; k < count; ++k) {
        scores(k) = (logits_(category.first_logit + k) + gumbel_noise(random)) / temperature;
      }
      scores = (scores.array() - scores.maxCoeff()).exp();
      scores /= scores.sum();
      shares_.segment(category.first_logit, count) = scores;
      if (category.is_single) z(category.first_column) = 0;
      for (Index k = 0; k < count; ++k) {
        const double level = category.levels[static_cast<std::size_t>(k)];
        if (category.is_single) {
          z(category.first_column) += level * scores(k);
        } else {
          z(category.first_column + static_cast<Index>(level)) = scores(k);
        }
      }
      if (!category.is_single) clear_others(category, z);
    }
    return z;
  }

  /// A point with whole levels, drawn by the logits.
  [[nodiscard]] Vector drawn(Random& random) const {
    Vector z = numbers_;
    for (const Category& category : categories_) {
      double highest = -infinity;
      double chosen = category.levels.front();
      for (std::size_t k = 0; k < category.levels.size(); ++k) {
        const double score =
            logits_(category.first_logit + static_cast<Index>(k)) + gumbel_noise(random);
        if (score <= highest) continue;
        highest = score;
        chosen = category.levels[k];
      }
      set_level(feasible_->encoder(), category.feature, chosen, z);
    }
    return z;
  }

  /// Down the gradient at the last relaxed point.
  void step(const Vector& gradient, double rate, double temperature) {
    Vector by_logit = Vector::Zero(logits_.size());
    for (const Category& category : categories_) {
      const auto count = static_cast<Index>(category.levels.size());
      Vector by_share(count);
      for (Index k = 0; k < count; ++k) {
        const double level = category.levels[static_cast<std::size_t>(k)];
        by_share(k) = category.is_single
                          ? level * gradient(category.first_column)
                          : gradient(category.first_column + static_cast<Index>(level));
      }
      const Vector shares = shares_.segment(category.first_logit, count);
      // ∂y_l/∂ζ_k = y_l·(1[k = l] − y_k)/τ.
      by_logit.segment(category.first_logit, count) =
          shares.cwiseProduct(by_share - Vector::Constant(count, shares.dot(by_share))) /
          temperature;
    }
    number_steps_->step(gradient, rate, box_.lower, box_.upper, numbers_);
    logit_steps_->step(by_logit, rate, -unbounded_, unbounded_, logits_);
  }

 private:
  /// Columns of levels that are not allowed.
  void clear_others(const Category& category, Vector& z) const {
    const Index count = feasible_->encoder().column_count(category.feature);
    for (Index k = 0; k < count; ++k) {
      if (!feasible_->ranges()[category.feature].contains(static_cast<double>(k))) {
        z(category.first_column + k) = 0;
      }
    }
  }

  const FeasibleSet* feasible_;
  std::vector<Category> categories_ = {};
  Vector numbers_;
  Box box_;
  Vector logits_, unbounded_, shares_;
  std::optional<Adam> number_steps_, logit_steps_;
};

}  // namespace

GumbelSearch::GumbelSearch(const Problem& problem, const GumbelOptions& options,
                           const GradientOptions& gradient)
    : problem_(&problem), options_(options), settings_(settings_of(gradient)), assembler_(problem) {
  require_closed_form(problem.set.kind);
  validate(problem);
  validate(options, "GumbelOptions");
  const std::string reason = why_not_projected(gradient, "gumbel");
  require(reason.empty(), "{}", reason);
}

std::vector<Answer> GumbelSearch::generate(const std::vector<Query>& queries,
                                           const Execution& execution) const {
  std::vector<Answer> answers(queries.size());
  parallel_for("sampling", queries.size(), execution,
               [&](std::size_t i) { answers[i] = answer(queries[i]); });
  return answers;
}

Answer GumbelSearch::answer(const Query& query) const {
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw, problem_->display_steps);
  return best_over_branches(feasible,
                            [&](const FeasibleSet& branch) { return answer(query, branch); });
}

Answer GumbelSearch::answer(const Query& query, const FeasibleSet& feasible) const {
  Answer result = assembler_.begin(query, feasible);
  if (assembler_.already_robust(result, feasible)) return result;

  Random random = Random(options_.seed).split(query.index);
  GradientObjective objective(assembler_.set(), problem_->epsilon, settings_, problem_->threshold);
  Relaxation relaxation(feasible, options_.own_logit);
  const Encoder& encoder = feasible.encoder();
  const Answer blank = result;
  const auto is_found = [&] { return result.status == Status::certified; };
  Vector z(encoder.columns());
  // One draw; the answer becomes its row where that is certified and cheaper.
  const auto draw = [&](const Vector& slope) {
    check_stop();
    const Vector row = allowed_row(feasible, slope, relaxation.drawn(random));
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
    if (is_found() &&
        cost_of(problem_->cost, encoder, feasible.query(), z) >= result.distance.weighted) {
      return;
    }
    if (objective.evaluate(feasible.query(), z).robust_logit < problem_->threshold) return;
    Answer offered = blank;
    if (assembler_.accept(offered, row, feasible)) result = std::move(offered);
  };

  double temperature = options_.temperature;
  double highest = -infinity;
  for (int step = 0, idle = 1; step < settings_.max_steps; ++step, ++idle) {
    check_stop();
    const GradientObjective::Value value =
        objective.evaluate(feasible.query(), relaxation.relaxed(random, temperature));
    for (int k = 0; k < options_.samples; ++k) draw(value.robust_gradient);
    if (is_found()) {
      for (int k = 0; k < options_.extra_samples; ++k) draw(value.robust_gradient);
      return result;
    }
    if (value.robust_logit > highest) {
      highest = value.robust_logit;
      idle = 0;
    }
    if (settings_.patience > 0 && idle >= settings_.patience) break;
    relaxation.step(value.gradient, settings_.step, temperature);
    temperature = std::max(coldest * options_.temperature, options_.cooling * temperature);
  }
  result.status = Status::not_found;
  result.message = fmt::format(
      "no certified row was drawn; the best worst-case logit of a relaxed point was {:.6g}, asked "
      "for {}. The search is local and proves nothing",
      highest, problem_->threshold);
  return result;
}

}  // namespace ellice

#include "ellice/recourse/true_exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/recourse/linear_exact.hpp"
#include "ellice/recourse/rounding.hpp"
#include "recourse/branch_answers.hpp"
#include "recourse/true_mixed.hpp"
#include "recourse/true_search.hpp"

namespace ellice {

namespace {

// A little more than the 1e-12 that a certificate asks for.
constexpr double margin = 2e-12;
constexpr double optimal_gap = 1e-9;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rounds with exact re-solves; every worst model starts from the last one.
class TrueGuide final : public RoundingGuide {
 public:
  TrueGuide(const TrueSearch& search, const FeasibleSet& feasible, const TrueWorst& nearby)
      : search_(&search), feasible_(&feasible), worst_(nearby) {}

  [[nodiscard]] double margin(VectorArg z) override {
    find(z);
    return search_->excess(z, worst_);
  }
  [[nodiscard]] Vector slope(VectorArg z) override {
    find(z);
    return worst_.model.head(z.size());
  }
  [[nodiscard]] std::optional<Vector> solve(const Box& part, VectorArg /*start*/) override {
    TrueSearchResult solved = search_->nearest(feasible_->query(), part);
    if (!solved.found) return std::nullopt;
    return std::move(solved.point);
  }
  [[nodiscard]] const TrueWorst& worst() const { return worst_; }

 private:
  void find(VectorArg z) { worst_ = search_->set().worst(with_one(z), &worst_); }

  const TrueSearch* search_;
  const FeasibleSet* feasible_;
  TrueWorst worst_;
};

/// A part of the search takes several worst models, each some passes over all rows: fewer of them
/// unless asked for.
ExactOptions with_affordable_nodes(ExactOptions options) {
  constexpr int affordable = 1000;
  if (!options.node_limit) options.node_limit = affordable;
  return options;
}

std::string cuts_text(int cuts) {
  return fmt::format("found by {} cutting planes, since the corrected ellipsoids did not settle",
                     cuts);
}

TrueSet linear_true_set(const Problem& problem) {
  validate(problem);
  require(problem.set.kind == SetKind::true_set && problem.model->network.layers.size() == 1,
          "the exact search over the true set is for linear models; use --method network or data "
          "for networks");
  require(!problem.set.contest, "several classes are searched by TrueClasses");
  return true_set(*problem.model, training_rows(problem.set, *problem.model), problem.epsilon);
}

}  // namespace

TrueExact::TrueExact(const Problem& problem, const ExactOptions& options)
    : problem_(&problem),
      options_(with_affordable_nodes(options)),
      assembler_(problem),
      cost_(separable_cost(problem.cost, problem.model->encoder)),
      set_(linear_true_set(problem)),
      mixed_(
          problem, assembler_,
          [this](const MixedProblem& mixed) { return solve_true_mixed(set_, cost_, mixed); },
          options_),
      search_(std::make_unique<TrueSearch>(set_, cost_, problem.threshold, margin)) {
  validate(options, "options");
  require(options.plans == 1 && !options.trade_off,
          "the set true has one plan per query: leave out --plans and --trade-off");
  require(
      problem.cost.sparsity_weight == 0 || problem.cost.kind != CostKind::mixed,
      "--sparsity-weight adds to the root that --cost mixed takes, which the exact search cannot "
      "minimise; use another cost or --method data");
}

TrueExact::~TrueExact() = default;

std::vector<Recourse> TrueExact::generate(const std::vector<Query>& queries,
                                          const Execution& execution) const {
  std::vector<Recourse> answers(queries.size());
  parallel_for("explaining", queries.size(), execution,
               [&](std::size_t i) { answers[i] = answer(queries[i]); });
  return answers;
}

Recourse TrueExact::answer(const Query& query) const {
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw, problem_->display_steps);
  return best_over_branches(feasible,
                            [&](const FeasibleSet& branch) { return answer(query, branch); });
}

Recourse TrueExact::answer(const Query& query, const FeasibleSet& feasible) const {
  Recourse result = assembler_.begin(query, feasible);
  if (assembler_.already_robust(result, feasible)) return result;
  if (mixed_.is_needed(feasible)) {
    answer_mixed(result, feasible);
  } else {
    answer_numbers(result, feasible);
  }
  return result;
}

void TrueExact::answer_mixed(Recourse& result, const FeasibleSet& feasible) const {
  const MixedExact::Outcome outcome = mixed_.answer(result, feasible, {});
  if (outcome == MixedExact::Outcome::answered) return;
  const std::string message = std::exchange(result.message, {});
  explain_no_answer(result, feasible);
  if (result.status == Status::infeasible) return;
  result.message =
      outcome == MixedExact::Outcome::blocked
          ? message
          : fmt::format(
                "no row passes: every combination of whole numbers, levels and grid values{} is "
                "ruled out",
                options_.max_changes
                    ? fmt::format(" with at most {} changes", *options_.max_changes)
                    : "");
}

void TrueExact::answer_numbers(Recourse& result, const FeasibleSet& feasible) const {
  TrueSearchResult best{.objective = infinity};
  const Box* box = nullptr;
  double bound = infinity;  // over the searched boxes
  for (const Box& one : feasible.boxes()) {
    TrueSearchResult solved = search_->nearest(feasible.query(), one);
    bound = std::min(bound, solved.lower_bound);
    if (!solved.found || solved.objective >= best.objective) continue;
    best = std::move(solved);
    box = &one;
  }
  if (!best.found) {
    explain_no_answer(result, feasible);
    return;
  }
  if (!complete(result, feasible, *box, best)) {
    result.status = Status::not_found;
    return;
  }
  const bool square_root = problem_->cost.kind == CostKind::mixed;
  if (!feasible.boxes_cover()) {
    bound = search_->nearest(feasible.query(), feasible.relaxed()).lower_bound;
  }
  const double comparable = square_root ? std::sqrt(std::max(0.0, bound)) : bound;
  result.gap = std::clamp(1 - comparable / result.distance.weighted, 0.0, 1.0);
  if (*result.gap <= optimal_gap) {
    result.status = Status::optimal;
    result.gap = 0;
  }
  if (best.cuts > 0) result.message = cuts_text(best.cuts);
}

bool TrueExact::complete(Recourse& result, const FeasibleSet& feasible, const Box& box,
                         const TrueSearchResult& solution) const {
  Vector raw = feasible.decode(solution.point);
  TrueGuide guide(*search_, feasible, solution.worst);
  if (feasible.has_grid()) {
    const std::optional<Vector> rounded =
        round_to_grid(*problem_, guide, feasible, box, solution.point);
    if (!rounded) {
      result.message = "an answer exists between the grid values, but none was found on them";
      return false;
    }
    raw = *rounded;
  }
  if (assembler_.accept(result, raw, feasible, &guide.worst())) return true;
  const std::vector<std::string> broken = feasible.violations(raw);
  result.message = broken.empty()
                       ? "the answer did not survive rounding"
                       : fmt::format("the nearest answer breaks {}", fmt::join(broken, "; "));
  return false;
}

std::vector<std::string> TrueExact::blocking(const FeasibleSet& feasible) const {
  // Where ε is too large for every point, one search says so instead of one per constraint.
  FeasibleSet unconstrained = feasible;
  for (const NamedConstraint& constraint : feasible.constraints())
    unconstrained = unconstrained.without(constraint);
  if (!search_->is_reachable(unconstrained.relaxed())) return {};
  std::vector<std::string> result;
  FeasibleSet current = feasible;
  for (const NamedConstraint& constraint : feasible.constraints()) {
    FeasibleSet without = current.without(constraint);
    if (search_->is_reachable(without.relaxed())) {
      result.push_back(constraint.text);
    } else {
      current = std::move(without);
    }
  }
  return result;
}

void TrueExact::explain_no_answer(Recourse& result, const FeasibleSet& feasible) const {
  const TrueSearchResult relaxed = search_->nearest(feasible.query(), feasible.relaxed());
  if (!relaxed.proof) {
    result.status = Status::not_found;
    result.message = "the search ended without an answer and without a proof that there is none";
    return;
  }
  result.status = Status::infeasible;
  Infeasibility& why = result.infeasible.emplace();
  why.model = *relaxed.proof;
  why.upper_bound = linear_maximum(why.model, feasible.relaxed());
  why.max_epsilon = search_->largest_epsilon(feasible.relaxed());
  why.blocking = blocking(feasible);
  if (why.blocking.empty()) {
    result.message = fmt::format(
        "no constraint blocks: epsilon = {} is too large for this model, whatever changes",
        problem_->epsilon);
  }
  const Encoder& encoder = problem_->model->encoder;
  why.best_robust_logit = -infinity;
  for (const Box& box : feasible.boxes()) {
    const Vector raw = feasible.decode(search_->nearest(feasible.query(), box).point);
    const RawRow row = encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
    const double logit = search_->set().worst(with_one(encoder.encode(row))).lower_bound;
    if (logit <= why.best_robust_logit) continue;
    why.best_robust_logit = logit;
    why.best = row;
  }
}

}  // namespace ellice

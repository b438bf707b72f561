#include "ellice/recourse/true_classes.hpp"

#include "ellice/core/error.hpp"
#include "ellice/recourse/linear_exact.hpp"
#include "recourse/true_contest.hpp"

namespace ellice {

namespace {

/// As in TrueExact: a part of the search takes several worst heads, each some passes over all rows.
ExactOptions with_affordable_nodes(ExactOptions options) {
  constexpr int affordable = 1000;
  if (!options.node_limit) options.node_limit = affordable;
  return options;
}

}  // namespace

TrueClasses::TrueClasses(const Problem& problem, const ExactOptions& options)
    : problem_(&problem),
      assembler_(problem),
      contest_(std::make_unique<const TrueContest>(make_true_contest(problem))),
      mixed_(
          problem, assembler_,
          [contest = contest_.get(), cost = separable_cost(problem.cost, problem.model->encoder)](
              const MixedProblem& mixed) { return solve_true_contest(*contest, cost, mixed); },
          with_affordable_nodes(options)) {
  validate(options, "options");
  require(options.plans == 1 && !options.trade_off,
          "the set true has one plan per query: leave out --plans and --trade-off");
  require(
      problem.cost.sparsity_weight == 0 || problem.cost.kind != CostKind::mixed,
      "--sparsity-weight adds to the root that --cost mixed takes, which the exact search cannot "
      "minimise; use another cost or --method data");
}

TrueClasses::~TrueClasses() = default;

std::vector<Recourse> TrueClasses::generate(const std::vector<Query>& queries,
                                            const Execution& execution) const {
  std::vector<Recourse> answers(queries.size());
  parallel_for("explaining", queries.size(), execution,
               [&](std::size_t i) { answers[i] = answer(queries[i]); });
  return answers;
}

Recourse TrueClasses::answer(const Query& query) const {
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw, problem_->display_steps);
  Recourse result = assembler_.begin(query, feasible);
  if (assembler_.already_robust(result, feasible)) return result;
  const MixedExact::Outcome outcome = mixed_.answer(result, feasible, {});
  if (outcome == MixedExact::Outcome::answered) return result;
  result.status = Status::not_found;
  if (outcome == MixedExact::Outcome::impossible) {
    result.message = fmt::format(
        "no row passes: the search ruled all of them out, without a proof that can be checked; "
        "epsilon = {} may be too large, or the constraints too tight",
        problem_->epsilon);
  }
  return result;
}

}  // namespace ellice

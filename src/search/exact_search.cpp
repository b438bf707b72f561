#include "search/exact_search.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <utility>

#include "core/parallel.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "request/cost_prices.hpp"
#include "search/infeasibility.hpp"
#include "search/linear_question.hpp"
#include "search/mixed_exact.hpp"
#include "search/number_search.hpp"
#include "search/plan_reasons.hpp"
#include "search/stated_gap.hpp"

namespace ellice {

namespace {

/// Grids that are for display alone leave out rows between them.
bool is_rounded_for_display(const FeasibleSet& feasible) {
  const FeasibleSet bare = feasible.without_display_steps();
  return !std::equal(feasible.ranges().begin(), feasible.ranges().end(), bare.ranges().begin(),
                     bare.ranges().end(), [](const FeatureRange& one, const FeatureRange& other) {
                       return one.step == other.step;
                     });
}

// Queries that are projected together; large enough for the matrix products, small enough to share
// out.
constexpr std::size_t block_queries = 256;
// Costs that differ by less are the same but for rounding.
constexpr double same_cost = 1e-9;

/// How many queries a thread takes at a time: few where that leaves some to each.
std::size_t shared_out(std::size_t queries, int threads) {
  if (threads == 1) return block_queries;
  constexpr std::size_t turns = 4;  // of each thread, since some queries take longer
  return std::clamp<std::size_t>(queries / (turns * static_cast<std::size_t>(threads)), 1,
                                 block_queries);
}

/// A trade-off begins with the fewest changes.
ExactOptions first_search(ExactOptions options) {
  options.sparse = options.sparse || options.trade_off;
  return options;
}

}  // namespace

std::string why_not_exact(const Problem& problem, const ExactOptions& options) {
  if (options.trade_off && options.plans > 1) {
    return fmt::format(
        "`trade_off` gives one answer per number of changes and does not go with `plans: {}`",
        options.plans);
  }
  if (problem.cost.sparsity_weight != 0 && prices_of(problem.cost.kind).is_root) {
    return "`sparsity_weight` adds to the root that `cost: mixed` takes, which the exact search "
           "cannot minimise; use another cost or `method: data`";
  }
  return why_not_exact(problem);
}

struct ExactSearch::Common {
  std::once_flag once;
  CommonGround ground;
  std::atomic<bool> is_found = false;
};

ExactSearch::ExactSearch(const Problem& problem, const ExactOptions& options, NoAnswer without)
    : problem_(&problem),
      options_(options),
      without_(without),
      assembler_(problem),
      question_(std::make_unique<const LinearQuestion>(problem)),
      mixed_(std::make_unique<const MixedExact>(problem, assembler_, *question_,
                                                first_search(options))),
      numbers_(std::make_unique<const NumberSearch>(problem, assembler_, *question_)),
      common_(std::make_unique<Common>()) {
  validate(options, "options");
  const std::string reason = why_not_exact(problem, options);
  require(reason.empty(), "{}", reason);
}

ExactSearch::~ExactSearch() = default;

std::vector<Answer> ExactSearch::generate(const std::vector<Query>& queries,
                                          const Execution& execution) const {
  std::vector<Answer> answers(queries.size());
  std::vector<std::vector<Answer>> plans(has_further() ? queries.size() : 0);
  const std::size_t size =
      question_->is_conic() ? shared_out(queries.size(), thread_count(execution.threads)) : 1;
  const std::size_t blocks = (queries.size() + size - 1) / size;
  std::vector<char> is_done(queries.size());
  parallel_for_results("explaining", blocks, execution, [&](std::size_t block) {
    const std::size_t first = block * size;
    const std::size_t count = std::min(size, queries.size() - first);
    const Encoder& encoder = problem_->model->encoder;
    RowMatrix points(static_cast<Index>(count), encoder.columns());
    for (std::size_t k = 0; k < count; ++k) {
      const Vector& raw = queries[first + k].raw;
      encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())},
                     points.row(static_cast<Index>(k)).transpose());
    }
    const std::optional<ConeBatch> free = numbers_->project_rows(points);
    FeasibleSet feasible(encoder, problem_->constraints, queries[first].index, queries[first].raw,
                         problem_->display_steps);
    ConeProjection projection;
    NumberScratch scratch;
    for (std::size_t k = 0; k < count; ++k) {
      const Query& query = queries[first + k];
      if (k > 0) feasible.turn_to(query.index, query.raw);
      if (free) {
        projection.point = free->points.row(static_cast<Index>(k));
        projection.summary = free->summaries[k];
      }
      Answer& result = answers[first + k];
      result = assembler_.begin(query, feasible);
      answer(result, feasible, free ? &projection : nullptr, scratch);
      if (has_further()) {
        plans[first + k] =
            with_further(std::move(result), query, feasible, free ? &projection : nullptr, scratch);
      }
      is_done[first + k] = 1;
    }
  });
  const bool is_whole = std::find(is_done.begin(), is_done.end(), 0) == is_done.end();
  if (is_whole && !has_further()) return answers;
  std::vector<Answer> finished;
  finished.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (is_done[i] == 0) continue;  // stopped before
    if (has_further()) {
      std::move(plans[i].begin(), plans[i].end(), std::back_inserter(finished));
    } else {
      finished.push_back(std::move(answers[i]));
    }
  }
  return finished;
}

void ExactSearch::answer(Answer& result, const FeasibleSet& feasible, const ConeProjection* free,
                         NumberScratch& scratch) const {
  if (assembler_.already_robust(result, feasible)) return;
  if (is_out_of_reach(result, feasible)) return;
  if (mixed_->is_needed(feasible)) {
    answer_mixed(result, feasible, scratch);
  } else {
    answer_numbers(result, feasible, free, scratch);
  }
}

std::vector<Answer> ExactSearch::with_further(Answer first, const Query& query,
                                              const FeasibleSet& feasible,
                                              const ConeProjection* free,
                                              NumberScratch& scratch) const {
  std::vector<Answer> plans;
  plans.push_back(std::move(first));
  const Status status = plans.front().status;
  if (status == Status::already_robust || !is_certified(status)) return plans;
  if (options_.trade_off) add_trade_off(plans, query, feasible, free, scratch);
  if (options_.plans > 1) add_plans(plans, query, feasible);
  return plans;
}

void ExactSearch::answer_numbers(Answer& result, const FeasibleSet& feasible,
                                 const ConeProjection* free, NumberScratch& scratch) const {
  switch (numbers_->answer(result, feasible, free, scratch)) {
    case NumberSearch::Outcome::answered:
      return;
    case NumberSearch::Outcome::none:
      explain_no_answer(result, feasible);
      return;
    case NumberSearch::Outcome::refused:
      // Nor does it depend on who came before what is said of a row that rounding decides about.
      if (question_->is_conic() && without_ != NoAnswer::stated &&
          is_ruled_out(ground(), feasible)) {
        result.message.clear();
        explain_no_answer(result, feasible);
        return;
      }
      result.status = Status::not_found;
  }
}

const CommonGround& ExactSearch::ground() const {
  std::call_once(common_->once, [&] {
    common_->ground = common_ground(*problem_, *question_, assembler_);
    common_->is_found = true;
  });
  return common_->ground;
}

bool ExactSearch::is_ruled_out(const CommonGround& common, const FeasibleSet& feasible) const {
  return common.rules_out(feasible, problem_->threshold) && !is_rounded_for_display(feasible);
}

bool ExactSearch::is_out_of_reach(Answer& result, const FeasibleSet& feasible) const {
  if (without_ == NoAnswer::stated) return false;
  if (question_->is_conic()) {
    // A search that finds something costs less than to ask this of everybody, and people who have
    // an answer need not pay for those who have none.
    if (!common_->is_found || !is_ruled_out(common_->ground, feasible)) return false;
    explain_no_answer(result, feasible);
    return true;
  }
  if (!(ground().bound(feasible) < problem_->threshold)) return false;
  Answer explained = result;
  explain_no_answer(explained, feasible);
  if (explained.status != Status::infeasible) return false;
  result = std::move(explained);
  return true;
}

void ExactSearch::explain_no_answer(Answer& result, const FeasibleSet& feasible,
                                    bool is_exhausted) const {
  result.status = Status::not_found;
  if (without_ == NoAnswer::stated) return;
  const std::optional<std::size_t> most_changes =
      options_.max_changes ? std::optional(static_cast<std::size_t>(*options_.max_changes))
                           : std::nullopt;
  // The same whether or not a search was spared for it.
  const bool is_known = question_->is_conic() && is_ruled_out(ground(), feasible);
  result.infeasible = explain_infeasibility(*problem_, *question_, assembler_, feasible,
                                            most_changes, ground(), is_exhausted || is_known);
  if (result.infeasible) {
    result.status = Status::infeasible;
    if (result.infeasible->blocking.constraints.empty()) {
      result.message = fmt::format(
          "no constraint blocks: epsilon = {:.4g} is too large for this model, whatever changes",
          problem_->epsilon);
    }
    return;
  }
  if (!feasible.boxes_cover()) {
    result.message =
        "the query lies outside so many ranges that not every way into them is searched";
  } else if (question_->is_conic()) {
    result.message = "the best reachable point misses the threshold by no more than rounding";
  } else {
    result.message = "the search ended without an answer and without a proof that there is none";
  }
}

void ExactSearch::answer_mixed(Answer& result, const FeasibleSet& feasible,
                               NumberScratch& scratch) const {
  const Answer unanswered = result;
  const MixedExact::Outcome outcome = mixed_->answer(result, feasible, {});
  if (outcome == MixedExact::Outcome::answered) {
    if (result.gap && *result.gap > 0) prefer_rounded(result, unanswered, feasible, scratch);
    return;
  }
  const std::string message = std::exchange(result.message, {});
  const bool is_exhausted =
      outcome == MixedExact::Outcome::impossible && !is_rounded_for_display(feasible);
  explain_no_answer(result, feasible, is_exhausted);
  if (result.status == Status::infeasible) return;
  if (outcome == MixedExact::Outcome::blocked) {
    result.message = message;
    return;
  }
  const Schema& schema = problem_->model->schema();
  const bool ruled = !schema.constraints.empty() || !schema.implications.empty();
  result.message = fmt::format(
      "no combination of whole numbers, levels and rounded values{}{} passes; what lies between "
      "rounded values was not tried",
      ruled ? " that keeps the rules" : "",
      options_.max_changes ? fmt::format(" with at most {} changes", *options_.max_changes) : "");
}

void ExactSearch::prefer_rounded(Answer& result, Answer candidate, const FeasibleSet& feasible,
                                 NumberScratch& scratch) const {
  if (options_.max_changes || options_.sparse || options_.trade_off ||
      problem_->cost.sparsity_weight != 0) {
    return;
  }
  if (!question_->is_single() || !feasible.rules().empty()) return;
  answer_numbers(candidate, feasible, nullptr, scratch);
  const double found = result.distance.weighted;
  if (!is_certified(candidate.status) || !(candidate.distance.weighted < found)) return;
  candidate.status = Status::certified;
  candidate.message = result.message;
  state_gap(candidate, (1 - *result.gap) * found);
  result = std::move(candidate);
}

void ExactSearch::add_plans(std::vector<Answer>& plans, const Query& query,
                            const FeasibleSet& feasible) const {
  MixedExact::Plans earlier;
  const Schema& schema = problem_->model->schema();
  while (plans.size() < static_cast<std::size_t>(options_.plans)) {
    check_stop();
    std::vector<std::size_t> changed;
    for (const Change& change : plans.back().changes)
      changed.push_back(*schema.find(change.feature));
    earlier.push_back(std::move(changed));
    Answer next = assembler_.begin(query, feasible);
    next.plan = static_cast<int>(plans.size());
    const MixedExact::Outcome outcome = mixed_->answer(next, feasible, earlier);
    if (outcome == MixedExact::Outcome::answered) {
      next.reason = plan_reason(next, plans.front());
      plans.push_back(std::move(next));
      continue;
    }
    // Said with the first plan that is missing, so that fewer plans read the same.
    next.status = Status::not_found;
    if (outcome == MixedExact::Outcome::impossible)
      next.message = "no further plan: every other answer changes all that one of these changes";
    plans.push_back(std::move(next));
    return;
  }
}

void ExactSearch::add_trade_off(std::vector<Answer>& plans, const Query& query,
                                const FeasibleSet& feasible, const ConeProjection* free,
                                NumberScratch& scratch) const {
  ExactOptions options = options_;
  options.sparse = options.trade_off = false;
  const auto ask = [&](std::optional<int> max_changes) -> std::optional<Answer> {
    options.max_changes = max_changes;
    const MixedExact search(*problem_, assembler_, *question_, options);
    Answer answer = assembler_.begin(query, feasible);
    if (!search.is_needed(feasible)) {
      answer_numbers(answer, feasible, free, scratch);
    } else if (search.answer(answer, feasible, {}) != MixedExact::Outcome::answered) {
      return std::nullopt;
    }
    return is_certified(answer.status) ? std::optional(std::move(answer)) : std::nullopt;
  };
  const auto add = [&](Answer answer) {
    // A search that its limits ended may have left plans that this one beats in both.
    while (!plans.empty() && plans.back().distance.changed >= answer.distance.changed)
      plans.pop_back();
    if (plans.empty() && answer.status == Status::optimal)
      answer.status = Status::certified;  // the cheapest, but not proved to have the fewest changes
    answer.plan = static_cast<int>(plans.size());
    answer.reason = trade_off_reason(answer, plans.empty() ? nullptr : &plans.back());
    plans.push_back(std::move(answer));
  };
  const auto is_cheaper = [&](const Answer& answer) {
    return answer.distance.weighted < (1 - same_cost) * plans.back().distance.weighted;
  };

  plans.front().reason = trade_off_reason(plans.front(), nullptr);
  std::optional<Answer> nearest = ask(options_.max_changes);
  if (!nearest) return;
  for (int changes = plans.back().distance.changed + 1; changes < nearest->distance.changed;
       ++changes) {
    if (!is_cheaper(*nearest)) return;
    std::optional<Answer> next = ask(changes);
    if (next && is_cheaper(*next)) add(std::move(*next));
  }
  const bool more_is_useless = nearest->status == Status::optimal;
  if (is_cheaper(*nearest)) add(std::move(*nearest));
  if (more_is_useless) plans.back().reason += no_more_reason();
}

int usual_node_limit(const Problem& problem) {
  // Over the true set each part takes several worst heads, some passes over all training rows each.
  return problem.set.kind == SetKind::true_set ? 1000 : 5000;
}

}  // namespace ellice

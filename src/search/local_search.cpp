#include "search/local_search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "request/cost_prices.hpp"
#include "search/branch_answers.hpp"
#include "search/few_features.hpp"
#include "search/local_polish.hpp"
#include "search/local_steps.hpp"
#include "search/plan_reasons.hpp"
#include "search/row_starts.hpp"

namespace ellice {

namespace {

// Searches for one query's further plans: each locks another set of features.
constexpr std::size_t most_searches = 60;
// Radii of the picture's searches as multiples of √(2ε): what the extent of a set that is searched
// is along one direction of its picture's, on data that were looked at.
constexpr std::array<double, 8> picture_radii = {0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.4};
constexpr std::size_t plain_level = 3;

}  // namespace

struct LocalSearch::Level {
  Level(const Problem& given, const SetChoice& set, double radius,
        const LocalSearchOptions& options, const RowStarts* rows)
      : problem(given), steps(problem_at(problem, set, radius), options, rows) {}

  static const Problem& problem_at(Problem& problem, const SetChoice& set, double radius) {
    problem.set = set;
    problem.epsilon *= radius * radius;
    return problem;
  }

  Problem problem;
  LocalSteps steps;
};

std::string why_not_local(const Problem& problem) {
  const bool known = !prices_of(problem.cost.kind).absolutes;
  if (known && problem.cost.sparsity_weight == 0) return {};
  return fmt::format(
      "the search for networks minimises the costs l2 and mixed only; use `method: data` for {}",
      known ? "`sparsity_weight`" : enum_name(problem.cost.kind));
}

LocalSearch::LocalSearch(const Problem& problem, const StoredRows* rows,
                         const LocalSearchOptions& options, const Execution& execution)
    : problem_(&problem), options_(options), assembler_(problem) {
  validate(problem);
  validate(options, "LocalSearchOptions");
  const std::string reason = why_not_local(problem);
  require(reason.empty(), "{}", reason);
  const Question* question = assembler_.question();
  const bool is_searched = question != nullptr && !question->is_conic();
  const SetChoice closed = second_order(problem.set);
  if (rows == nullptr && is_searched) rows = &training_rows(problem.set, *problem.model);
  if (rows != nullptr) {
    require(rows->encoded.cols() == problem.model->encoder.columns(),
            "the training rows have {} columns, the model has {}", rows->encoded.cols(),
            problem.model->encoder.columns());
    const int favourable = problem.set.contest ? static_cast<int>(problem.set.contest->winner) : 1;
    rows_ = std::make_unique<RowStarts>(*rows, *make_set(*problem.model, closed), problem.threshold,
                                        favourable, execution);
  }
  if (!is_searched) {
    levels_.push_back(std::make_unique<Level>(problem, closed, 1, options_, rows_.get()));
    return;
  }
  for (const double radius : picture_radii)
    levels_.push_back(std::make_unique<Level>(problem, closed, radius, options_, rows_.get()));
}

LocalSearch::~LocalSearch() = default;

std::vector<Answer> LocalSearch::generate(const std::vector<Query>& queries,
                                          const Execution& execution) const {
  std::vector<std::vector<Answer>> plans(queries.size());
  parallel_for_results("explaining", queries.size(), execution,
                       [&](std::size_t i) { plans[i] = answer(queries[i]); });
  std::vector<Answer> answers;
  for (std::vector<Answer>& of_query : plans) {
    std::move(of_query.begin(), of_query.end(), std::back_inserter(answers));
  }
  return answers;
}

const LocalSteps& LocalSearch::plain_steps() const {
  return levels_[levels_.size() == 1 ? 0 : plain_level]->steps;
}

Answer LocalSearch::nearest(const Query& query, const FeasibleSet& feasible) const {
  if (levels_.size() == 1) return plain_steps().nearest(query, feasible);
  std::vector<LocalPolish::Level> levels;
  for (std::size_t k = 0; k < levels_.size(); ++k)
    levels.push_back({.radius = picture_radii[k], .steps = &levels_[k]->steps});
  return LocalPolish(*problem_, assembler_, options_, levels, plain_level).nearest(query, feasible);
}

std::vector<Answer> LocalSearch::answer(const Query& query) const {
  std::vector<Answer> plans = {answer_without(query, {})};
  if (!problem_->model->schema().constraints.empty()) improve(plans.front(), query);
  if (options_.plans > 1 && plans.front().status == Status::certified) add_plans(plans, query);
  // What the query breaks is a matter of the constraints that were asked for, not of what a search
  // locked besides.
  const FeasibleSet asked(problem_->model->encoder, problem_->constraints, query.index, query.raw,
                          problem_->display_steps);
  for (Answer& plan : plans) plan.query_violations = asked.query_violations();
  return plans;
}

void LocalSearch::improve(Answer& best, const Query& query) const {
  if (best.status != Status::certified) return;
  const std::vector<Change> changes = best.changes;
  for (const Change& change : changes) {
    Answer other = answer_without(query, {*problem_->model->schema().find(change.feature)});
    const bool fewer = options_.sparse && other.distance.changed < best.distance.changed;
    const bool no_more = !options_.sparse || other.distance.changed <= best.distance.changed;
    const bool cheaper = no_more && other.distance.weighted < best.distance.weighted;
    if (other.status == Status::certified && (fewer || cheaper)) best = std::move(other);
  }
}

FeasibleSet LocalSearch::feasible_without(const Query& query, const Features& kept,
                                          Constraints& constraints) const {
  constraints = problem_->constraints;
  for (const std::size_t j : kept) {
    const std::string& name = problem_->model->schema().features[j].name;
    constraints.features[name].locked = true;
    const auto own = constraints.queries.find(query.index);
    if (own != constraints.queries.end()) own->second[name].locked = true;
  }
  return {problem_->model->encoder, constraints, query.index, query.raw, problem_->display_steps};
}

Answer LocalSearch::nearest_without(const Query& query, const Features& kept) const {
  Constraints constraints;
  return best_over_branches(feasible_without(query, kept, constraints),
                            [&](const FeasibleSet& branch) { return nearest(query, branch); });
}

Answer LocalSearch::answer_without(const Query& query, const Features& kept) const {
  Answer nearest = nearest_without(query, kept);
  if (nearest.status == Status::already_robust || nearest.status == Status::not_found) {
    return nearest;
  }
  const bool fits = !options_.max_changes || nearest.distance.changed <= *options_.max_changes;
  if (fits && !(options_.sparse && nearest.status == Status::certified)) return nearest;
  return change_few(query, kept, std::move(nearest));
}

Answer LocalSearch::change_few(const Query& query, const Features& kept, Answer nearest) const {
  Constraints constraints;
  const FeasibleSet feasible = feasible_without(query, kept, constraints);
  FewFeatures few(plain_steps().context_of(query, feasible));
  const int most = std::min(options_.max_changes.value_or(nearest.distance.changed),
                            static_cast<int>(few.movable()));
  const bool nearest_fits = nearest.status == Status::certified && nearest.distance.changed <= most;
  std::optional<Answer> best;
  const auto is_better = [&](const Answer& a, const Answer& b) {
    if (options_.sparse && a.distance.changed != b.distance.changed) {
      return a.distance.changed < b.distance.changed;
    }
    return a.distance.weighted < b.distance.weighted;
  };
  const auto try_set = [&](const Features& set) {
    Features others;
    for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
      if (!std::binary_search(set.begin(), set.end(), j)) others.push_back(j);
    }
    Answer answer = nearest_without(query, others);
    if (answer.status != Status::certified) return;
    if (!best || is_better(answer, *best)) best = std::move(answer);
  };
  for (int size = 1; size <= most && !(options_.sparse && best); ++size) {
    // As few as the nearest answer has: that one is known.
    if (options_.sparse && nearest_fits && size == nearest.distance.changed) break;
    const std::vector<Features> sets = few.next();
    if (!options_.sparse && size < most) continue;
    for (const Features& set : sets) try_set(set);
  }
  if (nearest_fits && (!best || is_better(nearest, *best))) best = std::move(nearest);
  if (best) return *best;
  Answer none = assembler_.begin(query, feasible);
  none.status = Status::not_found;
  none.message = fmt::format(
      "no certified row with at most {} change{} was found; the search is local and proves nothing",
      most, most == 1 ? "" : "s");
  return none;
}

void LocalSearch::add_plans(std::vector<Answer>& plans, const Query& query) const {
  struct Branch {
    Features locked = {};  // sorted
    Answer answer = {};
  };
  const Schema& schema = problem_->model->schema();
  std::vector<Branch> open = {{.answer = plans.front()}};
  std::set<Features> seen;
  std::size_t searches = 0;
  const auto cheaper = [&](const Branch& a, const Branch& b) {
    if (options_.sparse && a.answer.distance.changed != b.answer.distance.changed) {
      return a.answer.distance.changed < b.answer.distance.changed;
    }
    return a.answer.distance.weighted < b.answer.distance.weighted;
  };
  while (plans.size() < static_cast<std::size_t>(options_.plans) && !open.empty()) {
    check_stop();
    const auto next = std::min_element(open.begin(), open.end(), cheaper);
    const auto contained = std::find_if(plans.begin(), plans.end(), [&](const Answer& earlier) {
      return contains_changes(next->answer, earlier);
    });
    if (contained == plans.end()) {
      Answer plan = next->answer;
      plan.plan = static_cast<int>(plans.size());
      plan.reason = plan_reason(plan, plans.front());
      plans.push_back(std::move(plan));
      continue;
    }
    const Features locked = next->locked;
    open.erase(next);
    for (const Change& change : contained->changes) {
      Features more = locked;
      const std::size_t feature = *schema.find(change.feature);
      more.insert(std::lower_bound(more.begin(), more.end(), feature), feature);
      if (searches == most_searches || !seen.insert(more).second) continue;
      ++searches;
      Answer answer = answer_without(query, more);
      if (answer.status == Status::certified) open.push_back({std::move(more), std::move(answer)});
    }
  }
  if (plans.size() == static_cast<std::size_t>(options_.plans)) return;
  // Said with the first plan that is missing, so that fewer plans read the same.
  Answer missing = plans.front();
  missing = {.query_index = missing.query_index,
             .id = missing.id,
             .target = missing.target,
             .query = missing.query,
             .query_violations = missing.query_violations};
  missing.plan = static_cast<int>(plans.size());
  missing.status = Status::not_found;
  missing.message =
      "no further plan was found that leaves alone something of each of these; the search is local "
      "and proves nothing";
  plans.push_back(std::move(missing));
}

}  // namespace ellice

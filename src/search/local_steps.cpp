#include "search/local_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "search/discrete_search.hpp"

namespace ellice {

namespace {

/// Searches for one query ask for a little more than the certificate does. Where the row as written
/// is refused, they ask for more: rounding where the set is exact, a larger κ where it is first
/// order and the real network falls short of its linearisation.
struct Attempt {
  double factor = 1;  // on κ
  double margin = 1e-9;
};
constexpr std::array<Attempt, 3> exact_attempts = {
    {{.margin = 1e-9}, {.margin = 1e-7}, {.margin = 1e-5}}};
constexpr std::array<Attempt, 6> first_order_attempts = {{{.factor = 1},
                                                          {.factor = 1.005},
                                                          {.factor = 1.02},
                                                          {.factor = 1.05},
                                                          {.factor = 1.15},
                                                          {.factor = 1.3}}};
// Candidates that are rounded onto grids: the nearest need not stay the nearest.
constexpr std::size_t rounded_candidates = 3;
// Searches that end at the same point differ by so much at most, in model space.
constexpr double same_point = 1e-5;
// By how much κ falls where a reduced answer is lost to grids, and how often.
// Choices of whole numbers and levels for which a smaller ε is looked for.
constexpr std::size_t reduced_choices = 3;
constexpr double reduction = 0.9;
constexpr int most_reductions = 30;

/// Makes an answer of the searches for one query.
class Completion {
 public:
  Completion(const Assembler& assembler, LocalQuery& search, const QueryContext& context,
             Answer& result)
      : assembler_(&assembler), search_(&search), context_(&context), result_(&result) {}

  /// From all starts, or from these.
  [[nodiscard]] bool certify(std::vector<LocalQuery::Candidate> starts = {}) {
    if (!is_first_order(context_->problem->set.kind)) {
      return certify(std::move(starts), exact_attempts);
    }
    const bool anew = starts.empty();
    if (certify(std::move(starts), first_order_attempts)) return true;
    // The starts for a larger κ are others.
    return anew && std::any_of(first_order_attempts.begin() + 1, first_order_attempts.begin() + 3,
                               [&](const Attempt& attempt) {
                                 return certify({}, std::array<Attempt, 1>{attempt});
                               });
  }

  /// Whether some point was robust and yet not certified.
  [[nodiscard]] bool was_refused() const { return was_refused_; }

  /// The largest ε that is reached instead.
  [[nodiscard]] bool reduce() {
    const double asked = context_->problem->epsilon;
    std::optional<LocalQuery::Widest> widest = search_->widest(std::sqrt(2 * asked));
    if (!widest) return false;
    // What all starts missed may turn up here after all.
    if (widest->kappa * widest->kappa >= 2 * asked && certify({widest->candidate})) return true;
    double kappa = std::min(widest->kappa, std::sqrt(2 * asked));
    for (int k = 0; k < most_reductions; ++k, kappa *= reduction) {
      check_stop();
      search_->set_radius(kappa, 0);
      std::vector<LocalQuery::Candidate> candidates = search_->search_from({widest->candidate});
      candidates.push_back(widest->candidate);
      for (const LocalQuery::Candidate& candidate : candidates) {
        const std::optional<Vector> row = search_->to_row(candidate);
        if (row && accept_reduced(*row)) return true;
      }
    }
    was_refused_ = true;
    return false;
  }

 private:
  template <std::size_t n>
  [[nodiscard]] bool certify(std::vector<LocalQuery::Candidate> candidates,
                             const std::array<Attempt, n>& attempts) {
    const double kappa = std::sqrt(2 * context_->problem->epsilon);
    std::optional<Answer> best;
    for (const Attempt& attempt : attempts) {
      search_->set_radius(attempt.factor * kappa, attempt.margin);
      candidates = candidates.empty() ? search_->search() : search_->search_from(candidates);
      if (candidates.empty()) break;
      Answer offered = *result_;
      const bool has_grid = context_->feasible->has_grid();
      const std::optional<std::size_t> accepted =
          has_grid ? accept_rounded(offered, candidates) : accept_first(offered, candidates);
      if (accepted && (!best || offered.distance.weighted < best->distance.weighted)) {
        best = std::move(offered);
      }
      if (accepted == 0U) break;
      was_refused_ = true;  // the nearest was: with a little more it may pass
    }
    if (best) *result_ = std::move(*best);
    return best.has_value();
  }

  /// For the row's own κ, or a little less where the certificate wants that.
  [[nodiscard]] bool accept_reduced(const Vector& row) {
    const double asked = context_->problem->epsilon;
    const double own = std::min(search_->radius_of(row), std::sqrt(2 * asked));
    if (own < 0) return false;
    const bool first_order = is_first_order(context_->problem->set.kind);
    for (const Attempt& attempt : first_order_attempts) {
      const double kappa = (1 - 1e-9) * own / (first_order ? attempt.factor : 1);
      const double epsilon = kappa * kappa / 2;
      if (assembler_->accept_reduced(*result_, row, *context_->feasible, epsilon)) {
        result_->message = fmt::format(
            "no answer was found for epsilon = {:.6g}; this one is certified for {:.6g}", asked,
            epsilon);
        return true;
      }
      if (!first_order) break;
    }
    return false;
  }

  /// The first candidate that is certified as it is written, and its place.
  [[nodiscard]] std::optional<std::size_t> accept_first(
      Answer& offered, const std::vector<LocalQuery::Candidate>& candidates) const {
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const Vector row = context_->feasible->decode(candidates[k].point);
      if (assembler_->accept(offered, row, *context_->feasible)) return k;
    }
    return std::nullopt;
  }

  /// The cheapest of the first few on their grids, or the first one that is certified there.
  [[nodiscard]] std::optional<std::size_t> accept_rounded(
      Answer& offered, const std::vector<LocalQuery::Candidate>& candidates) {
    std::optional<std::size_t> found;
    std::vector<std::size_t> tried;
    const auto is_tried = [&](const LocalQuery::Candidate& candidate) {
      return std::any_of(tried.begin(), tried.end(), [&](std::size_t k) {
        const Vector apart = candidate.point - candidates[k].point;
        return candidate.box == candidates[k].box && apart.lpNorm<Eigen::Infinity>() < same_point;
      });
    };
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (tried.size() >= rounded_candidates && found) break;
      if (is_tried(candidates[k])) continue;
      tried.push_back(k);
      const std::optional<Vector> row = search_->to_row(candidates[k]);
      Answer rounded = *result_;
      if (!row || !assembler_->accept(rounded, *row, *context_->feasible)) continue;
      if (found && rounded.distance.weighted >= offered.distance.weighted) continue;
      offered = std::move(rounded);
      found = found.value_or(k);
    }
    return found;
  }

  const Assembler* assembler_;
  LocalQuery* search_;
  const QueryContext* context_;
  Answer* result_;
  bool was_refused_ = false;
};

/// What a rule had to move although nobody chose for it was not held.
void leave_out_moved(Answer& answer) {
  std::erase_if(answer.held, [&](const std::string& name) {
    return std::any_of(answer.changes.begin(), answer.changes.end(),
                       [&](const Change& change) { return change.feature == name; });
  });
}

}  // namespace

LocalSteps::LocalSteps(const Problem& problem, const LocalSearchOptions& options,
                       const RowStarts* rows)
    : problem_(&problem),
      options_(&options),
      assembler_(problem),
      weights_(column_weights(problem.model->encoder)),
      rows_(rows),
      gradient_(problem) {}

QueryContext LocalSteps::context_of(const Query& query, const FeasibleSet& feasible) const {
  return {.problem = problem_,
          .options = options_,
          .set = &assembler_.set(),
          .rows = rows_,
          .weights = &weights_,
          .feasible = &feasible,
          .index = query.index};
}

Answer LocalSteps::nearest(const Query& query, const FeasibleSet& feasible) const {
  Answer result = find(query, feasible);
  leave_out_moved(result);
  return result;
}

Answer LocalSteps::find(const Query& query, const FeasibleSet& feasible) const {
  Answer result = assembler_.begin(query, feasible);
  if (assembler_.already_robust(result, feasible)) return result;
  const bool chooses = options_->discrete_nodes > 0 && !feasible.held().empty();
  if (!chooses) result.held = feasible.held();
  const Answer blank = result;
  const QueryContext context = context_of(query, feasible);
  LocalQuery search(context);
  Completion completion(assembler_, search, context, result);
  bool certified = completion.certify();
  if (completion.was_refused()) {
    // Where the real network has the last word, a method that asks it at every step may know more.
    Answer other = gradient_.generate({query}, {}).front();
    // It knows the constraints of all queries, not what this search keeps beyond them.
    if (other.status == Status::certified &&
        feasible.violations(problem_->model->encoder.raw(*other.counterfactual)).empty() &&
        (!certified || other.distance.weighted < result.distance.weighted)) {
      other.held = result.held;
      result = std::move(other);
      certified = true;
    }
  }
  std::vector<Vector> others;  // rows whose whole numbers and levels may reach farther
  if (chooses) others = choose(result, blank, context);
  if (result.status == Status::certified) return result;
  if (problem_->epsilon > 0) {
    (void)completion.reduce();
    reduce(result, blank, context, others);
    if (is_certified(result.status)) return result;
  }
  result.status = Status::not_found;
  result.message = fmt::format(
      "{}; the search is local and proves nothing",
      completion.was_refused()
          ? "points that the model accepts were found, but none that is certified as it is written"
          : "no allowed point was found that even the model itself accepts");
  return result;
}

std::vector<Vector> LocalSteps::choose(Answer& result, const Answer& blank,
                                       const QueryContext& context) const {
  const auto has_answer = [&] { return result.status == Status::certified; };
  std::vector<Vector> starts;
  if (has_answer()) {
    starts.push_back(problem_->model->encoder.encode(*result.counterfactual));
  }
  starts.push_back(context.feasible->query());
  DiscreteSearch discrete(context);
  const DiscreteSearch::Outcome outcome = discrete.search(
      std::sqrt(2 * problem_->epsilon), starts, has_answer() ? result.distance.weighted : infinity);
  std::size_t accepted = 0;
  for (const DiscreteSearch::Choice& choice : outcome.robust) {
    if (accepted == rounded_candidates) break;
    if (has_answer() && choice.cost >= result.distance.weighted) break;
    const FeasibleSet pinned = context.feasible->holding(choice.row);
    const QueryContext part = context.with(pinned);
    LocalQuery search(part);
    Answer offered = blank;
    Completion completion(assembler_, search, part, offered);
    if (!completion.certify(search.candidates_at(choice.point))) continue;
    ++accepted;
    // The choice was made from few starts; with all of them its numbers may come nearer.
    Answer again = blank;
    if (Completion(assembler_, search, part, again).certify() &&
        again.distance.weighted < offered.distance.weighted) {
      offered = std::move(again);
    }
    if (!has_answer() || offered.distance.weighted < result.distance.weighted) {
      result = std::move(offered);
    }
  }
  // Robust as the search sees it and yet refused, or not robust at this ε.
  std::vector<Vector> rows;
  for (const DiscreteSearch::Choice& choice :
       outcome.robust.empty() ? outcome.widest : outcome.robust) {
    if (rows.size() < reduced_choices) rows.push_back(choice.row);
  }
  return rows;
}

void LocalSteps::reduce(Answer& result, const Answer& blank, const QueryContext& context,
                        const std::vector<Vector>& rows) const {
  for (const Vector& row : rows) {
    const FeasibleSet pinned = context.feasible->holding(row);
    const QueryContext part = context.with(pinned);
    LocalQuery search(part);
    Answer offered = blank;
    if (!Completion(assembler_, search, part, offered).reduce()) continue;
    if (offered.status == Status::certified || !result.attained_epsilon ||
        *offered.attained_epsilon > *result.attained_epsilon) {
      result = std::move(offered);
    }
    if (result.status == Status::certified) return;
  }
}

}  // namespace ellice

#include "search/infeasibility.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "request/enumeration.hpp"
#include "search/infeasibility_proof.hpp"
#include "search/largest_epsilon.hpp"

namespace ellice {

namespace {

/// In which order constraints are tried for sparing: what people set before what data say, and an
/// immutable feature before its range, so that it is named only where that would help.
int rank_of(NamedConstraint::Kind kind) {
  using Kind = NamedConstraint::Kind;
  switch (kind) {
    case Kind::immutable:
      return 0;
    case Kind::locked:
    case Kind::code:
      return 1;
    case Kind::changes:
      return 2;
    case Kind::direction:
    case Kind::pace:
      return 3;
    case Kind::allowed:
      return 4;
    case Kind::implication:
      return 5;
    case Kind::rule:
      return 6;
    case Kind::minimum:
    case Kind::maximum:
      return 7;
    case Kind::training_range:
      break;
  }
  return 8;
}

/// What is left of the constraints while one after the other is spared.
class Current {
 public:
  Current(FeasibleSet feasible, std::optional<std::size_t> room)
      : feasible_(std::make_unique<FeasibleSet>(std::move(feasible))),
        room_(room),
        domain_(*feasible_, room) {
    if (feasible_->encoder().schema().implications.empty()) return;
    const std::vector<NamedConstraint> all = feasible_->constraints();
    has_cases_ = std::any_of(all.begin(), all.end(), [](const NamedConstraint& constraint) {
      return constraint.kind == NamedConstraint::Kind::implication;
    });
  }

  [[nodiscard]] std::optional<std::size_t> room() const { return room_; }
  [[nodiscard]] const FeasibleSet& set() {
    if (!spared_.empty()) feasible_->lift(std::exchange(spared_, {}));
    return *feasible_;
  }
  [[nodiscard]] FeasibleSet without(const NamedConstraint& constraint) {
    return constraint.kind == NamedConstraint::Kind::changes ? set() : set().without(constraint);
  }
  [[nodiscard]] std::optional<std::size_t> room_without(const NamedConstraint& constraint) const {
    return constraint.kind == NamedConstraint::Kind::changes ? std::nullopt : room_;
  }

  /// Spares a constraint on one feature where half-spaces that are known rule out what is then
  /// left: most have no part in what blocks, and to see that takes one sum.
  [[nodiscard]] bool spares(const NamedConstraint& constraint, const RowReach& reach) {
    using Kind = NamedConstraint::Kind;
    const bool is_of_feature = constraint.kind != Kind::rule &&
                               constraint.kind != Kind::implication &&
                               constraint.kind != Kind::changes;
    if (has_cases_ || !is_of_feature) return false;
    const bool has_more = std::any_of(spared_.begin(), spared_.end(), [&](const auto& earlier) {
      return earlier.index == constraint.index;
    });
    if (has_more) (void)set();
    RowDomain larger = domain_.with_range(constraint.index, feasible_->range_without(constraint));
    if (!reach.rules_out(larger)) return false;
    domain_ = std::move(larger);
    spared_.push_back(constraint);
    return true;
  }

 private:
  std::unique_ptr<FeasibleSet> feasible_;
  std::optional<std::size_t> room_;
  RowDomain domain_;
  std::vector<NamedConstraint> spared_;  // not yet lifted from the set
  bool has_cases_ = false;
};

/// One query's question, asked again and again with fewer constraints or another ε.
class Explanation {
 public:
  Explanation(const Problem& problem, const LinearQuestion& question, const Assembler& assembler,
              const FeasibleSet& feasible, std::optional<std::size_t> most_changes,
              const CommonGround& common)
      : problem_(&problem),
        question_(&question),
        assembler_(&assembler),
        feasible_(feasible.without_display_steps()),
        most_changes_(most_changes),
        common_(&common),
        smaller_(question.lost() > 0 ? std::make_unique<const LinearQuestion>(question.surely())
                                     : nullptr),
        reach_(problem, smaller_ ? *smaller_ : question),
        proofs_(problem, smaller_ ? *smaller_ : question, reach_) {
    for (const ReachPlane& plane : common.planes) reach_.add(plane);
  }

  /// `is_exhausted`: a search has ruled out every allowed row already.
  [[nodiscard]] std::optional<Infeasibility> explain(bool is_exhausted) {
    Infeasibility result{.upper_bound = -infinity};
    for (const FeasibleSet& branch : feasible_.branches()) {
      std::optional<InfeasibilityProof> proof;
      if (!common_->planes.empty()) proof = proofs_.known(branch);
      if (!proof) proof = proofs_.find(branch);
      if (!proof) return explain_by_enumeration(is_exhausted);
      result.upper_bound = std::max(result.upper_bound, proof->upper_bound);
      result.cases.push_back(std::move(*proof));
    }
    if (result.cases.size() == 1 && result.cases.front().supposes.empty()) {
      result.model = std::move(result.cases.front().model);
      result.models = std::move(result.cases.front().models);
      result.rules = std::move(result.cases.front().rules);
      result.cases.clear();
    }
    add_best(result);
    result.max_epsilon = max_epsilon();
    result.blocking = blocking();
    return result;
  }

  /// Of a set that holds what anybody may become.
  [[nodiscard]] CommonGround survey() {
    const std::optional<std::size_t> parts = hinted_parts();
    const Reached robust = reach_.search(
        feasible_,
        {.floor = problem_->threshold, .enough = problem_->threshold, .most_parts = parts});
    if (robust.status != Reached::Status::none) return {};
    CommonGround result;
    FeasibleSet bare = feasible_;
    bare.lift(feasible_.constraints());
    (void)reach_.robust_row(bare, {});
    result.best = reach_.search(feasible_, {.most_parts = parts});
    best_ = result.best.row;
    result.planes = reach_.planes();
    result.best.bound = std::min(result.best.bound, result.bound(feasible_));
    result.ranges = feasible_.ranges();
    const EpsilonBounds bounds = max_epsilon();
    if (!bounds.lower) return result;
    result.last = problem_->model->encoder.raw(bounds.point);
    result.reached = *bounds.lower;
    result.limit = bounds.upper;
    result.limit_planes = std::move(limit_planes_);
    return result;
  }

 private:
  /// Where grids and levels rule out what their hulls do not, no weights show it.
  [[nodiscard]] std::optional<Infeasibility> explain_by_enumeration(bool is_exhausted) {
    // Of a query outside a range: with its own values there, or inside.
    const bool is_outside = feasible_.boxes().size() > 1;
    if (!is_exhausted && (!is_outside || reach_.robust_row(feasible_, most_changes_).status !=
                                             Reached::Status::none))
      return std::nullopt;
    Infeasibility result{.upper_bound = by_enumeration};
    add_best(result);
    result.best_bound = std::min(result.best_bound, problem_->threshold);  // no row has as much
    result.max_epsilon = max_epsilon();
    result.blocking = blocking();
    return result;
  }

  [[nodiscard]] RawRow values(const Vector& raw) const {
    return problem_->model->encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
  }

  [[nodiscard]] Vector encoded(const Vector& raw) const {
    Vector z(problem_->model->encoder.columns());
    problem_->model->encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
    return z;
  }

  void add_best(Infeasibility& why) {
    Reached best = most_robust();
    best_ = best.row;
    if (best.row.size() == 0) return;
    if (smaller_) best.value = question_->robust_logit(encoded(best.row));
    why.best = values(best.row);
    why.best_robust_logit = best.value;
    // The proof's bound is one for every row, where it weighs models.
    const bool weighs_models = why.model.size() > 0 || !why.models.empty();
    why.best_bound = weighs_models ? std::min(best.bound, why.upper_bound) : best.bound;
    why.best_bound = std::max(why.best_bound, best.value);
  }

  /// That of everybody where it is allowed, and so is nothing that is not theirs.
  [[nodiscard]] Reached most_robust() {
    const Reached& best = common_->best;
    if (best.row.size() > 0 && common_->holds(feasible_) && allows(best.row)) return best;
    return reach_.search(feasible_, {.most_changes = most_changes_, .most_parts = hinted_parts()});
  }

  /// Of a search on which only a hint depends; as many as usual if nothing.
  [[nodiscard]] std::optional<std::size_t> hinted_parts() const {
    return question_->is_conic() ? std::optional(ellice::hinted_parts(*question_)) : std::nullopt;
  }

  /// Tries one constraint after another, for good if what is left still has no answer. What remains
  /// blocks; whatever was lifted later makes the sets larger, so that each witness stays one.
  [[nodiscard]] Blocking blocking() {
    std::vector<NamedConstraint> all = feasible_.constraints();
    if (most_changes_) {
      all.push_back({.kind = NamedConstraint::Kind::changes,
                     .text = fmt::format("at most {} feature{} may change", *most_changes_,
                                         *most_changes_ == 1 ? "" : "s")});
    }
    Blocking result{.is_proved = true};
    FeasibleSet bare = feasible_;
    bare.lift(all);
    const Reached whatever = reach_.robust_row(bare, {});
    if (whatever.status == Reached::Status::none) {
      result.proofs = proofs_.find_all(bare);
      return result;
    }
    std::vector<std::size_t> order(all.size());
    for (std::size_t c = 0; c < all.size(); ++c) order[c] = c;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rank_of(all[a].kind) < rank_of(all[b].kind);
    });
    std::vector<std::optional<RawRow>> kept(all.size());
    Current current(feasible_, most_changes_);
    for (const std::size_t c : order) {
      if (current.spares(all[c], reach_)) continue;
      FeasibleSet trial = current.without(all[c]);
      const std::optional<std::size_t> room = current.room_without(all[c]);
      const Reached reached = reach_.robust_row(trial, room);
      if (reached.status == Reached::Status::none) {
        current = Current(std::move(trial), room);
        continue;
      }
      const bool is_witness =
          reached.status == Reached::Status::found && assembler_->certifies(reached.row);
      result.is_proved = result.is_proved && is_witness;
      kept[c] = is_witness ? values(reached.row) : RawRow();
    }
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (!kept[c]) continue;
      result.constraints.push_back(all[c].text);
      result.witnesses.push_back(std::move(*kept[c]));
    }
    // A limit of changes has no part in proofs by models.
    if (!current.room()) result.proofs = proofs_.find_all(current.set());
    return result;
  }

  [[nodiscard]] bool allows(const Vector& row) const {
    const auto changes =
        static_cast<std::size_t>((row.array() != feasible_.query_raw().array()).count());
    return (!most_changes_ || changes <= *most_changes_) && feasible_.violations(row).empty();
  }

  [[nodiscard]] EpsilonBounds max_epsilon() {
    LargestEpsilon search(*problem_, *question_, feasible_, most_changes_, reach_);
    if (common_->last.size() > 0 && allows(common_->last)) {
      search.start(common_->last, common_->reached);
    } else {
      (void)search.offer(best_);
    }
    search.known(common_->limit, common_->limit_planes, common_->holds(feasible_));
    EpsilonBounds result = search.find();
    limit_planes_ = std::move(search.planes());
    return result;
  }

  const Problem* problem_;
  const LinearQuestion* question_;
  const Assembler* assembler_;
  FeasibleSet feasible_;
  std::optional<std::size_t> most_changes_;
  const CommonGround* common_;
  /// Of an ill-conditioned set: what is ruled out there is so whatever a solve loses (Result 51).
  std::unique_ptr<const LinearQuestion> smaller_;
  RowReach reach_;
  ProofSearch proofs_;
  Vector best_;
  std::vector<ReachPlane> limit_planes_;  // of the smallest ε that was shown to have no answer
};

}  // namespace

std::optional<Infeasibility> explain_infeasibility(const Problem& problem,
                                                   const LinearQuestion& question,
                                                   const Assembler& assembler,
                                                   const FeasibleSet& feasible,
                                                   std::optional<std::size_t> most_changes,
                                                   const CommonGround& common, bool is_exhausted) {
  return Explanation(problem, question, assembler, feasible, most_changes, common)
      .explain(is_exhausted);
}

bool CommonGround::holds(const FeasibleSet& feasible) const {
  const auto is_within = [](const FeatureRange& part, const FeatureRange& whole) {
    if (part.contains(part.query) && !whole.contains(part.query)) return false;
    if (part.fixed || part.lower > part.upper) return true;
    return whole.lower <= part.lower && part.upper <= whole.upper && !whole.fixed &&
           whole.step == part.step && whole.origin == part.origin && whole.allowed == part.allowed;
  };
  return std::equal(feasible.ranges().begin(), feasible.ranges().end(), ranges.begin(),
                    ranges.end(), is_within);
}

double CommonGround::bound(const FeasibleSet& feasible) const {
  if (planes.empty()) return infinity;
  double result = -infinity;
  for (const FeasibleSet& branch : feasible.branches()) {
    const RowDomain domain(branch, {});
    double least = infinity;
    for (const ReachPlane& plane : planes) least = std::min(least, RowReach::bound(domain, plane));
    result = std::max(result, least);
  }
  return result;
}

bool CommonGround::rules_out(const FeasibleSet& feasible, double threshold) const {
  return !planes.empty() && (holds(feasible) || bound(feasible) < threshold);
}

CommonGround common_ground(const Problem& problem, const LinearQuestion& question,
                           const Assembler& assembler) {
  const Encoder& encoder = problem.model->encoder;
  const std::vector<Feature>& features = encoder.schema().features;
  // Of nobody: a row in the middle, to which no constraint of a single query belongs.
  Vector middle = Vector::Zero(static_cast<Index>(features.size()));
  for (std::size_t j = 0; j < features.size(); ++j) {
    if (!features[j].is_number()) continue;
    const double mean = encoder.statistics(j).mean;
    middle(static_cast<Index>(j)) = features[j].is_whole() ? std::nearbyint(mean) : mean;
  }
  FeasibleSet everybody(encoder, problem.constraints, std::numeric_limits<std::size_t>::max(),
                        middle);
  std::vector<NamedConstraint> personal = everybody.constraints();
  std::erase_if(personal, [](const NamedConstraint& constraint) {
    using Kind = NamedConstraint::Kind;
    return constraint.kind != Kind::immutable && constraint.kind != Kind::locked &&
           constraint.kind != Kind::direction && constraint.kind != Kind::pace &&
           constraint.kind != Kind::implication;
  });
  everybody.lift(personal);
  return Explanation(problem, question, assembler, everybody, {}, {}).survey();
}

bool is_proved_unreachable(const Problem& problem, const LinearQuestion& question,
                           const FeasibleSet& feasible) {
  Problem squares = problem;
  squares.cost = {.kind = CostKind::l2};  // for which cutting planes settle best
  const std::optional<LinearQuestion> smaller =
      question.lost() > 0 ? std::optional(question.surely()) : std::nullopt;
  const LinearQuestion& sure = smaller ? *smaller : question;
  RowReach reach(squares, sure);
  const ProofSearch proofs(squares, sure, reach);
  const std::vector<FeasibleSet> branches = feasible.branches();
  return std::all_of(branches.begin(), branches.end(),
                     [&](const FeasibleSet& branch) { return proofs.find(branch).has_value(); });
}

}  // namespace ellice

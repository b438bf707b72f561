#include <algorithm>
#include <array>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "solver/mixed_search.hpp"
#include "solver/rule_rounding.hpp"

namespace ellice {

namespace {

constexpr std::size_t most_kept_cuts = 32;
constexpr std::size_t cuts_per_node = 2;
constexpr int cut_rounds = 12;
// Steps of the ascent, the longest first, and the share of the missing bound that one must gain.
constexpr std::array<double, 2> shares = {1, 0.4};
constexpr double least_progress = 0.02;

/// A half-space of a model between the models of two.
Cut between(const Cut& from, const Cut& to, double share) {
  Cut result = to;
  result.need = (1 - share) * from.need + share * to.need;
  result.gradient = (1 - share) * from.gradient + share * to.gradient;
  for (std::size_t u = 0; u < to.option_gains.size(); ++u) {
    for (std::size_t k = 0; k < to.option_gains[u].size(); ++k) {
      result.option_gains[u][k] =
          (1 - share) * from.option_gains[u][k] + share * to.option_gains[u][k];
    }
  }
  return result;
}

}  // namespace

bool MixedSearch::bound_by_pool(MixedNode& node, const Room& room, DualBound& bound) {
  // One look at every cut, where the parent's bound was best; then the most promising in full.
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    const double value = dual_.value_at(cuts_[k], node.domains, room.slots, node.multiplier);
    if (value >= enough()) {
      if (k > 0) std::swap(cuts_[k], cuts_[k - 1]);
      return false;
    }
    order.emplace_back(-value, k);
  }
  std::stable_sort(order.begin(), order.end());
  order.resize(std::min(order.size(), cuts_per_node));
  bound.value = -infinity;
  for (const auto& [value, k] : order) {
    DualBound next = dual_.maximise(cuts_[k], node.domains, room.slots, node.multiplier, enough());
    if (next.infeasible || next.value >= enough()) {
      if (k > 0) std::swap(cuts_[k], cuts_[k - 1]);
      return false;
    }
    if (next.value > bound.value) bound = std::move(next);
  }
  return true;
}

// Frank and Wolfe's ascent over the models of the ellipsoid: towards the worst model at the point
// between the two sides of the bound, as far as that raises it. On the way, points near it are
// tried as answers.
bool MixedSearch::improve(MixedNode& node, const Room& room, DualBound& bound) {
  node_cut_ = *bound.cut;
  for (int round = 0; round < cut_rounds; ++round) {
    check_stop();
    bound.cut = &node_cut_;
    try_choices(node, room, bound);
    node.multiplier = bound.best().multiplier;
    if (bound.value >= enough()) return false;
    const std::optional<Cut> towards =
        violated_cut((1 - bound.share) * point_of(bound.below.choices) +
                     bound.share * point_of(bound.above.choices));
    if (!towards) break;
    add_cut(*towards);
    const double before = bound.value;
    for (const double share : shares) {
      Cut trial = between(node_cut_, *towards, share);
      DualBound next = dual_.maximise(trial, node.domains, room.slots, node.multiplier, enough());
      if (next.infeasible || next.value >= enough()) return false;
      if (!(next.value > bound.value)) continue;
      bound = std::move(next);
      node_cut_ = std::move(trial);
      break;
    }
    const double target = found_ ? enough() : 2 * before;
    if (!(bound.value - before > least_progress * (target - before))) break;
  }
  bound.cut = &node_cut_;
  node.bound = std::max(node.bound, bound.value);
  return node.bound < enough();
}

MixedSearch::Judged MixedSearch::evaluate(VectorArg x) {
  Judged result{.worst = {.x = x, .value = infinity, .model = Vector::Zero(x.size() + 1)},
                .missing = -infinity};
  supports_.clear();
  for (Index k = 0; k < oracle_->parts(); ++k) {
    supports_.push_back(oracle_->at(k, x));
    const Support& at = supports_.back();
    if (at.value < result.worst.value) result.worst = at;
    result.missing = std::max(result.missing, missing(at));
  }
  return result;
}

Cut MixedSearch::make_cut(const Support& at) const {
  return make_cut(at.gradient(),
                  problem_->threshold - at.value - at.gradient().dot(problem_->query - at.x));
}

Cut MixedSearch::make_cut(Vector gradient, double need) const {
  Cut cut{.need = need,
          .gradient = std::move(gradient),
          .option_gains = std::vector<std::vector<double>>(units_.size())};
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const MixedUnit& unit = units_[u].unit();
    const auto own = problem_->query.segment(unit.column, unit.width);
    const auto slope = cut.gradient.segment(unit.column, unit.width);
    for (const MixedOption& option : unit.options) {
      cut.option_gains[u].push_back(slope.dot(option.values - own));
    }
  }
  return cut;
}

std::optional<Cut> MixedSearch::violated_cut(VectorArg x) {
  const Support state = evaluate(x).worst;
  if (is_plain_) {
    if (state.value >= problem_->threshold) return std::nullopt;
    return make_cut(state);
  }
  const double norm = state.gradient().norm();
  double most = 0;
  std::optional<Cut> result;
  if (state.value < problem_->threshold) {
    most = norm > 0 ? (problem_->threshold - state.value) / norm : infinity;
    result = make_cut(state);
  }
  for (const LinearRule& rule : problem_->rules) {
    const double value = rule.coefficients.dot(state.x);
    const double excess = std::max(value - rule.upper, rule.lower - value);
    const double length = rule.coefficients.norm();
    if (!(excess > rule.tolerance) || !(excess > most * length)) continue;
    most = length > 0 ? excess / length : infinity;
    mixes_ = true;
    const double sign = value > rule.upper ? -1 : 1;
    const double bound = value > rule.upper ? rule.upper : rule.lower;
    const double need = sign * (bound - rule.coefficients.dot(problem_->query));
    result = make_cut(sign * rule.coefficients, need - rule.tolerance - rule_rounding(need));
  }
  return result;
}

void MixedSearch::add_cut(Cut cut) {
  if (cuts_.size() == most_kept_cuts) cuts_.pop_back();
  cuts_.insert(cuts_.begin(), std::move(cut));
}

}  // namespace ellice

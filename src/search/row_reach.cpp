#include "search/row_reach.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

// Beyond the threshold by this much of its terms a row is certified, whatever rounding does.
constexpr double reach_margin = 2 * certificate_margin;
// A row that is better by less than this is not looked for: where closed forms bound scores, and
// where a solver does.
constexpr double settled = 1e-9;
constexpr double nearly_settled = 3e-7;
// How often the same part is asked for a better row before it is split.
constexpr int most_asks = 6;
// Parts of one search; fewer where each takes passes over all training rows.
constexpr std::size_t conic_nodes = 400;
constexpr std::size_t searched_nodes = 60;
// Half-spaces that are kept; the oldest goes first.
constexpr std::size_t most_planes = 40;
// A sum that is this small against its terms is 0.
constexpr double cancelled = 1e-13;
// How far along a direction that leads on for ever, at most.
constexpr double farthest = 1 << 24;
// Of a feature, where rows are tried one by one, and how many rows after the first that is allowed.
constexpr int most_values = 12;
constexpr int enough_rows = 40;
// How often every feature is tried again once a row is better than the one before.
constexpr int most_climbs = 20;

/// Values of a range, some from each end where there are many.
std::vector<double> some_values(const FeatureRange& range) {
  std::vector<double> values;
  if (range.keeps) values.push_back(range.query);
  if (range.fixed || !(range.lower <= range.upper)) return values;
  const auto add = [&](double value) {
    if (std::isfinite(value) && range.contains(value)) values.push_back(value);
  };
  const double width = range.upper - range.lower;
  for (int k = 0; k < most_values && std::isfinite(width); ++k)
    add(range.nearest(range.lower + width * k / (most_values - 1)));
  for (const int side : {-1, 1}) {
    std::optional<double> next = range.query;
    for (int k = 0; k < most_values / 4 && next; ++k) {
      next = range.beyond(*next, side);
      if (next) add(*next);
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

RowReach::RowReach(const Problem& problem, const LinearQuestion& question)
    : problem_(&problem), question_(&question), oracle_(question.oracle()) {}

RowReach::Score RowReach::score(VectorArg raw) {
  Vector z(problem_->model->encoder.columns());
  problem_->model->encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
  Score result{.value = infinity};
  for (Index k = 0; k < oracle_->parts(); ++k) {
    const Support at = oracle_->at(k, z);
    const double margin = reach_margin * (at.scale + std::abs(problem_->threshold));
    if (at.proved < result.value) result.value = at.proved;
    result.margin = std::max(result.margin, margin);
  }
  return result;
}

ReachPlane RowReach::plane_of(ConeWeights weights, std::vector<Vector> heads,
                              const FeasibleSet& branch) const {
  const Index d = branch.query().size();
  ReachPlane plane{.coefficients = Vector::Zero(d + 1), .weight = weights.cones.sum()};
  Vector size = Vector::Zero(d + 1);  // of what the coefficients were summed from
  for (std::size_t k = 0; k < weights.models.size(); ++k) {
    const double weight = weights.cones(static_cast<Index>(k));
    if (weight == 0) continue;
    plane.coefficients += weight * weights.models[k];
    size += weight * weights.models[k].cwiseAbs();
  }
  const auto rules = static_cast<Index>(branch.rules().size());
  for (Index r = 0; r < weights.rules.size(); ++r) {
    const double weight = weights.rules(r);
    if (weight == 0) continue;
    if (r >= rules) {  // a category has one level: 1 − Σ is 0 at every row
      plane.weighs_levels = true;
      continue;
    }
    const ModelRule& rule = branch.rules()[static_cast<std::size_t>(r)];
    plane.coefficients.head(d) -= weight * rule.rule.coefficients;
    size.head(d) += std::abs(weight) * rule.rule.coefficients.cwiseAbs();
    plane.coefficients(d) += weight * (weight > 0 ? rule.rule.upper : rule.rule.lower);
    plane.rules.push_back({.rule = rule.text, .multiplier = weight});
  }
  // What cancellation leaves of a column must not meet an infinite side.
  for (Index i = 0; i < d; ++i) {
    if (std::abs(plane.coefficients(i)) <= cancelled * size(i)) plane.coefficients(i) = 0;
  }
  plane.cones = std::move(weights.cones);
  plane.models = std::move(weights.models);
  plane.heads = std::move(heads);
  return plane;
}

void RowReach::add(ReachPlane plane) {
  if (!plane.coefficients.allFinite()) return;
  if (planes_.size() == most_planes) planes_.erase(planes_.begin());
  planes_.push_back(std::move(plane));
  ++added_;
}

bool RowReach::applies(const ReachPlane& plane, const FeasibleSet& branch) {
  return std::all_of(plane.rules.begin(), plane.rules.end(), [&](const WeightedRule& weighted) {
    return std::any_of(branch.rules().begin(), branch.rules().end(),
                       [&](const ModelRule& rule) { return rule.text == weighted.rule; });
  });
}

double RowReach::bound(const RowDomain& domain, const ReachPlane& plane) {
  if (!applies(plane, domain.branch())) return infinity;
  const double most = domain.maximum(plane.coefficients);
  if (plane.weight > 0) return most / plane.weight;
  return most < 0 ? -infinity : infinity;
}

bool RowReach::is_plain(const RowDomain& domain) const {
  return question_->is_single() && domain.branch().rules().empty();
}

double RowReach::least(VectorArg point) {
  double result = infinity;
  for (Index k = 0; k < oracle_->parts(); ++k)
    result = std::min(result, oracle_->at(k, point).proved);
  return result;
}

/// One search: the open parts, and the best row so far.
class RowReach::Run {
 public:
  Run(RowReach& reach, const FeasibleSet& feasible, const Goal& goal)
      : reach_(&reach), feasible_(&feasible), goal_(&goal), branches_(feasible.branches()) {}

  Reached run() {
    for (std::size_t b = 0; b < branches_.size(); ++b)
      push({.branch = b, .domain = RowDomain(branches_[b], goal_->most_changes)});
    const std::size_t usual = reach_->question_->is_conic() ? conic_nodes : searched_nodes;
    const std::size_t limit = goal_->most_parts.value_or(usual);
    for (; !open_.empty() && best_.parts < limit && !is_done(); ++best_.parts) {
      std::pop_heap(open_.begin(), open_.end(), later);
      const Node node = std::move(open_.back());
      open_.pop_back();
      if (node.bound < cutoff()) {
        closed_ = std::max(closed_, node.bound);
        continue;
      }
      process(node);
    }
    if (best_.row.size() == 0 && std::isinf(goal_->enough)) offer_any();
    if (goal_->most_parts && climbs() && !open_.empty()) climb();
    for (const Node& node : open_) unresolved_ = std::max(unresolved_, node.bound);
    const bool is_exhausted = unresolved_ == -infinity || unresolved_ < cutoff();
    best_.bound = std::max({best_.value, closed_, unresolved_});
    const bool wants_best = std::isinf(goal_->enough);
    if (is_done() || (wants_best && is_exhausted && best_.row.size() > 0)) {
      best_.status = Reached::Status::found;
    } else if (is_exhausted) {
      best_.status = Reached::Status::none;
    }
    return std::move(best_);
  }

 private:
  static bool later(const Node& a, const Node& b) { return a.bound < b.bound; }
  [[nodiscard]] bool is_done() const { return is_enough_; }
  [[nodiscard]] bool climbs() const { return goal_->climbs || std::isinf(goal_->enough); }
  /// What a part must be able to exceed, to be of interest.
  [[nodiscard]] double cutoff() const {
    if (std::isfinite(goal_->enough) || best_.row.size() == 0) return goal_->floor;
    const double change = is_settled_at_once() ? settled : nearly_settled;
    return std::max(goal_->floor, best_.value + change * (1 + std::abs(best_.value)));
  }
  void push(Node node) {
    if (node.domain.is_empty()) return;
    for (std::size_t k = reach_->planes_.size(); k-- > 0 && node.bound >= cutoff();)
      node.bound = std::min(node.bound, reach_->bound(node.domain, reach_->planes_[k]));
    if (node.bound < cutoff()) {
      closed_ = std::max(closed_, node.bound);
      return;
    }
    node.judged = reach_->added_;
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), later);
  }
  [[nodiscard]] bool is_settled_at_once() const {
    return reach_->question_->is_single() && feasible_->rules().empty();
  }
  void close(double bound) { closed_ = std::max(closed_, std::min(bound, cutoff())); }

  void offer(const Vector& row) {
    if (goal_->most_changes && (row.array() != feasible_->query_raw().array()).count() >
                                   static_cast<Index>(*goal_->most_changes)) {
      return;
    }
    if (!feasible_->violations(row).empty()) return;
    const Score score = reach_->score(row);
    if (score.value > best_.value) {
      best_.value = score.value;
      best_.row = row;
    }
    is_enough_ = is_enough_ || score.value - score.margin >= goal_->enough;
  }

  /// Where the search met no row that keeps the rules, because what is best near its points breaks
  /// one and nothing is left to split: rows in which one or two features change, to ends of their
  /// ranges and values between. Says nothing of what there is beyond these.
  void offer_any() {
    offer(feasible_->query_raw());
    std::vector<std::vector<double>> values;
    for (const FeatureRange& range : feasible_->ranges()) values.push_back(some_values(range));
    const auto d = static_cast<Index>(values.size());
    int met = 0;
    for (Index i = 0; i < d; ++i) {
      for (Index j = i; j < d; ++j) {
        Vector row = feasible_->query_raw();
        for (const double first : values[static_cast<std::size_t>(i)]) {
          row(i) = first;
          for (const double second : values[static_cast<std::size_t>(j)]) {
            row(j) = second;
            check_stop();
            offer(row);
            if (best_.row.size() > 0 && ++met >= enough_rows) return;
          }
        }
      }
    }
  }

  /// Where a search ends at its limit the best row may be one of few that were met: one feature
  /// after the other takes the best of its values, until none is better.
  void climb() {
    if (best_.row.size() == 0) return;
    std::vector<std::vector<double>> values;
    for (const FeatureRange& range : feasible_->ranges()) values.push_back(some_values(range));
    for (int round = 0; round < most_climbs && !is_done(); ++round) {
      const double before = best_.value;
      for (std::size_t j = 0; j < values.size() && !is_done(); ++j) {
        check_stop();
        Vector row = best_.row;
        for (const double value : values[j]) {
          row(static_cast<Index>(j)) = value;
          offer(row);
        }
      }
      if (!(best_.value > before)) return;
    }
  }

  /// Of the part that decides at a point.
  [[nodiscard]] Vector guide(const Vector& point) {
    double least = infinity;
    Vector model;
    for (Index k = 0; k < reach_->oracle_->parts(); ++k) {
      Support at = reach_->oracle_->at(k, point);
      if (!(at.proved < least) && model.size() > 0) continue;
      least = at.proved;
      model = std::move(at.model);
    }
    return model;
  }

  void offer_near(const Node& node, const Vector& point, const Vector& plane) {
    const Vector row = node.domain.row(point, plane);
    offer(row);
    if (is_done() || !node.domain.has_free_numbers()) return;
    Vector written(point.size());
    const Encoder& encoder = reach_->problem_->model->encoder;
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, written);
    if ((written - point).norm() <= 1e-9 * (1 + point.norm())) return;
    // The best of the numbers beside what is discrete.
    const RowDomain held = node.domain.holding(row);
    const Relaxed rest = reach_->relax(held, cutoff(), climbs());
    if (rest.is_empty || rest.point.size() == 0) return;
    offer(held.row(rest.point, guide(rest.point)));
  }

  /// As near as is enough, or as far as it goes where the best is wanted.
  void offer_along(const Node& node, const Vector& point, const Vector& ray) {
    const double length = ray.norm();
    const double factor = climbs() ? 0.125 : 8;
    for (double step = climbs() ? farthest : 1; step >= 1 && step <= farthest && !is_done();
         step *= factor) {
      const Vector far = point + step / length * ray;
      offer(node.domain.row(far, guide(far)));
    }
  }

  void process(const Node& node) {
    Node rest = node;
    const auto tighten = [&] {
      const std::vector<ReachPlane>& planes = reach_->planes_;
      const std::size_t added = std::min(reach_->added_ - rest.judged, planes.size());
      for (std::size_t k = planes.size() - added; k < planes.size(); ++k)
        rest.bound = std::min(rest.bound, reach_->bound(rest.domain, planes[k]));
      rest.judged = reach_->added_;
      return rest.bound < cutoff();
    };
    Relaxed relaxed;
    Vector plane;
    for (int round = 0; round < most_asks; ++round) {
      const double level = cutoff();
      relaxed = reach_->relax(node.domain, level, climbs());
      if (relaxed.is_empty) return close(rest.bound);
      if (relaxed.ray) {
        offer_along(node, relaxed.point, *relaxed.ray);
        if (is_done()) return;
      }
      if (tighten()) return close(rest.bound);
      plane = guide(relaxed.point);
      offer_near(rest, relaxed.point, plane);
      if (is_done()) return;
      if (tighten()) return close(rest.bound);
      // Of several functions, or under rules, only what was asked for is proved or not: a better
      // row is worth another question.
      if (is_settled_at_once() || cutoff() == level) break;
    }
    std::optional<std::pair<RowDomain, RowDomain>> parts = rest.domain.split(relaxed.point, plane);
    if (!parts) {
      unresolved_ = std::max(unresolved_, rest.bound);
      return;
    }
    push({.branch = rest.branch, .domain = std::move(parts->first), .bound = rest.bound});
    push({.branch = rest.branch, .domain = std::move(parts->second), .bound = rest.bound});
  }

  RowReach* reach_;
  const FeasibleSet* feasible_;
  const Goal* goal_;
  std::vector<FeasibleSet> branches_;
  std::vector<Node> open_;
  Reached best_;
  bool is_enough_ = false;
  double closed_ = -infinity;      // largest bound of the parts that were closed
  double unresolved_ = -infinity;  // of those that could be neither closed nor split
};

bool RowReach::rules_out(const RowDomain& domain) const {
  return std::any_of(planes_.rbegin(), planes_.rend(), [&](const ReachPlane& plane) {
    return bound(domain, plane) < problem_->threshold;
  });
}

Reached RowReach::search(const FeasibleSet& feasible, const Goal& goal) {
  return Run(*this, feasible, goal).run();
}

Reached RowReach::robust_row(const FeasibleSet& feasible, std::optional<std::size_t> most_changes) {
  return search(
      feasible,
      {.floor = problem_->threshold, .enough = problem_->threshold, .most_changes = most_changes});
}

}  // namespace ellice

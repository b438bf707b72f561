#include "search/few_features.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/stop.hpp"
#include "search/allowed_row.hpp"
#include "search/tolerances.hpp"

namespace ellice {

namespace {

constexpr std::size_t beam_width = 5;
constexpr std::size_t most_sets = 6;
constexpr int growth_rounds = 12;
constexpr double least_gain = 1e-6;
constexpr double far = 100;  // stands for an infinite bound, in units of the model
constexpr std::array<double, 4> shares = {1, 0.5, 0.2, 0.05};
constexpr int halvings = 10;

}  // namespace

FewFeatures::FewFeatures(const QueryContext& context)
    : context_(context),
      function_(context.set->function()),
      constraints_(*function_, context.problem->threshold, *context.feasible) {
  constraints_.set_radius(std::sqrt(2 * context.problem->epsilon), search_margin);
  const FeasibleSet& feasible = *context_.feasible;
  const Encoder& encoder = feasible.encoder();
  const Box& box = feasible.relaxed();
  const bool holds = context_.options->discrete_nodes == 0;
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    if (feasible.ranges()[j].held && holds) continue;
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    if (box.lower.segment(first, count) != box.upper.segment(first, count)) movable_.push_back(j);
  }
  beam_.push_back({.point = feasible.query()});
}

std::vector<FewFeatures::Features> FewFeatures::next() {
  std::set<Features> seen;
  std::vector<Reached> reached;
  for (const Reached& before : beam_) {
    for (const std::size_t j : movable_) {
      Features features = before.features;
      const auto at = std::lower_bound(features.begin(), features.end(), j);
      if (at != features.end() && *at == j) continue;
      features.insert(at, j);
      if (!seen.insert(features).second) continue;
      reached.push_back(reach(std::move(features), before.point));
    }
  }
  std::stable_sort(reached.begin(), reached.end(),
                   [](const Reached& a, const Reached& b) { return a.margin > b.margin; });
  std::vector<Reached*> robust;
  for (Reached& one : reached) {
    if (one.margin < 0) continue;
    one.cost = cost_on_the_way(one);
    robust.push_back(&one);
  }
  std::stable_sort(robust.begin(), robust.end(),
                   [](const Reached* a, const Reached* b) { return a->cost < b->cost; });
  std::vector<Features> sets;
  for (const Reached* one : robust) {
    if (sets.size() < most_sets) sets.push_back(one->features);
  }
  // What reaches far goes on, and so does what is cheap already.
  std::vector<Reached> beam;
  for (std::size_t k = 0; k < std::min(beam_width, reached.size()); ++k) {
    beam.push_back(reached[k]);
  }
  for (std::size_t k = 0; k < std::min(beam_width, robust.size()); ++k) beam.push_back(*robust[k]);
  beam_ = std::move(beam);
  return sets;
}

FewFeatures::Reached FewFeatures::reach(Features features, Vector start) {
  Reached result{.features = std::move(features), .point = std::move(start)};
  result.margin = constraints_.smallest(result.point);
  const Schema& schema = context_.feasible->encoder().schema();
  for (int round = 0; round < growth_rounds && result.margin < 0; ++round) {
    check_stop();
    const double before = result.margin;
    for (const std::size_t j : result.features) {
      if (is_category(schema.features[j])) choose_level(j, result.point);
    }
    result.margin = constraints_.smallest(result.point);
    const bool moved = ascend(result.features, result.point, result.margin);
    if (!moved && !(result.margin > before + least_gain * (1 + std::abs(before)))) break;
  }
  return result;
}

void FewFeatures::choose_level(std::size_t feature, Vector& point) {
  const Encoder& encoder = context_.feasible->encoder();
  Vector best = point;
  double best_margin = constraints_.smallest(point);
  for (const double level : allowed_levels(*context_.feasible, feature)) {
    set_level(encoder, feature, level, point);
    const double margin = constraints_.smallest(point);
    if (margin <= best_margin) continue;
    best_margin = margin;
    best = point;
  }
  point = std::move(best);
}

bool FewFeatures::ascend(const Features& features, Vector& point, double& margin) {
  const Encoder& encoder = context_.feasible->encoder();
  const Box& box = context_.feasible->relaxed();
  Vector values(constraints_.count());
  Matrix gradients(point.size(), values.size());
  constraints_.gradients(point, values, gradients);
  Index smallest = 0;
  values.minCoeff(&smallest);
  Vector towards = Vector::Zero(point.size());
  for (const std::size_t j : features) {
    if (is_category(encoder.schema().features[j])) continue;
    const Index i = encoder.first_column(j);
    const double own = context_.feasible->query()(i);
    const double end = gradients(i, smallest) > 0 ? std::min(box.upper(i), own + far)
                                                  : std::max(box.lower(i), own - far);
    towards(i) = end - point(i);
  }
  bool moved = false;
  const Vector start = point;
  for (const double share : shares) {
    const Vector trial = start + share * towards;
    const double reached = constraints_.smallest(trial);
    if (!(reached > margin + least_gain * (1 + std::abs(margin)))) continue;
    margin = reached;
    point = trial;
    moved = true;
  }
  return moved;
}

double FewFeatures::cost_on_the_way(const Reached& reached) {
  const Encoder& encoder = context_.feasible->encoder();
  const Vector& query = context_.feasible->query();
  Vector base = query;  // the levels as reached, the numbers at rest
  for (const std::size_t j : reached.features) {
    if (!is_category(encoder.schema().features[j])) continue;
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    base.segment(first, count) = reached.point.segment(first, count);
  }
  double near = 0;
  double robust = 1;
  for (int k = 0; k < halvings; ++k) {
    const double middle = k == 0 ? 0 : 0.5 * (near + robust);
    const Vector trial = base + middle * (reached.point - base);
    (constraints_.smallest(trial) >= 0 ? robust : near) = middle;
    if (robust == 0) break;
  }
  return cost_of(context_.problem->cost, encoder, query, base + robust * (reached.point - base));
}

}  // namespace ellice

#include "solver/lattice_search.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "solver/mixed_search.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

constexpr double most_points = 1000;  // that an enumeration is expected to meet
constexpr double judged_work = 4000;  // numbers without grids, solved by a judge's oracle

}  // namespace

LatticeSearch::LatticeSearch(const BoxFactor& factor, const SearchLayout& layout,
                             SearchRecord& record, WorkLimit& limit, const PointJudge* judge)
    : factor_(&factor),
      layout_(&layout),
      record_(&record),
      limit_(&limit),
      judge_(judge),
      relaxation_(layout, limit),
      lens_(layout),
      frames_(layout.numbers().size() + 1) {
  const std::size_t n = layout.numbers().size();
  root_.resize(n * (n + 1));
  gram_.resize((n + 1) * (n + 1));
  moves_.resize(n);
  away_.resize(n);
}

void LatticeSearch::run(const ShareNode& node, const std::vector<std::size_t>& options,
                        const std::vector<std::uint8_t>& modes, double bound) {
  const std::vector<NumberUnit>& numbers = layout_->numbers();
  const std::size_t rules = layout_->rules().size();
  NumberFrame& frame = frames_.front();
  frame.reserve(numbers.size(), rules);
  modes_ = modes;
  x_ = layout_->problem().query;
  frame.size = 0;
  frame.paid = 0;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const NumberUnit& unit = numbers[k];
    if (modes[k] == ShareNode::stay) continue;
    const bool stays = (modes[k] & ShareNode::stay) != 0;
    if (!stays) frame.paid += unit.charge;
    const std::size_t i = frame.size++;
    frame.numbers[i] = k;
    frame.slope[i] = layout_->theta()[unit.column];
    frame.image[i] = layout_->image()[unit.column];
    frame.lower[i] = stays ? std::min(0.0, unit.lower) : unit.lower;
    frame.upper[i] = stays ? std::max(0.0, unit.upper) : unit.upper;
    frame.point[i] = node.moves[k];
  }
  frame.excess = layout_->excess();
  frame.square = layout_->square();
  for (std::size_t r = 0; r < rules; ++r) frame.activity[r] = layout_->activity(r);
  for (std::size_t u = 0; u < options.size(); ++u) {
    layout_->place_option(x_, u, options[u]);
    frame.paid += layout_->option_cost(options[u]);
  }
  // Moves of the lists: each of them bends everything that follows.
  for (std::size_t u = 0; u < options.size(); ++u) {
    const ListUnit& list = layout_->lists()[u];
    const double* moves = layout_->moves(list, options[u]);
    for (Index i = 0; i < list.width; ++i) {
      if (moves[i] == 0) continue;
      const Index column = list.column + i;
      const auto bent = layout_->matrix().col(column);
      double image = layout_->image()[column];
      for (std::size_t v = 0; v < options.size(); ++v) {
        const ListUnit& other = layout_->lists()[v];
        const double* others = layout_->moves(other, options[v]);
        for (Index j = 0; j < other.width; ++j) image += others[j] * bent[other.column + j];
      }
      frame.square += moves[i] * (layout_->image()[column] + image);
      frame.excess += moves[i] * layout_->theta()[column];
      for (std::size_t k = 0; k < frame.size; ++k)
        frame.image[k] += moves[i] * bent[numbers[frame.numbers[k]].column];
      for (std::size_t r = 0; r < rules; ++r)
        frame.activity[r] += moves[i] * layout_->rules()[r].coefficients[column];
    }
  }
  for (std::size_t i = 0; i < frame.size; ++i) {
    for (std::size_t j = 0; j < frame.size; ++j) {
      frame.matrix[i * frame.size + j] =
          layout_->matrix()(numbers[frame.numbers[i]].column, numbers[frame.numbers[j]].column);
    }
    for (std::size_t r = 0; r < rules; ++r) {
      frame.rules[r * frame.size + i] =
          layout_->rules()[r].coefficients[numbers[frame.numbers[i]].column];
    }
  }
  frame.prices = node.prices;
  frame.multiplier = node.multiplier;
  limit_->add(10 + 0.1 * static_cast<double>(frame.size * frame.size));
  this->node(0, bound);
}

void LatticeSearch::node(std::size_t depth, double bound) {
  NumberFrame& frame = frames_[depth];
  if (std::max(bound, frame.paid) >= record_->enough()) return;
  if (limit_->is_over()) {
    record_->leave_open(std::max(bound, frame.paid));
    return;
  }
  if (offer_cheapest(frame) || frame.size == 0) return;
  if (!relaxation_.solve(frame, record_->enough() - frame.paid)) {
    closed_ = depth;
    return;
  }
  bound = std::max(bound, frame.paid + frame.bound);
  std::size_t grids = 0;
  for (std::size_t i = 0; i < frame.size; ++i)
    grids += layout_->numbers()[frame.numbers[i]].has_grid ? 1 : 0;
  if (grids == 0) {
    solve_continuous(frame, bound);
    return;
  }
  const double enough = record_->enough() - frame.paid;
  lens_.build(frame, enough);
  const bool is_small = record_->is_bounded() && grids == frame.size &&
                        lens_.estimate(std::max(0.0, enough - lens_.floor())) < most_points;
  if (frame.size == 1 || is_small) {
    enumerate(frame);
  } else {
    branch(depth, bound);
  }
}

// Costs fall apart: where the cheapest value of each number makes a robust row, there is no
// cheaper.
bool LatticeSearch::offer_cheapest(const NumberFrame& frame) {
  double linear = frame.excess;
  double square = frame.square;
  for (std::size_t i = 0; i < frame.size; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    double move = std::clamp(0.0, frame.lower[i], frame.upper[i]);
    if (unit.has_grid) {
      const double low = unit.at_or_below(move);
      const double high = unit.at_or_above(move);
      const bool fits = low >= frame.lower[i] - 1e-9 * unit.step;
      move = fits && std::abs(low) <= std::abs(high) ? low : high;
      if (high > frame.upper[i] + 1e-9 * unit.step) move = low;
      if (move == 0 && unit.skips_own) return false;
    }
    moves_[i] = move;
    if (move == 0) continue;
    square += move * (2 * frame.image[i] + move * frame.matrix[i * frame.size + i]);
    for (std::size_t j = 0; j < i; ++j)
      square += 2 * move * moves_[j] * frame.matrix[i * frame.size + j];
    linear += move * frame.slope[i];
  }
  if (linear < std::sqrt(std::max(0.0, square))) return false;
  for (std::size_t i = 0; i < frame.size; ++i)
    layout_->place_number(x_, frame.numbers[i], moves_[i]);
  return record_->offer(x_);
}

void LatticeSearch::branch(std::size_t depth, double bound) {
  const NumberFrame& frame = frames_[depth];
  frames_[depth + 1].reserve(frame.size, frame.activity.size());
  Lens::Top top = lens_.top();
  bool is_valid = record_->is_bounded();
  const std::size_t number = frame.numbers[top.index];
  const NumberUnit& unit = layout_->numbers()[number];
  const double slack = 1e-9 * unit.step;
  double down = unit.at_or_below(top.lowest);
  double up = down + unit.step;
  while (true) {
    check_stop();
    const bool has_down = down >= top.lower - slack;
    const bool has_up = up <= top.upper + slack;
    if (!has_down && !has_up) return;
    const double below = has_down ? top.worth(down) : infinity;
    const double above = has_up ? top.worth(up) : infinity;
    const double least = std::min(below, above);
    if (is_valid && frame.paid + least >= record_->enough()) return;
    const double move = below <= above ? down : up;
    (below <= above ? down : up) += below <= above ? -unit.step : unit.step;
    if (std::abs(move) < 0.5 * unit.step && unit.skips_own) continue;
    const double part = is_valid ? std::max(bound, frame.paid + least) : bound;
    if (limit_->is_over()) {
      record_->leave_open(part);
      return;
    }
    frame.fix_into(frames_[depth + 1], top.index, move, unit.cost(move));
    layout_->place_number(x_, number, move);
    closed_ = 0;
    const double before = limit_->done();
    node(depth + 1, part);
    // What is too dear at once is no work, but of very large numbers there is no end of that.
    if (limit_->done() == before) limit_->add(1);
    if (closed_ == depth + 1) {
      // Before there is an answer, proofs that there is none are what ends a side.
      if (relaxation_.rules_out_beyond(frame, top.index, move, 1))
        top.upper = std::min(top.upper, move);
      if (relaxation_.rules_out_beyond(frame, top.index, move, -1))
        top.lower = std::max(top.lower, move);
    }
    if (!is_valid && record_->is_bounded()) {
      // Until now nothing bounded s, and the quadratic was none.
      lens_.build(frame, record_->enough() - frame.paid, top.index);
      const double lower = top.lower;
      const double upper = top.upper;
      top = lens_.top();
      top.lower = std::max(top.lower, lower);
      top.upper = std::min(top.upper, upper);
      is_valid = true;
    }
  }
}

void LatticeSearch::solve_continuous(const NumberFrame& frame, double bound) {
  const MixedProblem& problem = layout_->problem();
  MixedProblem part{.query = x_,
                    .epsilon = problem.epsilon,
                    .threshold = problem.threshold,
                    .margin = problem.margin,
                    .rules = problem.rules,
                    .cutoff = record_->best_cost() - frame.paid};
  for (std::size_t i = 0; i < frame.size; ++i) {
    const std::size_t number = frame.numbers[i];
    MixedUnit unit = problem.units[layout_->numbers()[number].unit];
    part.query[unit.column] = problem.query[unit.column];
    unit.stays = (modes_[number] & ShareNode::stay) != 0;
    unit.charge = 0;
    part.units.push_back(std::move(unit));
  }
  // Under rules the margin may have been taken of fewer terms than the row has. The last digits of
  // what is missing do not go by raising it by as much.
  double least = bound;
  double raise = 0;
  for (int k = 0; k < most_raises; ++k) {
    limit_->add(judge_ != nullptr ? judged_work : 1000);
    ConicOracle cone(*factor_, part.epsilon);
    RobustOracle& oracle = judge_ != nullptr ? judge_->oracle() : cone;
    const MixedResult solved = MixedSearch(oracle, part).run();
    if (k == 0) least = std::max(bound, frame.paid + solved.lower_bound);
    if (k == 0 && solved.status == MixedStatus::limit) record_->leave_open(least);
    if (!solved.found && k == 0) return;
    if (!solved.found) break;
    if (record_->offer(solved.point) || !(record_->missing() > 0)) return;
    raise = std::max(1.01 * record_->missing(), 0.1 * raise);
    part.threshold += raise;
  }
  // What was found without the margin stays unsearched, not ruled out.
  record_->leave_open(least);
}

}  // namespace ellice

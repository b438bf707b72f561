#include "solver/first_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ellice {

namespace {

// How far above the threshold, as shares of what the box has at most.
constexpr std::array<double, 7> lifts = {0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95};
constexpr std::array<double, 4> strides = {64, 16, 4, 1};
constexpr double row_work = 40;         // of a row that is judged
constexpr double next_box_work = 1000;  // of a box that is solved near the last one
constexpr int most_rounds = 200;

/// A unit that is decided in its turn.
struct Turn {
  std::size_t unit = 0;
  Index column = 0;
  double step = 0;
};

}  // namespace

FirstRow::FirstRow(const BoxFactor& factor, const SearchLayout& layout, SearchRecord& record,
                   WorkLimit& limit)
    : factor_(&factor), layout_(&layout), record_(&record), limit_(&limit) {
  for (const ListUnit& list : layout.lists()) {
    std::vector<std::size_t>& order = rank_.emplace_back();
    for (std::size_t o = list.first; o < list.last; ++o) order.push_back(o);
    if (list.width > 1) continue;  // levels without an order: a box holds them at one
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return layout.moves(list, a)[0] < layout.moves(list, b)[0];
    });
  }
}

bool FirstRow::is_allowed(const NumberUnit& unit, double move) const {
  if (move == 0 && unit.stays) return true;
  return unit.lower <= move && move <= unit.upper && !(unit.skips_own && move == 0);
}

double FirstRow::nearest(const NumberUnit& unit, double move) const {
  if (!unit.has_grid) return move;
  const double low = unit.at_or_below(move);
  const double high = unit.at_or_above(move);
  if (!is_allowed(unit, low)) return high;
  return is_allowed(unit, high) && high - move < move - low ? high : low;
}

FirstRow::Row FirstRow::rounded(const ShareNode& node) const {
  Row row;
  for (const ListUnit& list : layout_->lists()) {
    std::size_t most = list.first;
    for (std::size_t o = list.first; o < list.last; ++o) {
      if (node.shares[o] > node.shares[most]) most = o;
    }
    row.options.push_back(most);
  }
  for (std::size_t k = 0; k < node.moves.size(); ++k)
    row.moves.push_back(nearest(layout_->numbers()[k], node.moves[k]));
  return row;
}

bool FirstRow::take(Row row) {
  for (std::size_t k = 0; k < row.moves.size(); ++k) {
    if (!is_allowed(layout_->numbers()[k], row.moves[k])) return false;
  }
  x_ = layout_->problem().query;
  for (std::size_t k = 0; k < row.options.size(); ++k) layout_->place_option(x_, k, row.options[k]);
  for (std::size_t k = 0; k < row.moves.size(); ++k) layout_->place_number(x_, k, row.moves[k]);
  limit_->add(row_work);
  const double before = record_->best_cost();
  if (!record_->offer(x_) || !(record_->best_cost() < before)) return false;
  best_ = std::move(row);
  return true;
}

bool FirstRow::step(Row& row, std::size_t unit, double steps) const {
  if (unit < rank_.size()) {
    const std::vector<std::size_t>& order = rank_[unit];
    const auto at = std::find(order.begin(), order.end(), row.options[unit]) - order.begin();
    const auto next = static_cast<double>(at) + steps;
    if (layout_->lists()[unit].width > 1 || next < 0 || next >= static_cast<double>(order.size()))
      return false;
    row.options[unit] = order[static_cast<std::size_t>(next)];
    return true;
  }
  const NumberUnit& number = layout_->numbers()[unit - rank_.size()];
  if (!number.has_grid) return false;
  double& move = row.moves[unit - rank_.size()];
  move = nearest(number, move + steps * number.step);
  return is_allowed(number, move);
}

// Steps towards the query, and pairs of which one makes up for the other: first what is found.
void FirstRow::descend() {
  bool improves = true;
  for (int round = 0; improves && round < most_rounds && !is_over(); ++round) {
    improves = false;
    for (std::size_t u = 0; u < units(); ++u) {
      for (const int side : {-1, 1}) {
        for (const double stride : strides) {
          Row row = best_;
          if (step(row, u, side * stride) && take(std::move(row))) improves = true;
        }
        for (std::size_t v = 0; v < units() && !is_over(); ++v) {
          if (v == u) continue;
          for (const int other : {-1, 1}) {
            Row row = best_;
            if (step(row, u, side) && step(row, v, other) && take(std::move(row))) improves = true;
          }
        }
      }
    }
  }
}

std::vector<double> FirstRow::neighbours(std::size_t unit, double move) const {
  std::vector<double> values;
  if (unit < rank_.size()) {
    const ListUnit& list = layout_->lists()[unit];
    for (const std::size_t o : rank_[unit]) values.push_back(layout_->moves(list, o)[0]);
  } else {
    const NumberUnit& number = layout_->numbers()[unit - rank_.size()];
    for (const double value : {number.at_or_below(move), number.at_or_above(move), 0.0}) {
      if (is_allowed(number, value)) values.push_back(value);
    }
  }
  std::sort(values.begin(), values.end(), [&](double a, double b) {
    return std::pair(std::abs(a - move), a) < std::pair(std::abs(b - move), b);
  });
  values.resize(std::min<std::size_t>(values.size(), 2));
  return values;
}

void FirstRow::put(Row& row, std::size_t unit, double move) const {
  if (unit >= rank_.size()) {
    row.moves[unit - rank_.size()] = move;
    return;
  }
  for (const std::size_t o : rank_[unit]) {
    if (layout_->moves(layout_->lists()[unit], o)[0] == move) row.options[unit] = o;
  }
}

bool FirstRow::dive(BoxProblem box) {
  const Vector& query = layout_->problem().query;
  std::vector<Turn> order;
  for (std::size_t k = 0; k < rank_.size(); ++k) {
    const ListUnit& list = layout_->lists()[k];
    const double width = box.upper[list.column] - box.lower[list.column];
    if (width > 0)
      order.push_back(
          {.unit = k, .column = list.column, .step = width / static_cast<double>(rank_[k].size())});
  }
  Row row;
  for (const std::vector<std::size_t>& options : rank_) row.options.push_back(options.front());
  for (std::size_t k = 0; k < layout_->numbers().size(); ++k) {
    const NumberUnit& unit = layout_->numbers()[k];
    row.moves.push_back(0);
    if (unit.has_grid)
      order.push_back({.unit = rank_.size() + k, .column = unit.column, .step = unit.step});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Turn& a, const Turn& b) { return a.step > b.step; });
  BoxProjection solved = factor_->project(box);
  for (const Turn& turn : order) {
    const double move = solved.point[turn.column] - query[turn.column];
    bool is_placed = false;
    for (const double value : neighbours(turn.unit, move)) {
      if (is_over()) return false;
      box.lower[turn.column] = box.upper[turn.column] = query[turn.column] + value;
      box.start = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
      BoxProjection next = factor_->project(box);
      limit_->add(next_box_work);
      if (next.status == BoxStatus::infeasible) continue;
      solved = std::move(next);
      put(row, turn.unit, value);
      is_placed = true;
      break;
    }
    if (!is_placed) return false;
  }
  for (std::size_t k = 0; k < layout_->numbers().size(); ++k) {
    const NumberUnit& unit = layout_->numbers()[k];
    if (!unit.has_grid) row.moves[k] = solved.point[unit.column] - query[unit.column];
  }
  return take(std::move(row));
}

void FirstRow::seek(ShareRelaxation& relaxation, const ShareNode& root, double most_work) {
  most_work_ = limit_->done() + most_work;
  std::optional<BoxProblem> box = relaxation.box_of(root);
  if (!box) return;
  if (dive(std::move(*box))) {
    descend();
    return;
  }
  const double most = relaxation.most_in_box(root);
  for (const double lift : lifts) {
    if (!(most > 0) || is_over()) return;
    ShareNode node = root;
    if (!relaxation.place_in_box(node, lift * most)) return;
    if (!take(rounded(node))) continue;
    descend();
    return;
  }
}

}  // namespace ellice

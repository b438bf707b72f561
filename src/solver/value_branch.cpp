// How the depth-first search narrows a node down, tries its row and divides it.

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/hash_mix.hpp"
#include "solver/value_search.hpp"

namespace ellice {

// An option is out; its share goes to the first that is left.
void ValueSearch::close(ShareNode& node, const ListUnit& list, std::size_t option) const {
  node.open[option] = 0;
  const double share = node.shares[option];
  node.shares[option] = 0;
  if (share == 0) return;
  std::size_t to = list.last;
  for (std::size_t o = list.first; o < list.last; ++o) {
    if (node.open[o] != 0 && (to == list.last || node.shares[o] > node.shares[to])) to = o;
  }
  if (to != list.last) node.shares[to] += share;
}

// theory.md, Result 12.
void ValueSearch::fix(ShareNode& node) const {
  if (!record_.is_bounded()) return;
  for (std::size_t k = 0; k < layout_.lists().size(); ++k) {
    const ListUnit& list = layout_.lists()[k];
    for (std::size_t o = list.first; o < list.last; ++o) {
      if (node.open[o] != 0 && relaxation_.bound_of_option(k, o) >= record_.enough())
        close(node, list, o);
    }
  }
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    for (const std::uint8_t mode : {ShareNode::stay, ShareNode::move}) {
      if ((node.modes[k] & mode) != 0 && relaxation_.bound_of_mode(k, mode) >= record_.enough())
        node.modes[k] = static_cast<std::uint8_t>(node.modes[k] & ~mode);
    }
    if (node.modes[k] == ShareNode::stay) node.moves[k] = 0;
  }
}

// The row of the largest shares, its numbers searched to the end: an answer at least as good.
void ValueSearch::try_rounded(const ShareNode& node) {
  const std::vector<ListUnit>& lists = layout_.lists();
  changes_.clear();
  for (std::size_t k = 0; k < lists.size(); ++k) {
    std::size_t best = lists[k].last;
    bool stays = false;
    for (std::size_t o = lists[k].first; o < lists[k].last; ++o) {
      if (node.open[o] == 0) continue;
      stays = stays || !layout_.changes(o);
      if (best == lists[k].last || node.shares[o] > node.shares[best]) best = o;
    }
    if (best == lists[k].last) return;
    options_[k] = best;
    if (stays && layout_.changes(best)) changes_.emplace_back(-node.shares[best], k);
  }
  modes_ = node.modes;
  for (std::size_t k = 0; k < modes_.size(); ++k) {
    if (modes_[k] == 0) return;
    if (!relaxation_.needs_mode(node, k)) continue;
    const double share = relaxation_.share_of_change(node, k);
    modes_[k] = share >= 0.5 ? ShareNode::move : ShareNode::stay;
    if (share >= 0.5) changes_.emplace_back(-share, lists.size() + k);
  }
  if (node.is_limited && changes_.size() > node.slots) {
    std::sort(changes_.begin(), changes_.end());
    for (std::size_t i = node.slots; i < changes_.size(); ++i) {
      const std::size_t place = changes_[i].second;
      if (place >= lists.size()) {
        modes_[place - lists.size()] = ShareNode::stay;
        continue;
      }
      for (std::size_t o = lists[place].first; o < lists[place].last; ++o) {
        if (node.open[o] != 0 && !layout_.changes(o)) options_[place] = o;
      }
    }
  }
  search_row(node, node.bound);
}

// Each row of options and modes once: it is searched to the end.
void ValueSearch::search_row(const ShareNode& node, double bound) {
  std::uint64_t hash = 1;
  for (const std::size_t option : options_) hash = mixed_with(hash, option);
  for (const std::uint8_t mode : modes_) hash = mixed_with(hash, mode);
  if (tried_.insert(hash).second) lattice_.run(node, options_, modes_, bound);
}

void ValueSearch::finish(const ShareNode& node) {
  for (std::size_t k = 0; k < options_.size(); ++k) {
    const ListUnit& list = layout_.lists()[k];
    for (std::size_t o = list.first; o < list.last; ++o) {
      if (node.open[o] != 0) options_[k] = o;
    }
  }
  modes_ = node.modes;
  search_row(node, node.bound);
}

// What the relaxation leaves most undecided; where it decides everything, what it would most easily
// decide otherwise.
void ValueSearch::branch(std::size_t depth) {
  const ShareNode& node = nodes_[depth];
  const std::vector<ListUnit>& lists = layout_.lists();
  const std::size_t none = lists.size() + node.modes.size();
  std::size_t widest = none;
  std::size_t closest = none;
  double spread = 0;
  double second = infinity;
  for (std::size_t k = 0; k < lists.size(); ++k) {
    double best = infinity;
    double next = infinity;
    std::size_t count = 0;
    for (std::size_t o = lists[k].first; o < lists[k].last; ++o) {
      if (node.open[o] == 0) continue;
      ++count;
      const double bound = relaxation_.bound_of_option(k, o);
      next = std::min(next, std::max(best, bound));
      best = std::min(best, bound);
    }
    if (count == 0) return;
    if (count == 1) continue;
    const double now = relaxation_.spread_of_list(node, k);
    if (now > spread) {
      spread = now;
      widest = k;
    }
    if (closest == none || next < second) {
      second = next;
      closest = k;
    }
  }
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    if (node.modes[k] == 0) return;
    if (!relaxation_.needs_mode(node, k)) continue;
    const double now = relaxation_.spread_of_number(node, k);
    const double next = std::max(relaxation_.bound_of_mode(k, ShareNode::stay),
                                 relaxation_.bound_of_mode(k, ShareNode::move));
    if (now > spread) {
      spread = now;
      widest = lists.size() + k;
    }
    if (closest == none || next < second) {
      second = next;
      closest = lists.size() + k;
    }
  }
  const std::size_t chosen = widest == none ? closest : widest;
  if (chosen == none) {
    finish(node);
  } else if (chosen < lists.size()) {
    branch_on_list(depth, chosen);
  } else {
    branch_on_number(depth, chosen - lists.size());
  }
}

void ValueSearch::branch_on_list(std::size_t depth, std::size_t list) {
  const ListUnit& unit = layout_.lists()[list];
  std::vector<Child>& children = children_[depth];
  children.clear();
  for (std::size_t o = unit.first; o < unit.last; ++o) {
    if (nodes_[depth].open[o] == 0) continue;
    const double bound = relaxation_.bound_of_option(list, o);
    children.push_back({.bound = std::max(nodes_[depth].bound, bound), .choice = o});
  }
  std::stable_sort(children.begin(), children.end(),
                   [](const Child& a, const Child& b) { return a.bound < b.bound; });
  for (const Child& child : children) {
    if (child.bound >= record_.enough()) return;
    ShareNode& next = child_of(depth);
    next.bound = child.bound;
    for (std::size_t o = unit.first; o < unit.last; ++o) {
      next.open[o] = o == child.choice ? 1 : 0;
      next.shares[o] = o == child.choice ? 1 : 0;
    }
    node(depth + 1);
  }
}

void ValueSearch::branch_on_number(std::size_t depth, std::size_t number) {
  std::vector<Child>& children = children_[depth];
  children.clear();
  for (const std::uint8_t mode : {ShareNode::stay, ShareNode::move}) {
    const double bound = relaxation_.bound_of_mode(number, mode);
    children.push_back({.bound = std::max(nodes_[depth].bound, bound), .choice = mode});
  }
  std::stable_sort(children.begin(), children.end(),
                   [](const Child& a, const Child& b) { return a.bound < b.bound; });
  const NumberUnit& unit = layout_.numbers()[number];
  for (const Child& child : children) {
    if (child.bound >= record_.enough()) return;
    ShareNode& next = child_of(depth);
    next.bound = child.bound;
    next.modes[number] = static_cast<std::uint8_t>(child.choice);
    next.moves[number] = child.choice == ShareNode::stay
                             ? 0
                             : std::clamp(next.moves[number], unit.lower, unit.upper);
    node(depth + 1);
  }
}

}  // namespace ellice

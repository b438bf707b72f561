#pragma once

// The relaxation of a node in which options have shares: its bound, and what each option costs.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "solver/search_record.hpp"

namespace ellice {

/// What is left to a node, and where its parent's relaxation ended.
struct ShareNode {
  static constexpr std::uint8_t stay = 1;
  static constexpr std::uint8_t move = 2;

  std::vector<std::uint8_t> open;   // by option
  std::vector<std::uint8_t> modes;  // by number: whether it may stay and may move
  std::vector<double> shares;       // by option
  std::vector<double> moves;        // by number
  std::vector<double> prices;       // by rule: λ > 0 weighs the upper side, λ < 0 the lower
  double multiplier = 0;
  double change_price = 0;  // of max_changes
  double bound = 0;
  std::size_t slots = 0;    // how many of the units that may stay may change
  bool is_limited = false;  // fewer than there are
};

/// min over shares p ≥ 0, Σp = 1 of each list and over the numbers' ranges of
/// cost − m·g + Σ λ(aᵀx − β), m found so that g ≈ 0. Whatever point the descent has reached, its
/// worst model gives a bound (theory.md, Result 11), over the units' own discrete values.
class ShareRelaxation {
 public:
  /// The factor must outlive it, as all others must.
  ShareRelaxation(const BoxFactor& factor, const SearchLayout& layout, SearchRecord& record,
                  WorkLimit& limit);

  [[nodiscard]] ShareNode root() const;
  /// Raises the node's bound; false if that, or what the half-space reaches, rules the node out.
  [[nodiscard]] bool solve(ShareNode& node);
  /// Where what is open lies on lines, one for each unit, the node's box, solved whole for a
  /// threshold so much higher: moves, shares and multiplier are those of its answer. Near the
  /// largest ε sweeps over single units get nowhere, since the cone's curvature couples them all.
  /// False where the node is no such box.
  bool place_in_box(ShareNode& node, double lift = 0);
  /// How far above the threshold g gets there; 0 where the node is no box.
  [[nodiscard]] double most_in_box(const ShareNode& node);
  /// That box; nothing where the node is none.
  [[nodiscard]] std::optional<BoxProblem> box_of(const ShareNode& node);
  /// Whether sweeps did not settle what was solved last.
  [[nodiscard]] bool needed_box() const { return needed_box_; }

  // After solve():
  /// No solution of the node that takes the option costs less.
  [[nodiscard]] double bound_of_option(std::size_t list, std::size_t option) const;
  /// The same for a number that stays or moves.
  [[nodiscard]] double bound_of_mode(std::size_t number, std::uint8_t mode) const;
  /// How far a unit is from being decided: the variance of its moves in the metric of M.
  [[nodiscard]] double spread_of_list(const ShareNode& node, std::size_t list) const;
  [[nodiscard]] double spread_of_number(const ShareNode& node, std::size_t number) const;
  /// How much of a change the number's move is, between 0 and 1.
  [[nodiscard]] double share_of_change(const ShareNode& node, std::size_t number) const;
  /// Whether the query's value, or a change, is still to be decided before the number's value is.
  [[nodiscard]] bool needs_mode(const ShareNode& node, std::size_t number) const;

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct Worths {
    double value = -infinity;
    double excess = 0;            // of the half-space at the minimiser
    std::vector<double> options;  // cost − m·gain + Σ λ·a·move
    // By unit, lists before numbers:
    std::vector<double> change;       // the least of a change, ∞ if there is none
    std::vector<double> stay;         // of the query's value, ∞ if it is not allowed
    std::vector<double> gain;         // of that change
    std::vector<double> term;         // what the bound contains
    std::vector<std::uint8_t> taken;  // whether that is a change
    bool is_full = false;             // no further unit may change:
    double dearest = 0;               // the least worthwhile change taken, and
    double next = 0;                  // the most worthwhile not taken
  };
  /// The convex hull of staying and changing, for a charge.
  struct Hull {
    double slope = 0;
    double end = 0;  // beyond it the cost is that of the change itself
  };

  void start(const ShareNode& node);
  void sweep(ShareNode& node, double m);
  void move_shares(ShareNode& node, const ListUnit& list, double m);
  void move_number(ShareNode& node, std::size_t index, double m);
  void shift(Index column, double by);
  [[nodiscard]] double rule_slope(Index column) const;
  void weigh_rules(const ShareNode& node);
  /// False if the half-space of the worst model misses the node.
  [[nodiscard]] bool evaluate(const ShareNode& node, double m, Worths& worths, double scale = 1);
  [[nodiscard]] double tamed(const ShareNode& node) const;
  [[nodiscard]] static double best_move(const NumberUnit& unit, double pull);
  [[nodiscard]] double bound_of_change(std::size_t unit, double worth) const;
  [[nodiscard]] double bound_of_stay(std::size_t unit) const;
  void choose_changes(const ShareNode& node, Worths& worths);
  [[nodiscard]] double first_multiplier(ShareNode& node);
  /// What the shares and moves of a node cost, without charges.
  [[nodiscard]] double cost_at(const ShareNode& node) const;
  [[nodiscard]] bool is_box(const ShareNode& node) const;
  void make_box(const ShareNode& node, double lift);
  void share_out(ShareNode& node, const ListUnit& list, double move) const;
  [[nodiscard]] static Hull hull(const NumberUnit& unit, double charge, bool upwards);
  [[nodiscard]] double charge(const ShareNode& node, const NumberUnit& unit) const {
    return unit.charge + node.change_price;
  }
  [[nodiscard]] double value() const { return linear_ - root_; }  // g − t

  const BoxFactor* factor_;
  const SearchLayout* layout_;
  SearchRecord* record_;
  WorkLimit* limit_;
  std::vector<double> gains_;     // by option: θᵀ·move
  Vector move_;                   // the mean move, by column
  Vector image_;                  // Mx̃ there
  double square_ = 0;             // x̃ᵀMx̃
  double linear_ = 0;             // θᵀx̃ − t
  double root_ = 0;               // √(x̃ᵀMx̃)
  std::vector<double> activity_;  // by rule: aᵀx
  std::vector<double> penalty_;   // by rule: curvature of its penalty
  std::vector<double> weights_;   // by rule: λ with the penalty's part
  Worths best_;
  Worths trial_;
  double best_multiplier_ = 0;
  BoxProblem box_;
  bool needed_box_ = false;
  Vector slope_;  // by column: the half-space of the worst model,
  Vector pull_;   // and its slope in the bound, rules included
  std::vector<std::pair<double, std::size_t>> candidates_;
  std::vector<double> gains_of_changes_;
};

}  // namespace ellice

#pragma once

// The cheapest robust point of a box of numbers, grids left out: centre and bound of a lattice
// search.

#include <vector>

#include "solver/search_record.hpp"

namespace ellice {

/// The numbers that are still undecided, everything else folded into constants. Moves are from the
/// query; g = excess + slopeᵀΔ − √(square + 2·imageᵀΔ + ΔᵀMΔ) ≥ 0 is asked for.
struct NumberFrame {
  std::size_t size = 0;
  std::vector<std::size_t> numbers;  // which of the layout's
  std::vector<double> slope;
  std::vector<double> image;
  std::vector<double> matrix;  // size × size
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> rules;     // rules × size
  std::vector<double> activity;  // by rule: aᵀx at Δ = 0
  double excess = 0;
  double square = 0;
  double paid = 0;  // what the rest costs
  // Where the relaxation starts, and ends:
  std::vector<double> point;
  std::vector<double> prices;  // by rule
  double multiplier = 0;
  double bound = 0;          // of cost beyond what is paid
  double constant = 0;       // −m·g + Σ λ(aᵀx − β) at the point
  double root = 0;           // √… at the point,
  double value = 0;          // g there,
  std::vector<double> bend;  // M·x̃/√…,
  std::vector<double> pull;  // and m·∂g − Σ λa

  void reserve(std::size_t most, std::size_t rules_count);
  /// Without number i, which moves by so much.
  void fix_into(NumberFrame& child, std::size_t i, double move, double cost) const;
};

class NumberRelaxation {
 public:
  NumberRelaxation(const SearchLayout& layout, WorkLimit& limit);

  /// Newton's method on the optimality conditions of the frame, which ends at its best bound; false
  /// if nothing in it costs less than `enough`. The bound is one of Result 16 for whatever point
  /// and multipliers it reaches.
  [[nodiscard]] bool solve(NumberFrame& frame, double enough);

  /// After solve() has ruled out the frame that fixing number i of `parent` at `move` gave: whether
  /// the same half-space rules out all moves beyond it in a direction.
  [[nodiscard]] bool rules_out_beyond(const NumberFrame& parent, std::size_t i, double move,
                                      double direction) const;

 private:
  /// Why the last frame was closed.
  enum class Proof { none, cone, rule_above, rule_below };

  [[nodiscard]] bool evaluate(const NumberFrame& frame, const std::vector<double>& y, double m,
                              double scale);
  void keep_best(NumberFrame& frame, double m) const;
  [[nodiscard]] double tamed(const NumberFrame& frame) const;
  /// Of the evaluated point, as it is and tamed; false where the half-space misses the box.
  [[nodiscard]] bool keep_with_tamed(NumberFrame& frame, double m);
  /// Lowers cost − m·g over one number after the other.
  void sweep(const NumberFrame& frame, double m);
  /// Leaves a point near g = 0 and its multiplier; false if nothing costs less than `enough`.
  [[nodiscard]] bool sweep_to_border(NumberFrame& frame, double enough, double& m);
  [[nodiscard]] bool breaks_rules(const NumberFrame& frame);
  void weigh_rules(const NumberFrame& frame, const std::vector<double>& y);
  [[nodiscard]] bool step(const NumberFrame& frame, std::vector<double>& y, double& m);
  void assemble(const NumberFrame& frame, double m);
  [[nodiscard]] bool factorise();
  void substitute(std::vector<double>& vector) const;

  const SearchLayout* layout_;
  WorkLimit* limit_;
  bool is_linear_ = false;  // all costs are
  Proof proof_ = Proof::none;
  std::size_t proof_rule_ = 0;
  // At the current point:
  double root_ = 0;
  double value_ = 0;
  double bound_ = 0;
  double constant_ = 0;
  double cost_ = 0;
  std::vector<double> bend_, pull_, gradient_, sign_;
  std::vector<double> prices_, weights_, penalty_;
  std::vector<double> point_;
  std::vector<std::size_t> free_;
  std::vector<double> newton_;  // the matrix on the free numbers, then its factor
  std::vector<double> along_, away_;
};

}  // namespace ellice

#pragma once

// The cheapest robust point of a lattice of numbers, everything else decided.

#include <cstdint>
#include <vector>

#include "solver/lens.hpp"
#include "solver/number_relaxation.hpp"
#include "solver/share_relaxation.hpp"

namespace ellice {

/// Depth first: the relaxation of what is undecided gives a centre, a quadratic around it bounds
/// what robust points cost (Lens), and where few lattice points lie below that bound they are
/// enumerated; otherwise the coarsest number takes its values, the best first, and the relaxation
/// is solved again for each.
class LatticeSearch {
 public:
  /// Numbers without grids are left to the judge's oracle, where there is a judge.
  LatticeSearch(const BoxFactor& factor, const SearchLayout& layout, SearchRecord& record,
                WorkLimit& limit, const PointJudge* judge);

  /// Searches a node in which every list has one option and every number that needs one its mode.
  void run(const ShareNode& node, const std::vector<std::size_t>& options,
           const std::vector<std::uint8_t>& modes, double bound);

 private:
  void node(std::size_t depth, double bound);
  void branch(std::size_t depth, double bound);
  [[nodiscard]] bool offer_cheapest(const NumberFrame& frame);
  void solve_continuous(const NumberFrame& frame, double bound);

  /// Enumeration, from the top level down (theory.md, Result 21).
  void enumerate(const NumberFrame& frame);
  void visit(std::size_t level, double least, double cost, double linear, double square);
  void finish(double bend, double cost, double linear, double square);
  void walk(double from, double direction, double bend, double cost, double linear, double square);
  void factorise(const NumberFrame& frame);
  bool offer();

  const BoxFactor* factor_;
  const SearchLayout* layout_;
  SearchRecord* record_;
  WorkLimit* limit_;
  const PointJudge* judge_;
  NumberRelaxation relaxation_;
  Lens lens_;
  std::vector<NumberFrame> frames_;
  std::size_t closed_ = 0;  // the depth of the last frame that its relaxation closed
  std::vector<std::uint8_t> modes_;
  Vector x_;  // what is decided so far

  const NumberFrame* frame_ = nullptr;  // being enumerated
  std::vector<double> root_;  // triangular: x̃ᵀMx̃ as a sum of squares, in the lens's order
  std::vector<double> gram_;  // scratch
  double rest_ = 0;           // what of it does not depend on the numbers
  std::vector<double> moves_, away_;
  double least_ = 0;  // the ends of the last number's range
  double greatest_ = 0;
};

}  // namespace ellice

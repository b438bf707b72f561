#pragma once

// Lagrange's bound of a node: with g replaced by one model, the problem falls apart into units.

#include <limits>
#include <vector>

#include "solver/mixed_domain.hpp"

namespace ellice {

/// The minimum over the units of cost − m·(gain − need), at one m.
struct DualPoint {
  double multiplier = 0;
  double value = -std::numeric_limits<double>::infinity();
  double excess = 0;  // gain − need at the minimiser
  std::vector<Choice> choices = {};
};

struct DualBound {
  bool infeasible = false;  // the half-space misses the node
  double value = 0;         // no point of the node in the half-space costs less
  const Cut* cut = nullptr;
  DualPoint below = {};  // just before the half-space is reached,
  DualPoint above = {};  // and just after
  double share = 1;      // how far between the two the half-space begins

  [[nodiscard]] const DualPoint& best() const { return below.value > above.value ? below : above; }
};

class DualSolver {
 public:
  explicit DualSolver(const std::vector<UnitView>& units) : units_(&units) {}

  /// `slots`: how many of the units that may stay may change. Stops early where the value reaches
  /// `enough`, or certainly does not. `raise` asks for that much more than the cut's need.
  [[nodiscard]] DualBound maximise(const Cut& cut, const std::vector<Domain>& domains,
                                   std::size_t slots, double guess, double enough,
                                   double raise = 0);
  [[nodiscard]] double value_at(const Cut& cut, const std::vector<Domain>& domains,
                                std::size_t slots, double m);
  /// Takes out of the domains what cannot cost less than `enough` (theory.md, Result 12).
  void fix(const DualBound& bound, std::size_t slots, double enough,
           std::vector<Domain>& domains) const;

 private:
  void evaluate(const Cut& cut, const std::vector<Domain>& domains, std::size_t slots, double m,
                double need, DualPoint& point);
  [[nodiscard]] bool is_missed(const Cut& cut, const std::vector<Domain>& domains,
                               std::size_t slots, double need);

  const std::vector<UnitView>* units_;
  std::vector<std::pair<double, std::size_t>> free_;
  std::vector<double> gains_;
};

}  // namespace ellice

#pragma once

// The cheapest points of a box for g ≥ τ where costs are absolute values alone, from the query's τ
// up to the threshold (theory.md, Result 74).

#include <vector>

#include "solver/box_cost.hpp"
#include "solver/robust_logit.hpp"

namespace ellice {

/// Which coordinates move, and which way, changes at events; between two of them the path is known
/// in closed form. Storage is kept from one run to the next.
class AbsolutePath {
 public:
  /// From the point of the box nearest to the query, at which state is evaluated and g < t. True if
  /// the threshold is reached: state is evaluated there, the optimum up to rounding. Otherwise the
  /// box holds no such point or rounding has lost the way, and state is as before.
  bool run(const RobustLogit& logit, const BoxCost& cost, double threshold,
           RobustLogit::State& state);

  [[nodiscard]] double multiplier() const { return 1 / rho_; }
  [[nodiscard]] int events() const { return events_; }

 private:
  /// What comes next as ρ = 1/μ falls: coordinate −1 is the threshold.
  struct Event {
    double rho = 0;
    double eta = 0;  // of the threshold
    Index coordinate = -1;
    double place = 0;  // where one that stops does
    double side = 0;   // of the query, of one that starts
  };
  void prepare(const RobustLogit::State& state);
  [[nodiscard]] bool solve(const RobustLogit::State& state);
  [[nodiscard]] Event next_event() const;
  struct Root {
    double rho = 0;
    double eta = 0;  // ρ − ρ₀
  };
  /// The largest ρ below the present one where r(p + qη) = e√Q, 0 if there is none.
  [[nodiscard]] Root root(double p, double q, double e, bool is_new) const;
  void stops(Index position, Event& next) const;
  void starts(Index coordinate, Event& next) const;
  void change(const Event& event);
  [[nodiscard]] Event& last_of(Index i) { return last_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Event& last_of(Index i) const { return last_[static_cast<std::size_t>(i)]; }
  /// At the present ρ, where several may change at once.
  [[nodiscard]] bool has_just_changed(Index i) const;
  void arrive(const Event& end, RobustLogit::State& state) const;

  const RobustLogit* logit_ = nullptr;
  const BoxCost* cost_ = nullptr;
  double threshold_ = 0;
  NewtonMatrix matrix_ = NewtonMatrix(0);
  std::vector<Index> free_;
  Vector place_;                     // of coordinates that rest
  Vector side_;                      // of the query on which a coordinate moves; 0 where it rests
  Vector image_;                     // of the resting part of x̃ under M
  Vector with_s_, with_rho_, rest_;  // u, v and w of the free coordinates
  Vector image_with_s_, image_with_rho_, residue_;  // M times these, on all; image_ − M·w
  double squared_rest_ = 0;                         // r²
  double middle_ = 0;                               // ρ₀
  double left_ = 0;                                 // 1 − α
  double gamma_ = 0;
  double level_ = 0;  // θᵀx̃ of the resting part and −w
  double rho_ = 0;
  std::vector<Event> last_;  // of each coordinate
  int events_ = 0;
};

}  // namespace ellice

#pragma once

// The scalar part of a cone projection, for sixteen instances at a time.

#include <memory>
#include <vector>

#include "ellice/core/types.hpp"
#include "solver/cone_projection.hpp"

namespace ellice {

/// Memory for doubles aligned for vectors.
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size);
  [[nodiscard]] double* data() { return data_.get(); }
  [[nodiscard]] const double* data() const { return data_.get(); }

 private:
  struct Release {
    void operator()(double* data) const;
  };
  std::unique_ptr<double[], Release> data_;
};

/// min ‖e − e0‖² subject to aᵀe + c ≥ √(Σ πᵢeᵢ² + κ²), for one a and π (one factor and one ε) and
/// many (e0, c, κ²). theory.md, Result 3 to Result 5.
class SecularSolver {
 public:
  static constexpr int width = 16;  // instances side by side

  /// `inverse_sigma` is π/2ε, `offset` is added to what solve() is given as e0.
  SecularSolver(VectorArg a, VectorArg inverse_sigma, VectorArg offset, double epsilon,
                double margin);

  /// Instances l = 0 … live−1 < width: e0ᵢ = e[i·stride + l], c and κ² as given, all aligned. On
  /// return e holds e − e0. `scratch` has scratch_size() doubles. False if an
  /// e0 or c is not finite.
  bool solve(double* e, Index stride, const double* c, const double* kappa_squared, int live,
             double* scratch, ConeSummary* summaries) const;

  [[nodiscard]] std::size_t scratch_size() const;

 private:
  struct Coefficients {  // of one coordinate, side by side for the memory's sake
    double a, pi, w0;
    double a2w0;    // a²·w0
    double aw0pi;   // a·w0·π
    double aw02pi;  // a·w0²·π
    double offset;
  };
  struct Group;
  struct Search;

  [[nodiscard]] Group start(double* e, Index stride, const double* c, const double* kappa_squared,
                            int live) const;
  void invert(const Group& group, double* scratch) const;
  void start_secular(const Group& group, Search& search) const;
  void solve_secular(const double* e, Index stride, double* scratch, Group& group) const;
  void solve_compact(const double* e, Index stride, Group& group) const;
  void solve_plain(Group& group) const;
  void finish(double* e, Index stride, double* scratch, Group& group) const;
  void move_to_best(double* e, Index stride, const double* scratch, Group& group) const;

  std::vector<Coefficients> coefficients_;
  double epsilon_;
  double margin_;
  double a_squared_ = 0;  // ‖a‖²
  double rho_squared_;    // Σ a²/π = ε_max/ε; ∞ for ε = 0
  double nu0_ = 0;        // root of Σ a²ν/(1+νπ) = 1, where ρ² > 1
  double start_t_ = 0;    // Σ (a·w0)²
  double start_a2_ = 0;   // 1 − Σ π(ν0·a·w0)²
  double start_w3_ = 0;   // Σ a²π·w0³
  double start_w4_ = 0;   // Σ a²π·w0⁴
};

}  // namespace ellice

#pragma once

#include <vector>

#include "ellice/model/network.hpp"
#include "ellice/recourse/feasible_set.hpp"
#include "solver/mixed_integer.hpp"

namespace ellice {

/// The programs of PROPLACE: the l1-nearest point to a query in the convex hull of some corners, as
/// x = Vᵀλ, subject to what is added here.
class HullProgram {
 public:
  /// Corners in rows; `box`, where given, bounds x.
  HullProgram(RowMatrixArg corners, VectorArg query, const Box* box);

  /// f(x; Θ) ≥ margin for one relu network. Units whose sign the hull settles need no binary.
  void require_accepted(const Network& network, double margin);
  /// f(x; Θ) ≥ margin for every Θ of the box |Θ−Θ̂| ≤ δ; at most one hidden layer (theory.md, Result
  /// 43).
  void require_robust(const Network& network, double delta, double margin);
  struct Solution {
    MixedIntegerStatus status = MixedIntegerStatus::failed;
    Vector point = {};
    double distance = 0;  // l1
  };
  [[nodiscard]] Solution solve(double seconds) const;

 private:
  using Terms = std::vector<MixedInteger::Term>;
  struct Affine {  // in λ, so that a constant is one: Σλ = 1
    Terms terms = {};
    double least = 0;  // over the hull
    double most = 0;
  };
  /// wᵀx + b.
  [[nodiscard]] Affine affine(const Eigen::Ref<const Eigen::RowVectorXd>& weights,
                              double bias) const;
  /// a ≤ max(0, z) with a ≥ 0, z an affine expression within [least, most]; −1 where it is 0.
  Index add_at_most_relu(const Affine& z);
  /// a ≥ max(0, z).
  Index add_at_least_relu(const Affine& z);
  /// A variable that is at least ‖x‖₁.
  [[nodiscard]] Index norm();

  RowMatrix corners_;
  MixedInteger program_;
  Index norm_ = -1;
};

}  // namespace ellice

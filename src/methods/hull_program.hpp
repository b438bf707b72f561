#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "ellice/model/network.hpp"
#include "request/feasible_set.hpp"
#include "solver/mixed_integer.hpp"

namespace ellice {

/// The programs of PROPLACE: the l1-nearest point to a query in the convex hull of some corners, as
/// x = Vᵀλ, subject to what is added here.
class HullProgram {
 public:
  /// Corners in rows; `box`, where given, bounds x.
  HullProgram(RowMatrixArg corners, VectorArg query, const Box* box);

  /// ‖x − query‖₁ ≤ distance. What is added afterwards profits from the smaller region.
  void require_within(double distance);
  /// f(x; Θ) ≥ margin for one relu network. Units whose sign the hull settles need no binary.
  void require_accepted(const Network& network, double margin);
  /// The same where every unit is on or off as it is at a point: no binaries, and a smaller region.
  void require_accepted_beside(const Network& network, double margin, VectorArg point);
  /// f(x; Θ) ≥ margin for every Θ of the box |Θ−Θ̂| ≤ δ; at most one hidden layer (theory.md, Result
  /// 44).
  void require_robust(const Network& network, double delta, double margin);
  struct Solution {
    MixedIntegerStatus status = MixedIntegerStatus::failed;
    Vector point = {};
    double distance = 0;  // l1
  };
  [[nodiscard]] Solution solve(double seconds) const;

 private:
  using Terms = std::vector<MixedInteger::Term>;
  /// slopeᵀx + constant.
  struct Line {
    Vector slope = {};
    double constant = 0;
  };
  struct Affine {  // in the variables; in λ a constant is one, as Σλ = 1
    Terms terms = {};
    Line low = {};  // bounds of its value, linear in x
    Line high = {};
    double least = 0;  // over the region
    double most = 0;
  };
  /// wᵀx + b.
  [[nodiscard]] Affine affine(const Eigen::Ref<const Eigen::RowVectorXd>& weights,
                              double bias) const;
  /// Σ weight·unit + b.
  [[nodiscard]] Affine weighted_sum(const std::vector<Affine>& units,
                                    const Eigen::Ref<const Eigen::RowVectorXd>& weights,
                                    double bias) const;
  /// max(0, z), exactly; `is_on`, where given, settles which.
  Affine relu(const Affine& z, std::optional<bool> is_on);
  void add_network(const Network& network, double margin, const Vector* beside);
  /// The largest value of a line over the region.
  [[nodiscard]] double largest(const Line& line) const;
  [[nodiscard]] double smallest(const Line& line) const;
  /// a ≤ max(0, z) with a ≥ 0, z an affine expression within [least, most]; −1 where it is 0.
  Index add_at_most_relu(const Affine& z);
  /// a ≥ max(0, z).
  Index add_at_least_relu(const Affine& z);
  /// A variable that is at least ‖x‖₁.
  [[nodiscard]] Index norm();

  RowMatrix corners_;
  Vector query_;
  double reach_ = std::numeric_limits<double>::infinity();  // l1, from the query
  MixedInteger program_;
  std::vector<Index> moves_;  // variables that are at least |x − query|
  Index norm_ = -1;
};

}  // namespace ellice

#pragma once

// Whether every model of a set accepts a row, and whether a row is the nearest one, from θ, H, ε
// and the rows by the formulas themselves: a judge that shares no code with sets and searches.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::plain {

/// What the last layer sees, unit by unit, with a 1 at its end.
Vector last_inputs(const Network& network, const Vector& z);

/// The head of a network with one output: its weights, then its bias.
Vector head_of(const Network& network);

double logit(const Network& network, const Vector& z);

/// {θ : ½(θ − θ̂)ᵀH(θ − θ̂) ≤ ε} over the last layer, by a dense inverse in extended precision.
class Ellipsoid {
 public:
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

  Ellipsoid(const Model& model, double epsilon);

  [[nodiscard]] double robust_logit(const Vector& z) const;
  /// The largest ε at which a row is accepted.
  [[nodiscard]] double radius(const Vector& z, double threshold = 0) const;
  /// θ̂ − √(2ε)·H⁻¹x̃/√(x̃ᵀH⁻¹x̃): for a linear model, its weights are the slope of the robust logit.
  [[nodiscard]] Vector worst(const Vector& z) const;
  /// ½(θ − θ̂)ᵀH(θ − θ̂).
  [[nodiscard]] double level(const Vector& theta) const;

 private:
  const Model* model_;
  double epsilon_;
  LongVector theta_;
  LongMatrix inverse_;
};

/// J, the slope of a network's logit in every parameter, layer by layer: the weights row by row,
/// then the biases. By the chain rule, unit by unit; a relu has the slope 0 up to the input `kink`.
Vector parameter_slopes(const Network& network, const Vector& z, double kink = 0);

/// The first-order sets: f − √(2ε)·s, s² = Jᵀ(G + λI)⁻¹J with the kept pairs of G by a dense
/// factor; of the isotropic set, s = ‖J‖.
double first_order_robust_logit(const Model& model, bool isotropic, double epsilon, const Vector& z,
                                double kink = 0);

/// {θ : L(θ) ≤ L(θ̂) + ε} for the logistic loss with ridge: heads over the inputs of the last layer.
class TrueSet {
 public:
  TrueSet(const Model& model, double epsilon);

  /// Mean loss and ridge, from their definition.
  [[nodiscard]] double objective(const Vector& theta) const;
  [[nodiscard]] double level(const Vector& theta) const { return objective(theta) - base_; }

  struct Worst {
    Vector model = {};
    double attained = 0;  // by the model, which is one of the set
    double bound = 0;     // below every model's score, by duality
  };
  /// Least cᵀθ over the set: L + τ·cᵀθ is minimised by Newton's method for the τ at which L meets
  /// its level. √(L − L(θ̂)) is nearly proportional to τ, which makes it easy to find.
  [[nodiscard]] Worst worst_of(const Vector& c) const;
  [[nodiscard]] Worst worst(const Vector& z) const { return worst_of(last_inputs(*network_, z)); }
  [[nodiscard]] double robust_logit(const Vector& z) const { return worst(z).attained; }

 private:
  void minimize(double tau, const Vector& c, Vector& theta) const;

  double epsilon_;
  const Network* network_;
  Vector center_;
  RowMatrix rows_ = {};  // times the sign of their label
  Vector penalty_ = {};
  double base_ = 0;
};

/// A problem of numbers in a box.
struct Nearest {
  Vector query = {};
  Vector lower = {};
  Vector upper = {};
  Vector weights = {};
  CostKind kind = CostKind::l2;
};

/// What any point of the box must cost that one linear model accepts, from below, by Lagrange's
/// dual: the largest over λ ≥ 0 of λ·need + Σⱼ min over the column's moves of cost − λ·gain. The
/// robust points are among those that a model of the set accepts, and at the nearest robust point
/// its worst model makes this its very cost: the problem is convex.
double least_cost(const Nearest& asked, const Vector& head, double threshold);

}  // namespace ellice::plain

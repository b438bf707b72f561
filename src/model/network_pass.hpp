#pragma once

#include <vector>

#include "core/row_sum.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// One point's way through a network, forwards and back: every derivative that recourse needs, in
/// one place (theory.md, Result 23). Keeps its storage, so that no call allocates; each thread has
/// its own. At a kink of relu the derivative is that of the side on which the unit is off.
class NetworkPass {
 public:
  /// The network must outlive the pass.
  explicit NetworkPass(const Network& network);

  [[nodiscard]] const Network& network() const { return *network_; }

  /// f(x). What follows refers to this x.
  double forward(VectorArg x);
  /// a_{l−1}, what layer l (counted from 0) reads: x for the first, the features for the head.
  [[nodiscard]] const Vector& input_of(std::size_t layer) const { return inputs_[layer]; }
  [[nodiscard]] const Vector& features() const { return inputs_.back(); }
  /// φ′(z_l) of a hidden layer.
  [[nodiscard]] const Vector& slope_of(std::size_t layer) const { return slopes_[layer]; }

  /// ∇ₓ vᵀa_{L−1}: one reverse pass from the head's inputs. With v = w it is ∇f.
  void feature_gradient(VectorArg v, Vector& gradient);
  /// ∇ₓ Σ_l v_lᵀa_l over what the layers read, one vector for each.
  void inputs_gradient(const std::vector<Vector>& v, Vector& gradient);
  /// ∂a_{L−1}/∂x, one row per feature.
  void feature_jacobian(Matrix& jacobian);
  /// The rows of it that are not 0, for the features that it names, with zeros up to whole blocks:
  /// the first rows of `jacobian`, which has room for all. For networks whose features share all
  /// their units.
  void live_jacobian(std::vector<Index>& live, RowMatrix& jacobian);

  // The units of the hidden layers, counted through from the first layer's first: where their
  // inputs z are 0, relu networks have kinks.

  /// Adds those of relu whose input changes its sign on the way from x to x + step, to first order.
  void crossed_units(VectorArg step, std::vector<Index>& units);
  /// z of one unit, and ∇z.
  double unit_input(Index unit, Vector& gradient);
  /// ∂(vᵀa_{L−1})/∂a for every unit, also for those that are off.
  void unit_adjoints(VectorArg v, Vector& adjoints);

  /// δ_l = ∂f/∂z_l for every layer; call once per forward pass before what follows. The derivative
  /// of f in all parameters is then J = (δ_l·a_{l−1}ᵀ, δ_l) for each layer, in the order of
  /// parameter_vector().
  void backward();
  [[nodiscard]] const Vector& adjoint_of(std::size_t layer) const { return adjoints_[layer]; }
  /// ∇f, from the adjoints.
  void input_gradient(Vector& gradient) const;
  /// ‖J‖² = Σ ‖δ_l‖²·(‖a_{l−1}‖² + 1).
  [[nodiscard]] double parameter_norm_squared() const;
  /// J as a vector.
  void parameter_gradient(Vector& jacobian) const;
  /// ∇ₓ(vᵀJ(x)) for fixed v: value and tangent along v go through the network together, then back.
  /// Where δ_l(j) = 0 the row j of v's piece is not read. For relu its columns i with a_{l−1}(i) =
  /// 0 do not matter either, except in the first layer.
  void directional_gradient(VectorArg v, Vector& gradient);

 private:
  /// gradient ← ∂(aᵀv)/∂x for v at the inputs of `layer`, through the layers below it.
  void descend(std::size_t layer, Vector& gradient);

  const Network* network_;
  bool has_curvature_ = false;    // some activation has a second derivative
  std::vector<Vector> inputs_;    // a_0 … a_{L−1}
  std::vector<Vector> slopes_;    // φ′(z_l) of the hidden layers
  std::vector<Vector> sums_;      // z_l of the hidden layers
  std::vector<Vector> adjoints_;  // δ_1 … δ_L
  std::vector<Vector> reverse_;   // by input: scratch of reverse passes
  std::vector<Vector> returned_;  // W_{l+1}ᵀδ_{l+1}: the adjoint of a_l
  std::vector<Vector> tangents_;  // of z_l along v
  std::vector<Vector> tangent_inputs_;
  RowSum sum_;
  std::vector<Matrix> jacobians_;  // of a_l in x
  std::vector<Index> live_below_;
  RowMatrix jacobian_below_;
};

}  // namespace ellice

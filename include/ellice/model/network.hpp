#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

enum class NetworkKind {
  logistic,  // the head alone
  mlp,       // hidden layers, then the head: one logit
};
enum class Activation { relu, tanh, sigmoid, identity };

template <>
struct EnumNames<NetworkKind> {
  static constexpr std::array<std::string_view, 2> names = {"logistic", "mlp"};
};
template <>
struct EnumNames<Activation> {
  static constexpr std::array<std::string_view, 4> names = {"relu", "tanh", "sigmoid", "identity"};
};

struct Layer {
  Matrix weights = {};  // rows = outputs
  Vector bias = {};
  Activation activation = Activation::identity;
};

/// What maps model space to a score,
///
///   a₀ = x,  z_l = W_l·a_{l−1} + b_l,  a_l = φ_l(z_l),  f = z_L
///
/// (theory.md, Definition 3). The last layer is the head; a logistic model is a head alone.
struct Network {
  NetworkKind kind = NetworkKind::logistic;
  std::vector<Layer> layers = {};

  [[nodiscard]] Index inputs() const { return layers.front().weights.cols(); }
  /// Weights and biases of all layers.
  [[nodiscard]] Index parameters() const;
  /// The head's parameters θ = [w; b].
  [[nodiscard]] Vector head() const;
  void set_head(VectorArg theta);
  /// What the head sees, a_{L−1}, for one point or for each row; x itself without hidden layers.
  [[nodiscard]] Vector features(VectorArg x) const;
  [[nodiscard]] RowMatrix row_features(RowMatrixArg rows) const;
  [[nodiscard]] double logit(VectorArg x) const;
  [[nodiscard]] Vector logits(RowMatrixArg rows) const;
};

/// A network that is its head alone: x ↦ θᵀ[x; 1].
[[nodiscard]] Network linear_network(VectorArg theta);

/// All parameters as one vector: layer by layer, the weights row by row (one row per output), then
/// the bias. The head's [w; b] is the last piece.
[[nodiscard]] Vector parameter_vector(const Network& network);
void set_parameters(Network& network, VectorArg parameters);
/// The same network with other parameters.
[[nodiscard]] Network with_parameters(const Network& network, VectorArg parameters);

}  // namespace ellice

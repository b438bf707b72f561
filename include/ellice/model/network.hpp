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
  softmax,   // a score for each of several classes, with or without hidden layers
};
enum class Activation { relu, tanh, sigmoid, identity };

template <>
struct EnumNames<NetworkKind> {
  static constexpr std::array<std::string_view, 3> names = {"logistic", "mlp", "softmax"};
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
/// (theory.md, Definition 3). The last layer is the head; a logistic model is a head alone. A
/// softmax network has a row of the head for each class, and the class with the largest score wins.
struct Network {
  NetworkKind kind = NetworkKind::logistic;
  std::vector<Layer> layers = {};

  [[nodiscard]] Index inputs() const { return layers.front().weights.cols(); }
  /// Rows of the head: 1, or the number of classes.
  [[nodiscard]] Index outputs() const { return layers.back().weights.rows(); }
  /// The head alone, without hidden layers.
  [[nodiscard]] bool is_linear() const { return layers.size() == 1; }
  /// One logit rather than a score for each class.
  [[nodiscard]] bool has_one_output() const { return outputs() == 1; }
  /// Weights and biases of all layers.
  [[nodiscard]] Index parameters() const;
  /// The head's parameters θ = [w; b], class by class where there are several: [w₁; b₁; w₂; b₂; …].
  [[nodiscard]] Vector head() const;
  void set_head(VectorArg theta);
  /// What the head sees, a_{L−1}, for one point or for each row; x itself without hidden layers.
  [[nodiscard]] Vector features(VectorArg x) const;
  [[nodiscard]] RowMatrix row_features(RowMatrixArg rows) const;
  /// Of a network with one output.
  [[nodiscard]] double logit(VectorArg x) const;
  [[nodiscard]] Vector logits(RowMatrixArg rows) const;
  /// All outputs, for one point or for each row.
  [[nodiscard]] Vector scores(VectorArg x) const;
  [[nodiscard]] RowMatrix row_scores(RowMatrixArg rows) const;
};

/// A network that is its head alone: x ↦ θᵀ[x; 1].
[[nodiscard]] Network linear_network(VectorArg theta);
/// The same for `classes` outputs, θ class by class as in Network::head().
[[nodiscard]] Network softmax_network(VectorArg theta, Index classes);

/// All parameters as one vector: layer by layer, the weights row by row (one row per output), then
/// the bias. With one output the head's [w; b] is the last piece.
[[nodiscard]] Vector parameter_vector(const Network& network);
void set_parameters(Network& network, VectorArg parameters);
/// The same network with other parameters.
[[nodiscard]] Network with_parameters(const Network& network, VectorArg parameters);

}  // namespace ellice

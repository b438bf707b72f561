#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

enum class NetworkKind {
  logistic,  // the head alone
  mlp,       // hidden layers, then the head: one logit
  softmax,   // a score for each of several classes, with or without hidden layers
  nam,       // hidden layers of each feature apart, then the head: one logit
};
/// Which way the score goes when an input grows.
enum class Monotone { any, increase, decrease };
enum class Activation { relu, tanh, sigmoid, identity };

template <>
struct EnumNames<NetworkKind> {
  static constexpr std::array<std::string_view, 4> names = {"logistic", "mlp", "softmax", "nam"};
};
template <>
struct EnumNames<Monotone> {
  static constexpr std::array<std::string_view, 3> names = {"any", "increase", "decrease"};
};
template <>
struct EnumNames<Activation> {
  static constexpr std::array<std::string_view, 4> names = {"relu", "tanh", "sigmoid", "identity"};
};

/// How a network with hidden layers is fitted: Adam on the objective, with early stopping.
struct NetworkOptions {
  std::vector<int> hidden = {16};
  Activation activation = Activation::relu;
  double learning_rate = 1e-3;
  int epochs = 600;
  int patience = 10;
  bool keep_best = true;
  int batch_size = 0;

  static void fields(auto& self, auto&& visit) {
    visit("hidden", self.hidden, at_least(1),
          "units of the hidden layers, e.g. 16 or 32,32, of a nam those of each feature; a softmax "
          "model has none unless given");
    visit("activation", self.activation, any_value(), "of the hidden layers");
    visit("learning_rate", self.learning_rate, greater_than(0), "Adam's step length");
    visit("epochs", self.epochs, at_least(1), "passes over the rows at most");
    visit("patience", self.patience, at_least(0),
          "epochs without a better validation objective after which to stop; 0 for none");
    visit("keep_best", self.keep_best, any_value(),
          "end with the best state on the validation rows also where patience did not run out, "
          "rather than with the last one");
    visit("batch_size", self.batch_size, at_least(0), "rows per step; 0 for all of them");
  }
  bool operator==(const NetworkOptions&) const = default;
};

struct Layer {
  Matrix weights = {};  // rows = outputs
  Vector bias = {};
  Activation activation = Activation::identity;
};

/// Neighbouring inputs whose hidden layers are a network of their own.
struct InputGroup {
  Index columns = 1;
  Monotone monotone = Monotone::any;

  bool operator==(const InputGroup&) const = default;
};

/// A part of a layer whose weights are parameters: `units` rows from `first_unit` on, which read
/// `inputs` columns from `first_input` on. Row by row they are the layer's weights from
/// `first_weight` on in parameter_vector().
struct LayerBlock {
  Index first_unit = 0;
  Index units = 0;
  Index first_input = 0;
  Index inputs = 0;
  Index first_weight = 0;
};

/// What maps model space to a score,
///
///   a₀ = x,  z_l = W_l·a_{l−1} + b_l,  a_l = φ_l(z_l),  f = z_L
///
/// (theory.md, Definition 3). The last layer is the head; a logistic model is a head alone. A
/// softmax network has a row of the head for each class, and the class with the largest score wins.
/// In a neural additive model (Definition 6) each group of inputs has an equal share of the units
/// of every hidden layer, in the order of the groups, and these read that group's units alone: the
/// other weights are 0 and no parameters.
struct Network {
  NetworkKind kind = NetworkKind::logistic;
  std::vector<Layer> layers = {};
  std::vector<InputGroup> groups = {};  // of a nam, else none

  [[nodiscard]] Index inputs() const { return layers.front().weights.cols(); }
  /// Rows of the head: 1, or the number of classes.
  [[nodiscard]] Index outputs() const { return layers.back().weights.rows(); }
  /// The head alone, without hidden layers.
  [[nodiscard]] bool is_linear() const { return layers.size() == 1; }
  /// One logit rather than a score for each class.
  [[nodiscard]] bool has_one_output() const { return outputs() == 1; }
  /// Weights and biases of all layers.
  [[nodiscard]] Index parameters() const;
  /// Those weights of a layer that are parameters.
  [[nodiscard]] Index weights_of(std::size_t layer) const;
  /// Calls visit(block) for the blocks of a layer in their order; a dense layer is one block.
  template <class Visit>
  void for_each_block(std::size_t layer, Visit&& visit) const;
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

template <class Visit>
void Network::for_each_block(std::size_t layer, Visit&& visit) const {
  const Matrix& weights = layers[layer].weights;
  LayerBlock block{.units = weights.rows(), .inputs = weights.cols()};
  if (groups.empty() || layer + 1 == layers.size()) {
    visit(block);
    return;
  }
  const auto count = static_cast<Index>(groups.size());
  block.units = weights.rows() / count;
  for (const InputGroup& group : groups) {
    block.inputs = layer == 0 ? group.columns : weights.cols() / count;
    visit(block);
    block.first_unit += block.units;
    block.first_input += block.inputs;
    block.first_weight += block.units * block.inputs;
  }
}

/// A network that is its head alone: x ↦ θᵀ[x; 1].
[[nodiscard]] Network linear_network(VectorArg theta);
/// The same for `classes` outputs, θ class by class as in Network::head().
[[nodiscard]] Network softmax_network(VectorArg theta, Index classes);

/// All parameters as one vector: layer by layer, the weights row by row (one row per output; of a
/// block its inputs only), then the bias. With one output the head's [w; b] is the last piece.
[[nodiscard]] Vector parameter_vector(const Network& network);
void set_parameters(Network& network, VectorArg parameters);
/// The same network with other parameters.
[[nodiscard]] Network with_parameters(const Network& network, VectorArg parameters);

/// In the order of parameter_vector(): 1 for parameters that may not be negative, −1 for those that
/// may not be positive, so that the score goes where groups say (theory.md, Result 71); 0 for all
/// others. Empty where no group says anything.
[[nodiscard]] Vector parameter_signs(const Network& network);

}  // namespace ellice

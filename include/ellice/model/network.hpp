#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

enum class NetworkKind { logistic };
enum class Activation { relu, tanh, sigmoid, identity };

template <>
struct EnumNames<NetworkKind> {
  static constexpr std::array<std::string_view, 1> names = {"logistic"};
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

/// What maps model space to a score. The last layer is the head; a logistic model is a head alone.
struct Network {
  NetworkKind kind = NetworkKind::logistic;
  std::vector<Layer> layers = {};

  /// The head's parameters θ = [w; b].
  [[nodiscard]] Vector head() const;
  /// θᵀ[x; 1] for one point or for each row.
  [[nodiscard]] double logit(VectorArg x) const;
  [[nodiscard]] Vector logits(RowMatrixArg rows) const;
};

/// A network that is its head alone: x ↦ θᵀ[x; 1].
[[nodiscard]] Network linear_network(VectorArg theta);

}  // namespace ellice

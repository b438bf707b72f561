#pragma once

// Products with the weights of a layer, block by block: what is 0 by the network's structure costs
// nothing, and a dense layer is one block.

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

[[nodiscard]] inline auto weights_in(const Layer& layer, const LayerBlock& block) {
  return layer.weights.block(block.first_unit, block.first_input, block.units, block.inputs);
}

/// z += W_l·a.
inline void add_product(const Network& network, std::size_t layer, const Vector& a, Vector& z) {
  network.for_each_block(layer, [&](const LayerBlock& block) {
    z.segment(block.first_unit, block.units).noalias() +=
        weights_in(network.layers[layer], block) * a.segment(block.first_input, block.inputs);
  });
}

/// result ← W_lᵀ·adjoint; the result has its length already.
inline void transposed_product(const Network& network, std::size_t layer, const Vector& adjoint,
                               Vector& result) {
  network.for_each_block(layer, [&](const LayerBlock& block) {
    result.segment(block.first_input, block.inputs).noalias() =
        weights_in(network.layers[layer], block).transpose() *
        adjoint.segment(block.first_unit, block.units);
  });
}

/// result ← A·∂a_{L−1}/∂x for the Jacobian of a network's features, in which those of one group
/// depend on that group's inputs alone.
inline void times_feature_jacobian(const Network& network, const Eigen::Ref<const Matrix>& a,
                                   const Matrix& jacobian, Matrix& result) {
  result.resize(a.rows(), jacobian.cols());
  if (network.groups.empty()) {
    result.noalias() = a * jacobian;
    return;
  }
  const Index units = jacobian.rows() / static_cast<Index>(network.groups.size());
  Index first_unit = 0;
  network.for_each_block(0, [&](const LayerBlock& block) {
    result.middleCols(block.first_input, block.inputs).noalias() =
        a.middleCols(first_unit, units) *
        jacobian.block(first_unit, block.first_input, units, block.inputs);
    first_unit += units;
  });
}

}  // namespace ellice

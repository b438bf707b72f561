#include "model/network_pass.hpp"

#include <algorithm>

#include "activation.hpp"
#include "model/block_product.hpp"

namespace ellice {

NetworkPass::NetworkPass(const Network& network) : network_(&network) {
  for (const Layer& layer : network.layers) {
    const Index outputs = layer.weights.rows();
    const Index inputs = layer.weights.cols();
    inputs_.emplace_back(Vector::Zero(inputs));
    reverse_.emplace_back(inputs);
    tangent_inputs_.emplace_back(Vector::Zero(inputs));
    adjoints_.emplace_back(Vector::Zero(outputs));
    slopes_.emplace_back(outputs);
    sums_.emplace_back(outputs);
    returned_.emplace_back(outputs);
    tangents_.emplace_back(outputs);
    has_curvature_ = has_curvature_ || layer.activation == Activation::tanh ||
                     layer.activation == Activation::sigmoid;
  }
}

double NetworkPass::forward(VectorArg x) {
  inputs_.front() = x;
  const std::vector<Layer>& layers = network_->layers;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    Vector& a = inputs_[l + 1];
    if (l > 0 && network_->groups.empty() && a.size() % row_lanes == 0) {
      // Where units below are off, their columns are left out.
      sum_.clear();
      for (Index j = 0; j < inputs_[l].size(); ++j)
        sum_.add(layers[l].weights.col(j).data(), inputs_[l](j));
      a.setZero();
      sum_.add_to(a.data(), a.size());
      a += layers[l].bias;
    } else {
      a = layers[l].bias;
      add_product(*network_, l, inputs_[l], a);
    }
    sums_[l] = a;
    activate(layers[l].activation, a);
    for (Index i = 0; i < a.size(); ++i) {
      slopes_[l](i) = activation_slope(layers[l].activation, a(i));
    }
  }
  return layers.back().weights.row(0).dot(inputs_.back()) + layers.back().bias(0);
}

void NetworkPass::descend(std::size_t layer, Vector& gradient) {
  for (std::size_t l = layer; l > 0; --l) {
    reverse_[l].array() *= slopes_[l - 1].array();
    transposed_product(*network_, l - 1, reverse_[l], reverse_[l - 1]);
  }
  gradient = reverse_.front();
}

void NetworkPass::feature_gradient(VectorArg v, Vector& gradient) {
  reverse_.back() = v;
  descend(reverse_.size() - 1, gradient);
}

void NetworkPass::inputs_gradient(const std::vector<Vector>& v, Vector& gradient) {
  reverse_.back() = v.back();
  for (std::size_t l = inputs_.size() - 1; l > 0; --l) {
    reverse_[l].array() *= slopes_[l - 1].array();
    reverse_[l - 1] = v[l - 1];
    reverse_[l - 1].noalias() += network_->layers[l - 1].weights.transpose() * reverse_[l];
  }
  gradient = reverse_.front();
}

void NetworkPass::feature_jacobian(Matrix& jacobian) {
  const std::vector<Layer>& layers = network_->layers;
  if (network_->is_linear()) {
    jacobian.setIdentity(network_->inputs(), network_->inputs());
    return;
  }
  jacobians_.resize(layers.size() - 1);
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    Matrix& result = l + 2 == layers.size() ? jacobian : jacobians_[l];
    if (l == 0) {
      result = layers[l].weights;
    } else {
      result.resize(layers[l].weights.rows(), network_->inputs());
      network_->for_each_block(l, [&](const LayerBlock& block) {
        result.middleRows(block.first_unit, block.units).noalias() =
            weights_in(layers[l], block) *
            jacobians_[l - 1].middleRows(block.first_input, block.inputs);
      });
    }
    result.array().colwise() *= slopes_[l].array();
  }
}

void NetworkPass::live_jacobian(std::vector<Index>& live, RowMatrix& jacobian) {
  const std::vector<Layer>& layers = network_->layers;
  const Index width = padded(network_->inputs());
  // As large for every layer, so that storage changes places without being made anew.
  Index most = 0;
  for (const Vector& slopes : slopes_) most = std::max(most, slopes.size());
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    if (l > 0) {
      live_below_.swap(live);
      jacobian_below_.swap(jacobian);
    }
    live.clear();
    live.reserve(static_cast<std::size_t>(most));
    for (Index i = 0; i < slopes_[l].size(); ++i) {
      if (slopes_[l](i) != 0) live.push_back(i);
    }
    jacobian.resize(most, width);
    for (std::size_t a = 0; a < live.size(); ++a) {
      auto row = jacobian.row(static_cast<Index>(a));
      if (l == 0) {
        row.head(network_->inputs()) = layers[l].weights.row(live[a]);
        row.tail(width - network_->inputs()).setZero();
      } else {
        const auto count = static_cast<Index>(live_below_.size());
        double* const factors = reverse_[l].data();
        for (Index b = 0; b < count; ++b)
          factors[b] = layers[l].weights(live[a], live_below_[static_cast<std::size_t>(b)]);
        sum_rows(jacobian_below_.data(), width, factors, count, width, row.data());
      }
      if (slopes_[l](live[a]) != 1) row *= slopes_[l](live[a]);
    }
  }
}

void NetworkPass::crossed_units(VectorArg step, std::vector<Index>& units) {
  const std::vector<Layer>& layers = network_->layers;
  Index first = 0;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    // reverse_[l] is the tangent of a_l here.
    Vector& tangent = reverse_[l];
    if (l == 0) tangent = step;
    reverse_[l + 1].setZero();
    add_product(*network_, l, tangent, reverse_[l + 1]);
    for (Index j = 0; layers[l].activation == Activation::relu && j < sums_[l].size(); ++j) {
      const double here = sums_[l](j);
      const double there = here + reverse_[l + 1](j);
      if (here > 0 ? there < 0 : there > 0) units.push_back(first + j);
    }
    reverse_[l + 1].array() *= slopes_[l].array();
    first += sums_[l].size();
  }
}

double NetworkPass::unit_input(Index unit, Vector& gradient) {
  std::size_t l = 0;
  for (; unit >= sums_[l].size(); ++l) unit -= sums_[l].size();
  reverse_[l] = network_->layers[l].weights.row(unit);
  descend(l, gradient);
  return sums_[l](unit);
}

void NetworkPass::unit_adjoints(VectorArg v, Vector& adjoints) {
  Index first = 0;
  for (std::size_t l = 0; l + 1 < slopes_.size(); ++l) first += slopes_[l].size();
  adjoints.resize(first);
  reverse_.back() = v;
  for (std::size_t l = reverse_.size() - 1; l > 0; --l) {
    first -= slopes_[l - 1].size();
    adjoints.segment(first, slopes_[l - 1].size()) = reverse_[l];
    if (l == 1) break;
    reverse_[l].array() *= slopes_[l - 1].array();
    transposed_product(*network_, l - 1, reverse_[l], reverse_[l - 1]);
  }
}

void NetworkPass::backward() {
  const std::vector<Layer>& layers = network_->layers;
  adjoints_.back().setOnes();
  for (std::size_t l = layers.size() - 1; l > 0; --l) {
    transposed_product(*network_, l, adjoints_[l], returned_[l - 1]);
    adjoints_[l - 1] = returned_[l - 1].cwiseProduct(slopes_[l - 1]);
  }
}

void NetworkPass::input_gradient(Vector& gradient) const {
  gradient.resize(network_->inputs());
  transposed_product(*network_, 0, adjoints_.front(), gradient);
}

double NetworkPass::parameter_norm_squared() const {
  double sum = 0;
  for (std::size_t l = 0; l < inputs_.size(); ++l) {
    network_->for_each_block(l, [&](const LayerBlock& block) {
      sum += adjoints_[l].segment(block.first_unit, block.units).squaredNorm() *
             (inputs_[l].segment(block.first_input, block.inputs).squaredNorm() + 1);
    });
  }
  return sum;
}

void NetworkPass::parameter_gradient(Vector& jacobian) const {
  jacobian.resize(network_->parameters());
  double* next = jacobian.data();
  for (std::size_t l = 0; l < inputs_.size(); ++l) {
    const Vector& delta = adjoints_[l];
    const Vector& a = inputs_[l];
    network_->for_each_block(l, [&](const LayerBlock& block) {
      const auto inputs = a.segment(block.first_input, block.inputs);
      for (Index j = 0; j < block.units; ++j, next += block.inputs) {
        Eigen::Map<Vector>(next, block.inputs) = delta(block.first_unit + j) * inputs;
      }
    });
    Eigen::Map<Vector>(next, delta.size()) = delta;
    next += delta.size();
  }
}

void NetworkPass::directional_gradient(VectorArg v, Vector& gradient) {
  const std::vector<Layer>& layers = network_->layers;
  if (has_curvature_) {
    // Forwards: the tangent ż_l = V_l·a_{l−1} + v_l + W_l·ȧ_{l−1}, ȧ_l = φ′(z_l)·ż_l.
    const double* next = v.data();
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
      tangents_[l].setZero();
      add_product(*network_, l, tangent_inputs_[l], tangents_[l]);
      network_->for_each_block(l, [&](const LayerBlock& block) {
        tangents_[l].segment(block.first_unit, block.units).noalias() +=
            Eigen::Map<const RowMatrix>(next, block.units, block.inputs) *
            inputs_[l].segment(block.first_input, block.inputs);
        next += block.units * block.inputs;
      });
      tangents_[l] += Eigen::Map<const Vector>(next, tangents_[l].size());
      next += tangents_[l].size();
      tangent_inputs_[l + 1] = tangents_[l].cwiseProduct(slopes_[l]);
    }
  }
  // Back: the adjoint of ż_l is δ_l; that of a_{l−1} is W_lᵀz̄_l + V_lᵀδ_l with
  // z̄_l = φ′·ā_l + φ″·ż_l·(adjoint of ȧ_l).
  const double* piece = v.data() + v.size();
  for (std::size_t l = layers.size(); l-- > 0;) {
    const Layer& layer = layers[l];
    piece -= network_->weights_of(l) + layer.bias.size();
    Vector& below = reverse_[l];
    if (l + 1 == layers.size()) {
      below.setZero();
    } else {
      Vector& bar = reverse_[l + 1];
      bar.array() *= slopes_[l].array();
      if (has_curvature_) {
        for (Index i = 0; i < bar.size(); ++i) {
          bar(i) += activation_curvature(layer.activation, inputs_[l + 1](i)) * tangents_[l](i) *
                    returned_[l](i);
        }
      }
      transposed_product(*network_, l, bar, below);
    }
    network_->for_each_block(l, [&](const LayerBlock& block) {
      const double* row = piece + block.first_weight;
      for (Index j = 0; j < block.units; ++j, row += block.inputs) {
        const double delta = adjoints_[l](block.first_unit + j);
        if (delta != 0) {
          below.segment(block.first_input, block.inputs) +=
              delta * Eigen::Map<const Vector>(row, block.inputs);
        }
      }
    });
  }
  gradient = reverse_.front();
}

}  // namespace ellice

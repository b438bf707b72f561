#include "methods/stability.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/model/loss.hpp"
#include "model/activation.hpp"

namespace ellice {

namespace {

struct Node {
  double place = 0;
  double weight = 0;
};
// Gauss–Legendre with eight points on [−1, 1]: these and their mirror images.
constexpr std::array<Node, 4> half_rule = {{{0.1834346424956498, 0.3626837833783620},
                                            {0.5255324099163290, 0.3137066458778873},
                                            {0.7966664774136267, 0.2223810344533745},
                                            {0.9602898564975363, 0.1012285362903763}}};
// Beyond this a standard normal has 2e-18 of its mass.
constexpr double far_out = 8.8;

}  // namespace

Stability::Stability(const Network& network, double threshold, RowMatrixArg noise)
    : network_(network) {
  const Layer& first = network.layers.front();
  require(noise.rows() > 0 && noise.cols() == first.weights.cols(),
          "the noise has {} rows and {} columns, expected at least one row and {} columns",
          noise.rows(), noise.cols(), first.weights.cols());
  network_.layers.back().bias[0] -= threshold;
  projected_ = RowMatrix::Zero(noise.rows() + 1, first.weights.rows());
  projected_.topRows(noise.rows()).noalias() = noise * first.weights.transpose();
}

Stability::Stability(const Network& network, double threshold)
    : network_(network), spread_(sigma * network.layers.front().weights.norm()) {
  require(network.is_linear(), "stability has a closed form for linear models only");
  network_.layers.back().bias[0] -= threshold;
}

Stability::AtLogit Stability::at_logit(double logit) const {
  // R = E[sigmoid(f − s·|U|)]. Panels so short that the poles of the sigmoid, π/s off the axis, are
  // four half-widths away: eight points then leave nothing but rounding.
  const double width = std::min(1.0, 1.5 / std::max(spread_, 1e-300));
  const auto panels = static_cast<int>(std::ceil(far_out / width));
  AtLogit result;
  double mass = 0;
  for (int panel = 0; panel < panels; ++panel) {
    for (const Node& node : half_rule) {
      for (const double side : {-1.0, 1.0}) {
        const double u = width * (panel + 0.5 * (1 + side * node.place));
        const double density = node.weight * std::exp(-u * u / 2);
        const double m = sigmoid(logit - spread_ * u);
        mass += density;
        result.value += density * m;
        result.slope += density * m * (1 - m);
      }
    }
  }
  result.value /= mass;
  result.slope /= mass;
  return result;
}

double Stability::value(VectorArg x) const {
  return evaluate(x, nullptr);
}

double Stability::gradient(VectorArg x, Vector& gradient) const {
  return evaluate(x, &gradient);
}

double Stability::evaluate(VectorArg x, Vector* gradient) const {
  const std::vector<Layer>& layers = network_.layers;
  const Layer& first = layers.front();
  if (projected_.rows() == 0) {
    const AtLogit at = at_logit(first.weights.row(0).dot(x) + first.bias[0]);
    if (gradient != nullptr) *gradient = at.slope * first.weights.row(0).transpose();
    return at.value;
  }
  std::vector<RowMatrix> outputs;  // a_1, a_2, …
  outputs.reserve(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    RowMatrix z = projected_;
    if (l == 0) {
      z.rowwise() += (first.weights * x + first.bias).transpose();
    } else {
      z.noalias() = outputs.back() * layers[l].weights.transpose();
      z.rowwise() += layers[l].bias.transpose();
    }
    activate(layers[l].activation, z);
    outputs.push_back(std::move(z));
  }
  const Index count = projected_.rows() - 1;
  const double m = sigmoid(outputs.back()(count, 0));
  double sum = 0;
  // ∂R/∂f of each draw, and of the point itself in the last row.
  RowMatrix adjoint = RowMatrix::Zero(count + 1, 1);
  double share = 0;
  for (Index i = 0; i < count; ++i) {
    const double mi = sigmoid(outputs.back()(i, 0));
    const bool is_lower = mi < m;
    sum += is_lower ? 2 * mi - m : m;
    share += is_lower ? -1 : 1;
    if (is_lower) adjoint(i, 0) = 2 * mi * (1 - mi) / static_cast<double>(count);
  }
  if (gradient == nullptr) return sum / static_cast<double>(count);
  adjoint(count, 0) = share * m * (1 - m) / static_cast<double>(count);
  for (std::size_t l = layers.size() - 1; l > 0; --l) {
    RowMatrix below = adjoint * layers[l].weights;
    const Activation kind = layers[l - 1].activation;
    below = below.cwiseProduct(
        outputs[l - 1].unaryExpr([kind](double a) { return activation_slope(kind, a); }));
    adjoint = std::move(below);
  }
  *gradient = first.weights.transpose() * adjoint.colwise().sum().transpose();
  return sum / static_cast<double>(count);
}

RowMatrix stability_noise(Index count, Index columns, bool antithetic, Random random) {
  RowMatrix noise(count, columns);
  const Index drawn = antithetic ? (count + 1) / 2 : count;
  for (Index i = 0; i < drawn; ++i)
    noise.row(i) = Stability::sigma * random.normal_vector(columns).transpose();
  for (Index i = drawn; i < count; ++i) noise.row(i) = -noise.row(i - drawn);
  return noise;
}

}  // namespace ellice

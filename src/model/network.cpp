#include "ellice/model/network.hpp"

namespace ellice {

Vector Network::head() const {
  const Layer& last = layers.back();
  Vector theta(last.weights.cols() + 1);
  theta << last.weights.row(0).transpose(), last.bias(0);
  return theta;
}

double Network::logit(VectorArg x) const {
  const Layer& last = layers.back();
  return last.weights.row(0).dot(x) + last.bias(0);
}

Vector Network::logits(RowMatrixArg rows) const {
  const Layer& last = layers.back();
  Vector result = rows * last.weights.row(0).transpose();
  result.array() += last.bias(0);
  return result;
}

Network linear_network(VectorArg theta) {
  const Index d = theta.size() - 1;
  return {.kind = NetworkKind::logistic,
          .layers = {{.weights = theta.head(d).transpose(), .bias = theta.tail(1)}}};
}

}  // namespace ellice

#include "model/network_objective.hpp"

#include <algorithm>
#include <cmath>

#include "activation.hpp"
#include "core/blas.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/block_product.hpp"

namespace ellice {

namespace {

// 128 rows of 32 units are 32 kB.
constexpr Index cached_rows = 128;

/// z ← φ(z + bias) for each row, in one pass.
template <Activation kind>
void add_bias_and_activate(const Vector& bias, Index rows, RowMatrix& z) {
  for (Index i = 0; i < rows; ++i) {
    auto row = z.row(i).transpose().array();
    if constexpr (kind == Activation::relu) {
      row = (row + bias.array()).max(0.0);
    } else if constexpr (kind == Activation::tanh) {
      row = (row + bias.array()).tanh();
    } else if constexpr (kind == Activation::sigmoid) {
      row = (row + bias.array()).unaryExpr([](double value) { return sigmoid(value); });
    } else {
      row += bias.array();
    }
  }
}

/// adjoint ← φ′(z)∘adjoint, from that of a to that of z; its sum over the rows goes to the bias.
template <Activation kind>
void descend_and_sum(const RowMatrix& a, Index rows, RowMatrix& adjoint, double* bias_gradient) {
  const Index units = a.cols();
  for (Index i = 0; i < rows; ++i) {
    const double* value = a.data() + i * units;
    double* entry = adjoint.data() + i * units;
    for (Index j = 0; j < units; ++j) {
      const double product = activation_slope(kind, value[j]) * entry[j];
      entry[j] = product;
      bias_gradient[j] += product;
    }
  }
}

/// function<kind>() for a kind known at run time only: the loops then contain no switch.
template <class Function>
void dispatch(Activation kind, Function&& function) {
  switch (kind) {
    case Activation::relu:
      return function.template operator()<Activation::relu>();
    case Activation::tanh:
      return function.template operator()<Activation::tanh>();
    case Activation::sigmoid:
      return function.template operator()<Activation::sigmoid>();
    case Activation::identity:
      return function.template operator()<Activation::identity>();
  }
}

}  // namespace

NetworkObjective::NetworkObjective(const LabelledRows& rows, LossKind kind, Penalty penalty)
    : rows_(rows.features), labels_(rows.labels), kind_(kind), penalty_(std::move(penalty)) {
  require(rows.features != nullptr && rows.labels != nullptr, "rows and labels are needed");
  require(rows_->rows() > 0, "there are no rows");
  require(rows_->rows() == static_cast<Index>(rows.labels->size()), "{} rows but {} labels",
          rows_->rows(), rows.labels->size());
  require(penalty_.l2 >= 0 && std::isfinite(penalty_.l2), "l2 = {} must be >= 0", penalty_.l2);
  if (penalty_.factors.size() > 0) (void)penalty_.diagonal(rows_->cols());
  weights_ = mean_one_weights(rows);
  if (is_softmax()) return;
  signs_.resize(rows_->rows());
  for (Index i = 0; i < signs_.size(); ++i)
    signs_(i) = 2.0 * (*rows.labels)[static_cast<std::size_t>(i)] - 1.0;
}

double NetworkObjective::loss(const Network& network) {
  return evaluate(network, nullptr, nullptr) / static_cast<double>(rows_->rows());
}

double NetworkObjective::value(const Network& network) {
  const double corners =
      penalty_.l1.size() == 0 ? 0 : (network.layers.front().weights.cwiseAbs() * penalty_.l1).sum();
  return loss(network) + add_penalty(network, nullptr) + corners;
}

double NetworkObjective::gradient(const Network& network, Vector& gradient) {
  const double sum = evaluate(network, nullptr, &gradient);
  return sum / static_cast<double>(rows_->rows()) + add_penalty(network, &gradient);
}

double NetworkObjective::gradient(const Network& network, const std::vector<Index>& batch,
                                  Vector& gradient) {
  require(!batch.empty(), "the batch is empty");
  const double sum = evaluate(network, &batch, &gradient);
  return sum / static_cast<double>(batch.size()) + add_penalty(network, &gradient);
}

void NetworkObjective::prepare(const Network& network) {
  require(network.inputs() == rows_->cols(), "the network has {} inputs, the rows have {} columns",
          network.inputs(), rows_->cols());
  const std::size_t hidden = network.layers.size() - 1;
  require(hidden == 0 || penalty_.factors.size() == 0,
          "a penalty with a factor for each column is for models without hidden layers");
  inputs_.resize(hidden + 1);
  activations_.resize(hidden);
  adjoints_.resize(hidden);
  for (std::size_t l = 0; l < hidden; ++l) {
    activations_[l].resize(cached_rows, network.layers[l].bias.size());
    adjoints_[l].resize(cached_rows, network.layers[l].bias.size());
  }
  if (is_softmax()) {
    class_scores_.resize(cached_rows, network.outputs());
    const int largest = *std::max_element(labels_->begin(), labels_->end());
    require(largest < network.outputs(), "label {} must be < {}, the outputs of the network",
            largest, network.outputs());
  } else {
    scores_.resize(cached_rows);
  }
}

double NetworkObjective::evaluate_losses(Index first, Index rows, bool is_batch) {
  if (is_softmax()) {
    const double* weights = nullptr;
    if (weights_.size() > 0) weights = is_batch ? batch_weights_.data() : weights_.data() + first;
    class_losses_.evaluate(class_scores_.topRows(rows),
                           is_batch ? batch_labels_.data() : labels_->data() + first, weights);
    return class_losses_.sum();
  }
  if (is_batch) {
    losses_.evaluate(kind_, scores_.head(rows), batch_signs_.head(rows));
  } else {
    losses_.evaluate(kind_, scores_.head(rows), signs_.segment(first, rows));
  }
  if (weights_.size() > 0) {
    losses_.weigh(is_batch ? batch_weights_.head(rows) : weights_.segment(first, rows));
  }
  return losses_.value().sum();
}

double NetworkObjective::evaluate(const Network& network, const std::vector<Index>* batch,
                                  Vector* gradient) {
  prepare(network);
  if (gradient != nullptr) gradient->setZero(network.parameters());
  if (batch != nullptr) {
    batch_rows_.resize(cached_rows, rows_->cols());
    batch_signs_.resize(cached_rows);
    batch_labels_.resize(static_cast<std::size_t>(cached_rows));
    if (weights_.size() > 0) batch_weights_.resize(cached_rows);
  }
  const Index count = batch == nullptr ? rows_->rows() : static_cast<Index>(batch->size());
  double sum = 0;
  for (Index start = 0; start < count; start += cached_rows) {
    check_stop();
    const Index rows = std::min(cached_rows, count - start);
    if (batch != nullptr) {
      for (Index i = 0; i < rows; ++i) {
        const Index row = (*batch)[static_cast<std::size_t>(start + i)];
        batch_rows_.row(i) = rows_->row(row);
        if (weights_.size() > 0) batch_weights_(i) = weights_(row);
        if (is_softmax()) {
          batch_labels_[static_cast<std::size_t>(i)] = (*labels_)[static_cast<std::size_t>(row)];
        } else {
          batch_signs_(i) = signs_(row);
        }
      }
      forward(network, batch_rows_.data(), rows);
    } else {
      forward(network, rows_->data() + start * rows_->cols(), rows);
    }
    sum += evaluate_losses(start, rows, batch != nullptr);
    if (gradient != nullptr) {
      backward(network, rows, 1 / static_cast<double>(count), *gradient);
    }
  }
  return sum;
}

void NetworkObjective::forward(const Network& network, const double* first, Index rows) {
  // A row-major block is, to gemm, its column-major transpose: Zᵀ = W·Aᵀ.
  inputs_[0] = first;
  for (std::size_t l = 0; l < activations_.size(); ++l) {
    const Layer& layer = network.layers[l];
    const Index outputs = layer.weights.rows();
    const Index inputs = layer.weights.cols();
    network.for_each_block(l, [&](const LayerBlock& block) {
      blas::gemm(block.units, rows, block.inputs,
                 {.data = &layer.weights(block.first_unit, block.first_input), .leading = outputs},
                 {.data = inputs_[l] + block.first_input, .leading = inputs}, 0,
                 activations_[l].data() + block.first_unit, outputs);
    });
    dispatch(layer.activation, [&]<Activation kind>() {
      add_bias_and_activate<kind>(layer.bias, rows, activations_[l]);
    });
    inputs_[l + 1] = activations_[l].data();
  }
  const Layer& head = network.layers.back();
  const Eigen::Map<const RowMatrix> features(inputs_.back(), rows, head.weights.cols());
  if (is_softmax()) {
    class_scores_.topRows(rows).noalias() = features * head.weights.transpose();
    class_scores_.topRows(rows).rowwise() += head.bias.transpose();
    return;
  }
  scores_.head(rows).noalias() = features * head.weights.row(0).transpose();
  scores_.head(rows).array() += head.bias(0);
}

void NetworkObjective::backward(const Network& network, Index rows, double weight,
                                Vector& gradient) {
  const Layer& head = network.layers.back();
  Index first = gradient.size() - head.weights.size() - head.bias.size();  // of the layer's piece
  const Eigen::Map<const RowMatrix> features(inputs_.back(), rows, head.weights.cols());
  if (is_softmax()) {
    const RowMatrix& slope = class_losses_.slope();
    Eigen::Map<RowMatrix>(gradient.data() + first, head.weights.rows(), head.weights.cols())
        .noalias() += weight * (slope.transpose() * features);
    gradient.tail(head.bias.size()) += weight * slope.colwise().sum().transpose();
    if (adjoints_.empty()) return;
    adjoints_.back().topRows(rows).noalias() = (weight * slope) * head.weights;
  } else {
    const LossBatch::Values slope = losses_.slope();
    gradient.segment(first, head.weights.cols()).noalias() +=
        weight * (features.transpose() * slope);
    gradient(gradient.size() - 1) += weight * slope.sum();
    if (adjoints_.empty()) return;
    adjoints_.back().topRows(rows).noalias() = (weight * slope) * head.weights.row(0);
  }

  for (std::size_t l = adjoints_.size(); l-- > 0;) {
    const Layer& layer = network.layers[l];
    const Index outputs = layer.weights.rows();
    const Index inputs = layer.weights.cols();
    first -= network.weights_of(l) + outputs;
    dispatch(layer.activation, [&]<Activation kind>() {
      descend_and_sum<kind>(activations_[l], rows, adjoints_[l],
                            gradient.data() + first + network.weights_of(l));
    });
    network.for_each_block(l, [&](const LayerBlock& block) {
      const double* adjoint = adjoints_[l].data() + block.first_unit;
      // Row-major W_l: to gemm inputs × outputs, Aᵀ·Δ.
      blas::gemm(block.inputs, block.units, rows,
                 {.data = inputs_[l] + block.first_input, .leading = inputs},
                 {.data = adjoint, .leading = outputs, .op = blas::Op::transposed}, 1,
                 gradient.data() + first + block.first_weight, block.inputs);
      if (l == 0) return;
      blas::gemm(block.inputs, rows, block.units,
                 {.data = &layer.weights(block.first_unit, block.first_input),
                  .leading = outputs,
                  .op = blas::Op::transposed},
                 {.data = adjoint, .leading = outputs}, 0,
                 adjoints_[l - 1].data() + block.first_input, inputs);
    });
  }
}

double NetworkObjective::add_penalty(const Network& network, Vector* gradient) const {
  if (penalty_.factors.size() > 0) return add_factored_penalty(network.layers.front(), gradient);
  double squares = 0;
  Index next = 0;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    squares += layer.weights.squaredNorm();  // what is no parameter is 0
    if (penalty_.penalize_bias) squares += layer.bias.squaredNorm();
    const Index weights = network.weights_of(l);
    if (gradient != nullptr) {
      network.for_each_block(l, [&](const LayerBlock& block) {
        Eigen::Map<RowMatrix>(gradient->data() + next + block.first_weight, block.units,
                              block.inputs) += penalty_.l2 * weights_in(layer, block);
      });
      if (penalty_.penalize_bias)
        gradient->segment(next + weights, layer.bias.size()) += penalty_.l2 * layer.bias;
    }
    next += weights + layer.bias.size();
  }
  return penalty_.l2 / 2 * squares;
}

double NetworkObjective::add_factored_penalty(const Layer& head, Vector* gradient) const {
  const Vector diagonal = penalty_.diagonal(head.weights.cols());
  const auto of_weights = diagonal.head(head.weights.cols());
  const double of_bias = diagonal(diagonal.size() - 1);
  if (gradient != nullptr) {
    Eigen::Map<RowMatrix>(gradient->data(), head.weights.rows(), head.weights.cols()) +=
        head.weights * of_weights.asDiagonal();
    gradient->tail(head.bias.size()) += of_bias * head.bias;
  }
  return ((head.weights.cwiseAbs2() * of_weights).sum() + of_bias * head.bias.squaredNorm()) / 2;
}

}  // namespace ellice

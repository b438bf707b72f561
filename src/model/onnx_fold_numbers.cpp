#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

/// A row, and a constant that is the first or the second operand.
Affine with_constant(const FoldedNode& node, const Affine& row, const Tensor& tensor,
                     const Vector& other, bool is_first) {
  Affine made = row;
  if (node.op() == "Add") {
    made.bias += other;
  } else if (node.op() == "Sub" && is_first) {
    made.weights = -made.weights;
    made.bias = other - made.bias;
  } else if (node.op() == "Sub") {
    made.bias -= other;
  } else if (node.op() == "Mul") {
    made = scaled(other, row);
  } else {
    if (is_first) node.refuse("a constant is divided by what the row says, which is not linear");
    if (is_whole_type(tensor.type))
      node.refuse("of whole numbers, which drops what is left over; cast to float before it");
    made.weights = other.cwiseInverse().asDiagonal() * made.weights;
    made.bias = made.bias.cwiseQuotient(other);
  }
  return made;
}

void fold_sum(FoldedNode& node) {
  if (node.op() != "Add" && node.op() != "Sub")
    node.refuse("of two numbers that both depend on the row, which is not linear");
  const Affine& one = node.affine(0);
  const Affine& other = node.affine(1);
  if (one.layer != other.layer || node.shape(0) != node.shape(1))
    node.refuse("of rows of different layers or lengths");
  node.put(sum(one, node.op() == "Add" ? 1 : -1, other), node.shape(0));
}

/// With a row of weights for each number that is made of `count` numbers.
Matrix weights_of(const FoldedNode& node, Index count) {
  const Tensor* matrix = node.constant(1);
  if (matrix == nullptr) node.refuse("its weights are no constant");
  if (matrix->dims.size() != 2 || matrix->type == string_type) {
    node.refuse("weights of the shape [{}], expected a matrix", fmt::join(matrix->dims, ", "));
  }
  Matrix weights =
      Eigen::Map<const RowMatrix>(matrix->numbers.data(), matrix->dims[0], matrix->dims[1]);
  const bool is_turned = node.op() == "Gemm" && node.whole("transB", 0) != 0;
  if (!is_turned) weights.transposeInPlace();
  if (weights.cols() != count) {
    node.refuse("weights of the shape [{}] for {} numbers", fmt::join(matrix->dims, ", "), count);
  }
  return weights;
}

}  // namespace

void fold_arithmetic(FoldedNode& node) {
  if (node.final(0) != nullptr || node.final(1) != nullptr) return fold_complement(node);
  const bool is_first = node.constant(0) != nullptr;
  if (!is_first && node.constant(1) == nullptr) return fold_sum(node);
  if (is_first && node.constant(1) != nullptr) node.refuse("of two constants");
  const std::size_t k = is_first ? 1 : 0;
  const Tensor& tensor = *node.constant(1 - k);
  const Affine& row = node.affine(k);
  node.put(with_constant(node, row, tensor, node.along(tensor, node.shape(k)), is_first),
           node.shape(k));
}

void fold_product(FoldedNode& node) {
  const bool is_gemm = node.op() == "Gemm";
  if (is_gemm && node.whole("transA", 0) != 0) node.refuse("transA of the rows");
  const Affine row = node.based(node.affine(0));
  node.require_table(0);
  Matrix weights = weights_of(node, row.size());
  if (is_gemm) weights *= node.real("alpha", 1);
  Affine made = multiplied(weights, row);
  const Shape shape = {made.size()};
  if (is_gemm && node.has_input(2)) {
    const Tensor* bias = node.constant(2);
    if (bias == nullptr) node.refuse("its bias is no constant");
    made.bias += node.real("beta", 1) * node.along(*bias, shape);
  }
  node.put(std::move(made), shape);
}

void fold_scaler(FoldedNode& node) {
  node.require_table(0);
  Affine made = node.affine(0);
  made.bias -= node.along("offset", made.size(), 0);
  node.put(scaled(node.along("scale", made.size(), 1), made), node.shape(0));
}

void fold_activation(FoldedNode& node) {
  const Affine row = node.based(node.affine(0));
  if (node.op() == "Sigmoid" && row.size() == 1) {
    node.take_score(row);
    return node.put({Final{Final::Kind::event}, node.shape(0)});
  }
  const Activation kind = node.op() == "Relu"   ? Activation::relu
                          : node.op() == "Tanh" ? Activation::tanh
                                                : Activation::sigmoid;
  node.put(node.add_layer(row, kind), node.shape(0));
}

}  // namespace ellice::onnx

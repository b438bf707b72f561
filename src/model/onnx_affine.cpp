#include "model/onnx_affine.hpp"

#include <algorithm>
#include <cassert>

namespace ellice::onnx {

namespace {

Matrix widened(const Matrix& weights, Index columns) {
  Matrix result = Matrix::Zero(weights.rows(), columns);
  result.leftCols(weights.cols()) = weights;
  return result;
}

}  // namespace

Affine entry(Index k) {
  Affine result{.weights = Matrix::Zero(1, k + 1), .bias = Vector::Zero(1)};
  result.weights(0, k) = 1;
  return result;
}

Affine entries(std::size_t layer, Index count) {
  return {.layer = layer, .weights = Matrix::Identity(count, count), .bias = Vector::Zero(count)};
}

Affine multiplied(const Matrix& by, const Affine& row) {
  return {.layer = row.layer, .weights = by * row.weights, .bias = by * row.bias};
}

Affine scaled(const Vector& by, const Affine& row) {
  return {.layer = row.layer,
          .weights = by.asDiagonal() * row.weights,
          .bias = row.bias.cwiseProduct(by)};
}

Affine sum(const Affine& one, double sign, const Affine& other) {
  assert(one.layer == other.layer && one.size() == other.size());
  const Index columns = std::max(one.weights.cols(), other.weights.cols());
  return {.layer = one.layer,
          .weights = widened(one.weights, columns) + sign * widened(other.weights, columns),
          .bias = one.bias + sign * other.bias};
}

Affine joined(const std::vector<Affine>& parts) {
  Index rows = 0;
  Index columns = 0;
  for (const Affine& part : parts) {
    assert(part.layer == parts.front().layer);
    rows += part.size();
    columns = std::max(columns, part.weights.cols());
  }
  Affine result{
      .layer = parts.front().layer, .weights = Matrix(rows, columns), .bias = Vector(rows)};
  Index at = 0;
  for (const Affine& part : parts) {
    result.weights.middleRows(at, part.size()) = widened(part.weights, columns);
    result.bias.segment(at, part.size()) = part.bias;
    at += part.size();
  }
  return result;
}

Affine chosen(const Affine& row, const std::vector<std::size_t>& places) {
  const auto count = static_cast<Index>(places.size());
  Affine part{
      .layer = row.layer, .weights = Matrix(count, row.weights.cols()), .bias = Vector(count)};
  for (Index k = 0; k < count; ++k) {
    const auto place = static_cast<Index>(places[static_cast<std::size_t>(k)]);
    part.weights.row(k) = row.weights.row(place);
    part.bias(k) = row.bias(place);
  }
  return part;
}

}  // namespace ellice::onnx

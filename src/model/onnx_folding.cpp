#include "model/onnx_folding.hpp"

#include "ellice/core/error.hpp"

namespace ellice::onnx {

Index size_of(const Shape& shape) {
  Index size = 1;
  for (const Index one : shape) size *= one;
  return size;
}

// ── operands ─────────────────────────────────────────────────────────────────────────────────────

const Tensor* FoldedNode::constant(std::size_t k) const {
  const std::string& name = input_name(k);
  const auto made = folding_->constants.find(name);
  if (made != folding_->constants.end()) return &made->second;
  const auto found = folding_->graph->constants.find(name);
  return found == folding_->graph->constants.end() ? nullptr : &found->second;
}

const Value& FoldedNode::value(std::size_t k) const {
  const auto found = folding_->values.find(input_name(k));
  if (found == folding_->values.end()) refuse("\"{}\" is no row of numbers", input_name(k));
  return found->second;
}

const Affine& FoldedNode::affine(std::size_t k) const {
  const auto* found = std::get_if<Affine>(&value(k).is);
  if (found == nullptr) refuse("\"{}\" is no row of numbers", input_name(k));
  return *found;
}

const Texts* FoldedNode::texts(std::size_t k) const {
  return std::get_if<Texts>(&value(k).is);
}

const Final* FoldedNode::final(std::size_t k) const {
  const auto found = folding_->values.find(input_name(k));
  return found == folding_->values.end() ? nullptr : std::get_if<Final>(&found->second.is);
}

void FoldedNode::require_table(std::size_t k) const {
  if (shape(k).size() == 1) return;
  refuse("\"{}\" has {} axes, expected two: rows and columns", input_name(k), shape(k).size() + 1);
}

void FoldedNode::require_last_axis(std::int64_t axis, const Shape& shape) const {
  const std::size_t found = axis_of(axis, shape.size() + 1);
  const bool has_one = !shape.empty() && size_of(shape) == shape.back();
  if (found != shape.size() || !has_one)
    refuse("along the axis {} of {} axes, expected that of the columns, the last", axis,
           shape.size() + 1);
}

Vector FoldedNode::along(const Tensor& tensor, const Shape& shape) const {
  // Axes are matched from the last one on; along that of the rows a constant must not differ.
  const std::size_t rank = tensor.dims.size();
  bool fits = tensor.type != string_type && rank <= shape.size() + 1;
  for (std::size_t i = 0; fits && i < rank; ++i) {
    const std::int64_t size = tensor.dims[rank - 1 - i];
    fits = size == 1 || (i < shape.size() && size == shape[shape.size() - 1 - i]);
  }
  const Index size = size_of(shape);
  const auto count = static_cast<Index>(tensor.numbers.size());
  if (!fits || (count != 1 && count != size)) {
    refuse("a constant of the shape [{}] for {} numbers", fmt::join(tensor.dims, ", "), size);
  }
  if (count == 1) return Vector::Constant(size, tensor.numbers.front());
  return Eigen::Map<const Vector>(tensor.numbers.data(), count);
}

Vector FoldedNode::along(std::string_view attribute, Index size, double otherwise) const {
  const Attribute* found = find(attribute);
  if (found == nullptr || found->floats.empty()) return Vector::Constant(size, otherwise);
  const auto count = static_cast<Index>(found->floats.size());
  if (count != 1 && count != size) refuse("{} has {} numbers, expected {}", attribute, count, size);
  if (count == 1) return Vector::Constant(size, found->floats.front());
  return Eigen::Map<const Vector>(found->floats.data(), count);
}

Affine FoldedNode::joined(const std::vector<Affine>& parts) const {
  for (const Affine& part : parts) {
    if (part.layer != parts.front().layer) refuse("it joins what stands before and after a layer");
  }
  return onnx::joined(parts);
}

// ── results ──────────────────────────────────────────────────────────────────────────────────────

void FoldedNode::put_as(std::size_t output, Value value) {
  const std::vector<std::string>& outputs = node().outputs;
  if (output < outputs.size() && !outputs[output].empty())
    folding_->values[outputs[output]] = std::move(value);
}

void FoldedNode::put(Value value) {
  (void)output_name();
  put_as(0, std::move(value));
}

void FoldedNode::put(Affine made, Shape shape) {
  if (!made.weights.allFinite() || !made.bias.allFinite()) refuse("its numbers are too large");
  put(Value{std::move(made), std::move(shape)});
}

void FoldedNode::put_constant(Tensor tensor) {
  folding_->constants[output_name()] = std::move(tensor);
}

// ── the model ────────────────────────────────────────────────────────────────────────────────────

Affine FoldedNode::based(const Affine& row) {
  if (row.layer > 0) return row;
  std::vector<DeployedInput>& inputs = folding_->model.inputs;
  if (!inputs.empty()) refuse("a second layer reads the table");
  for (Index k = 0; k < row.size(); ++k) inputs.push_back(columns().input_of(row, k, *this));
  return entries(1, row.size());
}

Affine FoldedNode::add_layer(const Affine& row, Activation activation) {
  std::vector<Layer>& layers = folding_->model.layers;
  if (row.layer != layers.size() + 1) refuse("layers are not one after the other");
  layers.push_back({.weights = row.weights, .bias = row.bias, .activation = activation});
  return entries(layers.size() + 1, row.size());
}

void FoldedNode::take_score(Affine score) {
  if (folding_->score) refuse("there is a score already");
  folding_->score = std::move(score);
  folding_->score_node = &node();
}

}  // namespace ellice::onnx

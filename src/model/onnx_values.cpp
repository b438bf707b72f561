#include "model/onnx_values.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice::onnx {

void GraphValues::read_inputs() {
  const std::vector<Input>& inputs = graph_->inputs;
  require_input(!inputs.empty(), "{}: the graph has no inputs", *source_);
  const bool is_table = inputs.size() == 1 && !schema_->find(inputs.front().name);
  if (is_table) return read_table(inputs.front());
  for (const Input& input : inputs) {
    const std::optional<std::size_t> j = schema_->find(input.name);
    std::vector<std::string> names;
    for (const Feature& feature : schema_->features) names.push_back(feature.name);
    require_input(j.has_value(), "{}: the input \"{}\" is no feature of the schema; {}", *source_,
                  input.name, suggestion(input.name, names));
    require_input(input.dims.empty() || input.dims.back() == 1 || input.dims.back() == -1,
                  "{}: the input \"{}\" has the shape [{}], expected one column", *source_,
                  input.name, fmt::join(input.dims, ", "));
    values_[input.name] = input.type == string_type ? Value(Texts{{*j}}) : Value(number(*j));
  }
}

void GraphValues::read_table(const Input& input) {
  const std::size_t count = schema_->features.size();
  const std::int64_t columns = input.dims.size() == 2 ? input.dims[1] : -1;
  require_input(columns == static_cast<std::int64_t>(count),
                "{}: the input \"{}\" has {} columns, and the schema {} features; a table has all "
                "features in the order of the schema, and columns of their own have their names",
                *source_, input.name, columns, count);
  if (input.type == string_type) {
    Texts texts;
    for (std::size_t j = 0; j < count; ++j) texts.features.push_back(j);
    values_[input.name] = texts;
    return;
  }
  std::vector<Affine> parts;
  for (std::size_t j = 0; j < count; ++j) parts.push_back(number(j));
  values_[input.name] = joined(parts);
}

Affine GraphValues::number(std::size_t j) {
  const Feature& feature = schema_->features[j];
  Affine made = unit(atom(j, {}));
  std::vector<double> numbers(feature.levels.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (!parse_number(feature.levels[k], numbers[k])) return made;
  }
  if (feature.kind == FeatureKind::categorical || numbers.size() < 2) return made;
  const double step = numbers[1] - numbers[0];
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    require_input(numbers[k] == numbers[0] + static_cast<double>(k) * step,
                  "{}: the levels of \"{}\" are not evenly spaced numbers", *source_, feature.name);
  }
  made.weights *= step;
  made.bias(0) = numbers[0];
  return made;
}

std::size_t GraphValues::atom(std::size_t feature, const std::string& level) {
  const std::string& name = schema_->features[feature].name;
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    if (atoms_[i].feature == name && atoms_[i].level == level) return i;
  }
  atoms_.push_back({.feature = name, .level = level});
  return atoms_.size() - 1;
}

Affine GraphValues::unit(std::size_t input) {
  Affine result{.weights = Matrix::Zero(1, static_cast<Index>(input) + 1), .bias = Vector::Zero(1)};
  result.weights(0, static_cast<Index>(input)) = 1;
  return result;
}

Affine GraphValues::based(const Affine& row) {
  if (row.layer > 0) return row;
  if (!result_.inputs.empty()) refuse("a second layer reads the table");
  for (Index k = 0; k < row.bias.size(); ++k) {
    std::optional<Index> only;
    for (Index i = 0; i < row.weights.cols(); ++i) {
      if (row.weights(k, i) == 0) continue;
      if (only) refuse(fmt::format("entry {} of what it reads mixes several columns", k));
      only = i;
    }
    if (!only) refuse(fmt::format("entry {} of what it reads does not depend on the row", k));
    DeployedInput input = atoms_[static_cast<std::size_t>(*only)];
    input.scale = 1 / row.weights(k, *only);
    input.offset = -row.bias(k) / row.weights(k, *only);
    result_.inputs.push_back(input);
  }
  const Index size = row.bias.size();
  return {.layer = 1, .weights = Matrix::Identity(size, size), .bias = Vector::Zero(size)};
}

void GraphValues::refuse(std::string_view why) const {
  fail(ErrorCode::input, "{}: {}: {}", *source_, node_->text(), why);
}

const std::string& GraphValues::input_name(std::size_t k) const {
  if (k >= node_->inputs.size()) refuse(fmt::format("input {} is missing", k));
  return node_->inputs[k];
}

const Tensor* GraphValues::constant(std::size_t k) const {
  const std::string& name = input_name(k);
  if (const auto made = made_.find(name); made != made_.end()) return &made->second;
  const auto found = graph_->constants.find(name);
  return found == graph_->constants.end() ? nullptr : &found->second;
}

const Value& GraphValues::value(std::size_t k) const {
  const auto found = values_.find(input_name(k));
  if (found == values_.end()) refuse(fmt::format("\"{}\" is no row of numbers", input_name(k)));
  return found->second;
}

const Affine& GraphValues::affine(std::size_t k) const {
  const auto* found = std::get_if<Affine>(&value(k));
  if (found == nullptr) refuse(fmt::format("\"{}\" is no row of numbers", input_name(k)));
  return *found;
}

bool GraphValues::is_final(std::size_t k) const {
  const auto found = values_.find(input_name(k));
  return found != values_.end() && std::holds_alternative<Final>(found->second);
}

void GraphValues::put(Value value) {
  if (node_->outputs.empty()) refuse("it has no output");
  for (const std::string& output : node_->outputs) values_[output] = value;
}

void GraphValues::put(Affine made) {
  if (!made.weights.allFinite() || !made.bias.allFinite()) refuse("its numbers are too large");
  put(Value(std::move(made)));
}

Matrix GraphValues::widened(const Matrix& weights, Index columns) {
  Matrix result = Matrix::Zero(weights.rows(), columns);
  result.leftCols(weights.cols()) = weights;
  return result;
}

Affine GraphValues::joined(const std::vector<Affine>& parts) const {
  Index rows = 0;
  Index columns = 0;
  for (const Affine& part : parts) {
    if (part.layer != parts.front().layer) refuse("it joins what stands before and after a layer");
    rows += part.weights.rows();
    columns = std::max(columns, part.weights.cols());
  }
  Affine result{
      .layer = parts.front().layer, .weights = Matrix(rows, columns), .bias = Vector(rows)};
  Index at = 0;
  for (const Affine& part : parts) {
    result.weights.middleRows(at, part.weights.rows()) = widened(part.weights, columns);
    result.bias.segment(at, part.bias.size()) = part.bias;
    at += part.weights.rows();
  }
  return result;
}

Vector GraphValues::along(const Tensor& tensor, Index size) const {
  const auto count = static_cast<Index>(tensor.numbers.size());
  if (tensor.type == string_type || (count != 1 && count != size)) {
    refuse(fmt::format("a constant of the shape [{}] for {} numbers", fmt::join(tensor.dims, ", "),
                       size));
  }
  if (count == 1) return Vector::Constant(size, tensor.numbers.front());
  return Eigen::Map<const Vector>(tensor.numbers.data(), count);
}

Vector GraphValues::along(std::string_view attribute, Index size, double otherwise) const {
  const Attribute* found = node_->find(attribute);
  if (found == nullptr || found->floats.empty()) return Vector::Constant(size, otherwise);
  const auto count = static_cast<Index>(found->floats.size());
  if (count != 1 && count != size)
    refuse(fmt::format("{} has {} numbers, expected {}", attribute, count, size));
  if (count == 1) return Vector::Constant(size, found->floats.front());
  return Eigen::Map<const Vector>(found->floats.data(), count);
}

std::int64_t GraphValues::whole(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* found = node_->find(attribute);
  return found == nullptr ? otherwise : found->i;
}

double GraphValues::real(std::string_view attribute, double otherwise) const {
  const Attribute* found = node_->find(attribute);
  return found == nullptr ? otherwise : found->f;
}

std::string GraphValues::word(std::string_view attribute, std::string otherwise) const {
  const Attribute* found = node_->find(attribute);
  return found == nullptr ? otherwise : found->s;
}

}  // namespace ellice::onnx

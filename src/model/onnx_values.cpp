#include "model/onnx_values.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_operators.hpp"

namespace ellice::onnx {

namespace {

/// Whole numbers, places of levels, or codes that are whole.
bool has_whole_values(const Feature& feature) {
  if (feature.is_number()) return feature.kind == FeatureKind::integer;
  return std::all_of(feature.levels.begin(), feature.levels.end(), [](const std::string& level) {
    double code = 0;
    return !parse_number(level, code) || code == std::nearbyint(code);
  });
}

}  // namespace

Index size_of(const Shape& shape) {
  Index size = 1;
  for (const Index one : shape) size *= one;
  return size;
}

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
    const std::size_t rank = input.dims.size();
    require_input(rank <= 2 && (rank == 0 || input.dims.back() == 1 || input.dims.back() == -1),
                  "{}: the input \"{}\" has the shape [{}], expected one column", *source_,
                  input.name, fmt::join(input.dims, ", "));
    check_type(input, schema_->features[*j]);
    const Shape shape = rank == 1 ? Shape{} : Shape{1};
    values_[input.name] =
        input.type == string_type ? Value{Texts{{*j}}, shape} : Value{number(*j), shape};
  }
}

void GraphValues::check_type(const Input& input, const Feature& feature) const {
  const std::int64_t type = input.type;
  const bool is_known = type == 0 || type == float_type || type == double_type ||
                        type == string_type || is_whole_type(type) ||
                        (type == bool_type && feature.kind == FeatureKind::binary);
  require_input(is_known,
                "{}: the input \"{}\" has the element type {}, expected float, double, int32, "
                "int64 or string, or bool for a binary feature",
                *source_, input.name, type);
  require_input(!is_whole_type(type) || has_whole_values(feature),
                "{}: the input \"{}\" takes whole numbers, and \"{}\" is {}; make it `kind: "
                "integer` in the schema",
                *source_, input.name, feature.name, enum_name(feature.kind));
}

void GraphValues::read_table(const Input& input) {
  const std::size_t count = schema_->features.size();
  const std::int64_t columns = input.dims.size() == 2 ? input.dims[1] : -1;
  require_input(columns == static_cast<std::int64_t>(count),
                "{}: the input \"{}\" has {} columns, and the schema {} features; a table has all "
                "features in the order of the schema, and columns of their own have their names",
                *source_, input.name, columns, count);
  for (const Feature& feature : schema_->features) check_type(input, feature);
  const Shape shape = {static_cast<Index>(count)};
  if (input.type == string_type) {
    Texts texts;
    for (std::size_t j = 0; j < count; ++j) texts.features.push_back(j);
    values_[input.name] = {texts, shape};
    return;
  }
  std::vector<Affine> parts;
  for (std::size_t j = 0; j < count; ++j) parts.push_back(number(j));
  values_[input.name] = {joined(parts), shape};
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

bool GraphValues::is_whole(const Affine& row, Index k) const {
  const auto is_integer = [](double number) { return number == std::nearbyint(number); };
  if (row.layer != 0 || !is_integer(row.bias(k))) return false;
  for (Index i = 0; i < row.weights.cols(); ++i) {
    const double weight = row.weights(k, i);
    if (weight == 0) continue;
    const DeployedInput& atom = atoms_[static_cast<std::size_t>(i)];
    const Feature& feature = schema_->features[*schema_->find(atom.feature)];
    if (!is_integer(weight) || (atom.level.empty() && !has_whole_values(feature))) return false;
  }
  return true;
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
    if (!std::isfinite(input.scale) || !std::isfinite(input.offset)) {
      refuse(
          fmt::format("entry {} of what it reads is \"{}\" times {:g}, which is too small a number",
                      k, input.feature, row.weights(k, *only)));
    }
    result_.inputs.push_back(input);
  }
  const Index size = row.bias.size();
  return {.layer = 1, .weights = Matrix::Identity(size, size), .bias = Vector::Zero(size)};
}

void GraphValues::refuse(std::string_view why) const {
  fail(ErrorCode::input, "{}: {}: {}", *source_, node_->text(), why);
}

void GraphValues::check_attributes() const {
  for (const Attribute& attribute : node_->attributes) {
    const char field = field_of(node_->op, attribute.name);
    if (field == '\0') {
      refuse(fmt::format("its attribute \"{}\" is not one that can be imported", attribute.name));
    }
    if (attribute.fields.find_first_not_of(field) != std::string::npos)
      refuse(fmt::format("its attribute \"{}\" holds a value of another kind", attribute.name));
  }
}

const std::string& GraphValues::input_name(std::size_t k) const {
  if (k >= node_->inputs.size()) refuse(fmt::format("input {} is missing", k));
  return node_->inputs[k];
}

bool GraphValues::has_input(std::size_t k) const {
  return k < node_->inputs.size() && !node_->inputs[k].empty();
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
  const auto* found = std::get_if<Affine>(&value(k).is);
  if (found == nullptr) refuse(fmt::format("\"{}\" is no row of numbers", input_name(k)));
  return *found;
}

const Texts* GraphValues::texts(std::size_t k) const {
  return std::get_if<Texts>(&value(k).is);
}

const Final* GraphValues::final(std::size_t k) const {
  const auto found = values_.find(input_name(k));
  return found == values_.end() ? nullptr : std::get_if<Final>(&found->second.is);
}

void GraphValues::require_table(std::size_t k) const {
  if (shape(k).size() == 1) return;
  refuse(fmt::format("\"{}\" has {} axes, expected two: rows and columns", input_name(k),
                     shape(k).size() + 1));
}

std::size_t GraphValues::axis_of(std::int64_t given, std::size_t rank) const {
  const auto axes = static_cast<std::int64_t>(rank);
  if (given < -axes || given >= axes) refuse(fmt::format("the axis {} of {} axes", given, axes));
  return static_cast<std::size_t>(given < 0 ? given + axes : given);
}

void GraphValues::require_last_axis(std::int64_t axis, const Shape& shape) const {
  const std::size_t found = axis_of(axis, shape.size() + 1);
  const bool has_one = !shape.empty() && size_of(shape) == shape.back();
  if (found != shape.size() || !has_one)
    refuse(fmt::format("along the axis {} of {} axes, expected that of the columns, the last", axis,
                       shape.size() + 1));
}

void GraphValues::put_as(std::size_t output, Value value) {
  if (output < node_->outputs.size() && !node_->outputs[output].empty())
    values_[node_->outputs[output]] = std::move(value);
}

void GraphValues::put(Value value) {
  if (node_->outputs.empty()) refuse("it has no output");
  put_as(0, std::move(value));
}

void GraphValues::put(Affine made, Shape shape) {
  if (!made.weights.allFinite() || !made.bias.allFinite()) refuse("its numbers are too large");
  put(Value{std::move(made), std::move(shape)});
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

Vector GraphValues::along(const Tensor& tensor, const Shape& shape) const {
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

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "model/onnx_execute_operators.hpp"

namespace ellice::onnx {

namespace {

/// The place, in a tensor that is repeated along axes of size 1, of an entry of the result.
std::size_t place_of(std::int64_t at, const Dims& result, const Dims& own) {
  std::int64_t place = 0;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::int64_t size = own[own.size() - 1 - i];
    const std::int64_t whole_size = result[result.size() - 1 - i];
    if (size != 1) place += at % whole_size * stride;
    stride *= size;
    at /= whole_size;
  }
  return static_cast<std::size_t>(place);
}

/// The shape of which both are repetitions.
Dims common_dims(const Operation& node, const Tensor& a, const Tensor& b) {
  Dims result(std::max(a.dims.size(), b.dims.size()), 1);
  for (const Tensor* one : {&a, &b}) {
    for (std::size_t i = 0; i < one->dims.size(); ++i) {
      const std::int64_t size = one->dims[one->dims.size() - 1 - i];
      std::int64_t& place = result[result.size() - 1 - i];
      if (size != 1 && place != 1 && place != size) node.refuse("of shapes that do not match");
      if (size != 1) place = size;
    }
  }
  return result;
}

double calculated(const std::string& op, double x, double y) {
  if (op == "Add") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return x * y;
  return x / y;
}

void add_bias(const ExecutedNode& node, Tensor& made) {
  const double alpha = node.real("alpha", 1);
  const double beta = node.real("beta", 1);
  for (double& sum : made.numbers) sum *= alpha;
  if (!node.has_input(2)) return;
  const Tensor& bias = node.in(2);
  if (common_dims(node, made, bias) != made.dims) node.refuse("of shapes that do not match");
  for (std::size_t k = 0; k < made.numbers.size(); ++k)
    made.numbers[k] +=
        beta * bias.numbers[place_of(static_cast<std::int64_t>(k), made.dims, bias.dims)];
}

/// The number of an attribute that counts for a column; `otherwise` where it is not there.
double of_column(const Attribute* given, std::size_t column, double otherwise) {
  if (given == nullptr || given->floats.empty()) return otherwise;
  return given->floats[std::min(column, given->floats.size() - 1)];
}

}  // namespace

void execute_arithmetic(ExecutedNode& node) {
  const Tensor& a = node.in(0);
  const Tensor& b = node.in(1);
  Tensor made{.dims = common_dims(node, a, b), .type = a.type};
  const bool are_whole = is_whole_type(a.type) && is_whole_type(b.type);
  const std::int64_t count = count_of(made.dims);
  for (std::int64_t k = 0; k < count; ++k) {
    const double value = calculated(node.op(), a.numbers[place_of(k, made.dims, a.dims)],
                                    b.numbers[place_of(k, made.dims, b.dims)]);
    made.numbers.push_back(are_whole ? std::trunc(value) : value);
  }
  node.put(std::move(made));
  const std::optional<double> sign = node.probability(1);
  if (node.op() == "Sub" && sign) node.mark(-*sign);
}

void execute_product(ExecutedNode& node) {
  const Tensor& x = node.table(0);
  const Tensor& w = node.table(1);
  if (node.whole("transA", 0) != 0) node.refuse("of rows that are turned");
  const bool is_turned = node.whole("transB", 0) != 0;
  const auto n = static_cast<std::size_t>(x.dims[1]);
  const auto units = static_cast<std::size_t>(w.dims[is_turned ? 0 : 1]);
  if (n * units != w.numbers.size()) node.refuse("of matrices that do not match");
  Tensor made{.dims = {x.dims[0], static_cast<std::int64_t>(units)}, .type = x.type};
  made.numbers.assign(static_cast<std::size_t>(x.dims[0]) * units, 0);
  for (std::size_t row = 0; row < static_cast<std::size_t>(x.dims[0]); ++row) {
    const double* const values = x.numbers.data() + row * n;
    double* const sums = made.numbers.data() + row * units;
    // In the order in which the weights are stored; each sum goes through the inputs in theirs.
    if (is_turned) {
      for (std::size_t k = 0; k < units; ++k) {
        for (std::size_t i = 0; i < n; ++i) sums[k] += values[i] * w.numbers[k * n + i];
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < units; ++k) sums[k] += values[i] * w.numbers[i * units + k];
      }
    }
  }
  if (node.op() == "Gemm") add_bias(node, made);
  node.put(std::move(made));
}

void execute_activation(ExecutedNode& node) {
  Tensor made = node.in(0);
  const std::string& op = node.op();
  const bool is_score = op == "Sigmoid" && count_of(made.dims) == batch;
  if (is_score) node.take_score(made.numbers.front());
  for (double& x : made.numbers) {
    if (op == "Relu") x = std::max(x, 0.0);
    if (op == "Tanh") x = std::tanh(x);
    if (op == "Sigmoid") x = 1 / (1 + std::exp(-x));
  }
  node.put(std::move(made));
  if (is_score) node.mark(1);
}

void execute_scaler(ExecutedNode& node) {
  Tensor made = node.table(0);
  made.type = float_type;
  const Attribute* offset = node.find("offset");
  const Attribute* scale = node.find("scale");
  for (std::size_t k = 0; k < made.numbers.size(); ++k) {
    const std::size_t column = k % static_cast<std::size_t>(made.dims[1]);
    made.numbers[k] =
        (made.numbers[k] - of_column(offset, column, 0)) * of_column(scale, column, 1);
  }
  node.put(std::move(made));
}

void execute_imputer(ExecutedNode& node) {
  Tensor made = node.in(0);
  const Attribute* values = node.find("imputed_value_floats");
  const double replaced = node.real("replaced_value_float", 0);
  if (is_whole_type(made.type) || values == nullptr || values->floats.empty() ||
      made.dims.size() != 2)
    node.refuse("is not executed without a table of numbers and imputed_value_floats");
  for (std::size_t k = 0; k < made.numbers.size(); ++k) {
    const std::size_t column = k % static_cast<std::size_t>(made.dims[1]);
    double& number = made.numbers[k];
    const bool is_replaced = std::isnan(replaced) ? std::isnan(number) : number == replaced;
    if (is_replaced) number = of_column(values, column, 0);
  }
  node.put(std::move(made));
}

void execute_cast(ExecutedNode& node) {
  Tensor made = node.in(0);
  const std::int64_t to = node.whole("to", 0);
  if (to == string_type) {
    for (const double number : made.numbers) made.texts.push_back(fmt::format("{}", number));
    made.numbers.clear();
  } else if (to == float_type || to == double_type || is_whole_type(to)) {
    for (const std::string& text : made.texts)
      made.numbers.push_back(std::strtod(text.c_str(), nullptr));
    made.texts.clear();
    for (double& number : made.numbers) {
      if (is_whole_type(to)) number = std::trunc(number);
    }
  } else {
    node.refuse("casts to the element type {}, which is not executed", to);
  }
  made.type = to;
  node.put(std::move(made));
  node.mark_as_input();
}

}  // namespace ellice::onnx

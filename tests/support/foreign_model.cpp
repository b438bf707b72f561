#include "support/foreign_model.hpp"

#include <algorithm>
#include <cmath>

namespace ellice::testing_support {

namespace {

double value_of(const Feature& feature, const Value& value) {
  if (feature.is_number()) return std::get<double>(value);
  const auto& level = std::get<std::string>(value);
  return static_cast<double>(std::find(feature.levels.begin(), feature.levels.end(), level) -
                             feature.levels.begin());
}

double input_value(const DeployedInput& input, const Feature& feature, double x) {
  if (!input.level.empty()) x = feature.levels[static_cast<std::size_t>(x)] == input.level ? 1 : 0;
  return (x - input.offset) / input.scale;
}

double score(const Vector& parameters, const auto& inputs) {
  double sum = parameters(parameters.size() - 1);
  for (Index i = 0; i + 1 < parameters.size(); ++i) sum += parameters(i) * inputs(i);
  return sum;
}

}  // namespace

Vector Foreign::parameters() const {
  const Layer& layer = model.layers.front();
  Vector result(layer.weights.cols() + 1);
  result << layer.weights.row(0).transpose(), layer.bias(0);
  return result;
}

double Foreign::objective(const Vector& parameters) const {
  double sum = 0;
  for (Index i = 0; i < inputs.rows(); ++i) {
    const double sign = labels[static_cast<std::size_t>(i)] == 1 ? 1 : -1;
    const double f = score(parameters, inputs.row(i));
    const double loss = model.loss == LossKind::squared
                            ? (f - sign) * (f - sign) / 2
                            : std::max(-sign * f, 0.0) + std::log1p(std::exp(-std::abs(f)));
    sum += weights(i) * loss;
  }
  const Index p = parameters.size() - 1;
  return sum / weights.sum() + model.l2 / 2 * parameters.head(p).squaredNorm() +
         model.l1 * parameters.head(p).lpNorm<1>();
}

Vector Foreign::gradient(const Vector& parameters) const {
  Vector sum = Vector::Zero(parameters.size());
  const Index p = parameters.size() - 1;
  for (Index i = 0; i < inputs.rows(); ++i) {
    const double sign = labels[static_cast<std::size_t>(i)] == 1 ? 1 : -1;
    const double f = score(parameters, inputs.row(i));
    const double slope =
        model.loss == LossKind::squared ? f - sign : -sign / (1 + std::exp(sign * f));
    sum.head(p) += weights(i) * slope * inputs.row(i).transpose();
    sum(p) += weights(i) * slope;
  }
  sum /= weights.sum();
  sum.head(p) += model.l2 * parameters.head(p);
  return sum;
}

Vector Foreign::inputs_of(const Schema& schema, const RawRow& row) const {
  Vector result(static_cast<Index>(model.inputs.size()));
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const std::size_t j = *schema.find(model.inputs[i].feature);
    const Feature& feature = schema.features[j];
    result(static_cast<Index>(i)) =
        input_value(model.inputs[i], feature, value_of(feature, row[j]));
  }
  return result;
}

Foreign fit_foreign(const Dataset& data, const ForeignOptions& options) {
  Foreign result{.labels = data.labels,
                 .weights = options.has_weights ? data.weights : Vector::Ones(data.rows())};
  DeployedModel& model = result.model;
  model.loss = options.loss;
  model.l2 = options.l2;
  model.l1 = options.l1;
  model.precision = options.precision;
  model.tool = "test";
  if (options.has_weights) model.weights = {.column = "weight"};
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    const auto column = data.raw.col(static_cast<Index>(j));
    if (feature.is_number() || feature.kind == FeatureKind::ordinal) {
      DeployedInput input{.feature = feature.name};
      // Without scaling a program does not get far by descent: whole powers of ten at least.
      input.scale = std::pow(10, std::ceil(std::log10(column.cwiseAbs().maxCoeff() + 1)));
      if (options.scaled) {
        input.offset = column.minCoeff();
        input.scale = column.maxCoeff() - column.minCoeff();
      }
      if (!(input.scale > 0)) input.scale = 1;
      model.inputs.push_back(input);
      continue;
    }
    for (std::size_t k = 0; k < feature.levels.size(); ++k) {
      if (k == 0 && options.levels == Foreign::Levels::without_first) continue;
      model.inputs.push_back({.feature = feature.name, .level = feature.levels[k]});
    }
  }
  const auto p = static_cast<Index>(model.inputs.size());
  result.inputs.resize(data.rows(), p);
  for (Index i = 0; i < p; ++i) {
    const DeployedInput& input = model.inputs[static_cast<std::size_t>(i)];
    const std::size_t j = *data.schema.find(input.feature);
    for (Index row = 0; row < data.rows(); ++row) {
      result.inputs(row, i) =
          input_value(input, data.schema.features[j], data.raw(row, static_cast<Index>(j)));
    }
  }
  Vector parameters = Vector::Zero(p + 1);
  double step = 1;
  for (int k = 0; k < options.steps; ++k) {
    const Vector slope = result.gradient(parameters);
    const double before = result.objective(parameters);
    const auto moved = [&] {
      Vector next = parameters - step * slope;
      // What the l1 penalty takes from each weight.
      for (Index i = 0; i < p; ++i)
        next(i) = std::copysign(std::max(std::abs(next(i)) - step * model.l1, 0.0), next(i));
      return next;
    };
    while (result.objective(moved()) > before && step > 1e-12) step /= 2;
    if (step > 1e-12) parameters = moved();
    step *= 1.5;
  }
  model.layers = {
      {.weights = parameters.head(p).transpose(), .bias = Vector::Constant(1, parameters(p))}};
  return result;
}

Vector at_border(const Foreign& foreign, const Vector& direction, double epsilon) {
  const Vector start = foreign.parameters();
  const double level = foreign.objective(start) + epsilon;
  double inside = 0;
  double outside = 1;
  while (foreign.objective(start + outside * direction) <= level) outside *= 2;
  for (int k = 0; k < 60; ++k) {
    const double middle = (inside + outside) / 2;
    (foreign.objective(start + middle * direction) <= level ? inside : outside) = middle;
  }
  return start + inside * direction;
}

float single_score(const Foreign& foreign, const Schema& schema, const RawRow& row, Order order) {
  std::vector<float> weights;
  std::vector<float> values;
  for (std::size_t i = 0; i < foreign.model.inputs.size(); ++i) {
    const DeployedInput& input = foreign.model.inputs[i];
    const std::size_t j = *schema.find(input.feature);
    const Feature& feature = schema.features[j];
    double x = value_of(feature, row[j]);
    if (!input.level.empty())
      x = feature.levels[static_cast<std::size_t>(x)] == input.level ? 1 : 0;
    const float difference = static_cast<float>(x) - static_cast<float>(input.offset);
    values.push_back(difference * static_cast<float>(1 / input.scale));
    weights.push_back(
        static_cast<float>(foreign.model.layers.front().weights(0, static_cast<Index>(i))));
  }
  const auto bias = static_cast<float>(foreign.model.layers.front().bias(0));
  const std::size_t n = values.size();
  std::vector<float> terms;
  for (std::size_t i = 0; i < n; ++i) terms.push_back(weights[i] * values[i]);
  float sum = 0;
  switch (order) {
    case Order::forward:
      for (const float term : terms) sum += term;
      return sum + bias;
    case Order::backward:
      sum = bias;
      for (std::size_t i = n; i-- > 0;) sum += terms[i];
      return sum;
    case Order::pairs:
      terms.push_back(bias);
      while (terms.size() > 1) {
        std::vector<float> half;
        for (std::size_t i = 0; i < terms.size(); i += 2)
          half.push_back(i + 1 < terms.size() ? terms[i] + terms[i + 1] : terms[i]);
        terms = std::move(half);
      }
      return terms.front();
    case Order::lanes: {
      std::vector<float> lanes(8, 0.0F);
      for (std::size_t i = 0; i < n; ++i) lanes[i % 8] += terms[i];
      for (const float lane : lanes) sum += lane;
      return sum + bias;
    }
    case Order::fused:
      sum = bias;
      for (std::size_t i = 0; i < n; ++i) sum = std::fma(weights[i], values[i], sum);
      return sum;
  }
  return sum;
}

}  // namespace ellice::testing_support

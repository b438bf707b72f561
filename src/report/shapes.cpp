#include "report/shapes.hpp"

#include <cmath>

#include "ellice/core/error.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

namespace {

constexpr int most_values = 61;  // of a number

/// The head's inputs that depend on one feature: its columns, or the units of its network.
struct HeadInputs {
  Index first = 0;
  Index count = 0;
};

HeadInputs inputs_of(const Model& model, std::size_t feature) {
  if (model.network.is_linear()) {
    return {.first = model.encoder.first_column(feature),
            .count = model.encoder.column_count(feature)};
  }
  const Index units =
      model.network.layers.back().weights.cols() / static_cast<Index>(model.network.groups.size());
  return {.first = static_cast<Index>(feature) * units, .count = units};
}

/// From the smallest to the largest number of the training rows; whole numbers are whole.
std::vector<double> numbers_of(const Encoder& encoder, std::size_t feature) {
  const ColumnStatistics statistics = encoder.statistics(feature);
  const double width = statistics.max - statistics.min;
  const bool is_whole = encoder.schema().features[feature].is_whole();
  const int steps = is_whole && width < most_values - 1 ? static_cast<int>(width) : most_values - 1;
  std::vector<double> values;
  for (int k = 0; k <= (width > 0 ? steps : 0); ++k) {
    const double value = statistics.min + (steps > 0 ? width * k / steps : 0);
    values.push_back(is_whole ? std::round(value) : value);
  }
  return values;
}

/// A number of the bin.
double number_in(const Bins& bins, std::size_t bin) {
  if (bin >= bins.intervals()) return bins.special[bin - bins.intervals()].number;
  const double low = bins.lower(bin);
  const double high = bins.upper(bin);
  double number = low + (high - low) / 2;
  if (std::isinf(high)) number = low + 1 + std::abs(low);
  if (std::isinf(low)) number = std::isinf(high) ? 0 : high - 1 - std::abs(high);
  // A code may lie there.
  for (int k = 0; bins.of(number) != bin && k < 64; ++k)
    number = std::isinf(high) ? number + 1 : std::isinf(low) ? number - 1 : (number + high) / 2;
  return number;
}

/// What the columns of a feature are at each of its values.
Matrix list_values(const Encoder& encoder, Shape& shape) {
  const Feature& feature = encoder.schema().features[shape.feature];
  std::vector<double> raw;
  if (feature.is_binned()) {
    for (std::size_t bin = 0; bin < feature.bins.count(); ++bin) {
      shape.names.push_back(feature.bins.words(bin));
      raw.push_back(number_in(feature.bins, bin));
    }
  } else if (feature.is_number()) {
    raw = shape.values = numbers_of(encoder, shape.feature);
  } else {
    for (const std::string& level : feature.levels) {
      raw.push_back(static_cast<double>(shape.names.size()));
      shape.names.push_back(feature.level_text(level));
    }
  }
  for (std::size_t k = 0; k < shape.names.size(); ++k)
    shape.values.push_back(static_cast<double>(k));
  Matrix columns(encoder.column_count(shape.feature), static_cast<Index>(raw.size()));
  for (std::size_t k = 0; k < raw.size(); ++k)
    columns.col(static_cast<Index>(k)) = encoder.columns_of(shape.feature, raw[k]);
  return columns;
}

}  // namespace

Shapes shape_functions(const Model& model, double epsilon, const RowMatrix* encoded_rows) {
  const Network& network = model.network;
  require(network.has_one_output() && (network.is_linear() || !network.groups.empty()),
          "shape functions are for models that add up features: logistic, additive and nam; this "
          "one is a {}",
          enum_name(network.kind));
  const Ellipsoid set = last_layer_set(model, epsilon);
  const Vector& head = set.center();
  Vector row_mean;
  if (encoded_rows != nullptr)
    row_mean = network.row_features(*encoded_rows).colwise().mean().transpose();

  Shapes result{
      .epsilon = epsilon, .base = head(head.size() - 1), .is_over_rows = encoded_rows != nullptr};
  for (std::size_t j = 0; j < model.schema().features.size(); ++j) {
    Shape shape{.feature = j};
    const Matrix columns = list_values(model.encoder, shape);
    const HeadInputs inputs = inputs_of(model, j);
    RowMatrix rows = RowMatrix::Zero(columns.cols(), network.inputs());
    rows.middleCols(model.encoder.first_column(j), columns.rows()) = columns.transpose();
    const RowMatrix features = network.row_features(rows).middleCols(inputs.first, inputs.count);
    const Vector mean = encoded_rows != nullptr
                            ? Vector(row_mean.segment(inputs.first, inputs.count))
                            : Vector(features.colwise().mean().transpose());
    const Vector weights = head.segment(inputs.first, inputs.count);
    result.base += weights.dot(mean);
    shape.contribution.resize(features.rows());
    shape.spread.resize(features.rows());
    for (Index k = 0; k < features.rows(); ++k) {
      const Vector moved = features.row(k).transpose() - mean;
      Vector direction = Vector::Zero(head.size());
      direction.segment(inputs.first, inputs.count) = moved;
      shape.contribution(k) = weights.dot(moved);
      shape.spread(k) = robustness_penalty(set, direction);
    }
    result.shapes.push_back(std::move(shape));
  }
  return result;
}

double range_of(const Shape& shape) {
  return shape.contribution.maxCoeff() - shape.contribution.minCoeff();
}

}  // namespace ellice

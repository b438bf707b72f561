#include "ellice/data/encoder.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "data/feature_facts.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// A number of a bin, for whom any will do: the nearest to the mean.
double number_in(const Feature& feature, std::size_t bin, double mean) {
  const Bins& bins = feature.bins;
  if (bin >= bins.intervals()) return bins.special[bin - bins.intervals()].number;
  const double lower = bins.lower(bin);
  const double upper = bins.upper(bin);
  const double step = feature.step.value_or(1);
  const auto is_one = [&](double number) {
    return std::isfinite(number) && bins.of(number) == bin && feature.may_be(number);
  };
  for (const double number :
       {mean, lower, upper, lower + step, upper - step, lower + (upper - lower) / 2}) {
    for (const double near : {number, std::floor(number), std::ceil(number)})
      if (is_one(near)) return near;
  }
  const bool is_right = bins.closed == Bins::Closed::right;
  return is_right ? std::nextafter(lower, upper) : std::nextafter(upper, lower);
}

/// The bin that columns show, or the nearest.
std::size_t bin_of_columns(const Bins& bins, VectorArg columns) {
  Index best = 0;
  if (bins.values.empty()) {
    columns.maxCoeff(&best);
    return static_cast<std::size_t>(best);
  }
  const Eigen::Map<const Vector> values(bins.values.data(), static_cast<Index>(bins.values.size()));
  (values.array() - columns(0)).abs().minCoeff(&best);
  return static_cast<std::size_t>(best);
}

/// Of the numbers that are no codes.
ColumnStatistics statistics_of(const Bins& bins, VectorArg column) {
  std::vector<double> numbers;
  for (const double number : column) {
    if (bins.code(number) == nullptr) numbers.push_back(number);
  }
  if (numbers.empty()) return {.max = 0};
  const Eigen::Map<const Vector> known(numbers.data(), static_cast<Index>(numbers.size()));
  ColumnStatistics result{.min = known.minCoeff(), .max = known.maxCoeff()};
  if (result.min == result.max) {
    result.mean = result.min;
    return result;
  }
  result.mean = known.mean();
  result.scale = std::sqrt((known.array() - result.mean).square().mean());
  return result;
}

std::size_t level_of(const Feature& feature, double raw) {
  const bool valid = raw >= 0 && raw < static_cast<double>(feature.levels.size());
  require(valid, "feature \"{}\": level index {} must be >= 0 and < {}", feature.name, raw,
          feature.levels.size());
  return static_cast<std::size_t>(raw);
}

Value value_of(const Feature& feature, double raw) {
  if (feature.is_number()) return raw;
  return feature.levels[level_of(feature, raw)];
}

double raw_of(const Feature& feature, const Value& value) {
  if (feature.is_number()) {
    const double* const number = std::get_if<double>(&value);
    require_input(number != nullptr, "feature \"{}\": found \"{}\", expected a number",
                  feature.name, number == nullptr ? std::get<std::string>(value) : "");
    require_input(std::isfinite(*number), "feature \"{}\": found {}, expected a finite number",
                  feature.name, *number);
    if (!feature.may_be(*number)) {
      fail(ErrorCode::input, "feature \"{}\": found {}, expected {}", feature.name, *number,
           feature.expected_in_place_of(*number));
    }
    return *number;
  }
  const std::string* const level = std::get_if<std::string>(&value);
  require_input(level != nullptr, "feature \"{}\": found the number {}, expected a level: {}",
                feature.name, level == nullptr ? std::get<double>(value) : 0,
                fmt::join(feature.levels, ", "));
  const std::optional<std::size_t> index = feature.level_index(*level);
  if (!index) {
    fail(ErrorCode::input, "feature \"{}\": found \"{}\", expected a level; {}", feature.name,
         *level, suggestion(*level, feature.levels));
  }
  return static_cast<double>(*index);
}

struct Statistics {
  Eigen::RowVectorXd mean = {};
  Eigen::RowVectorXd scale = {};
  Eigen::RowVectorXd min = {};
  Eigen::RowVectorXd max = {};
};

Statistics column_statistics(const RowMatrix& raw) {
  const auto rows = static_cast<double>(raw.rows());
  Statistics result;
  result.min = raw.row(0);
  result.max = raw.row(0);
  result.mean = Eigen::RowVectorXd::Zero(raw.cols());
  for (Index i = 0; i < raw.rows(); ++i) {
    result.mean += raw.row(i);
    result.min = result.min.cwiseMin(raw.row(i));
    result.max = result.max.cwiseMax(raw.row(i));
  }
  result.mean /= rows;
  // Deviations in a second pass: squares of raw values would cancel. Their sum corrects what
  // rounding left in the mean.
  Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(raw.cols());
  Eigen::RowVectorXd squares = Eigen::RowVectorXd::Zero(raw.cols());
  for (Index i = 0; i < raw.rows(); ++i) {
    sum += raw.row(i) - result.mean;
    squares += (raw.row(i) - result.mean).cwiseAbs2();
  }
  const Eigen::RowVectorXd correction = sum / rows;
  result.mean += correction;
  result.scale = (squares / rows - correction.cwiseAbs2()).cwiseMax(0).cwiseSqrt();
  for (Index j = 0; j < raw.cols(); ++j) {
    if (result.min[j] != result.max[j]) continue;
    result.mean[j] = result.min[j];  // which a rounded mean may miss, and then the scale is not 0
    result.scale[j] = 1;
  }
  return result;
}

}  // namespace

void Encoder::lay_out() {
  names_.clear();
  first_ = {0};
  for (const Feature& feature : schema_.features) {
    if (feature.kind == FeatureKind::categorical) {
      for (const std::string& level : feature.levels) names_.push_back(feature.name + "=" + level);
    } else if (feature.has_indicators()) {
      for (std::size_t bin = 0; bin < feature.bins.count(); ++bin)
        names_.push_back(feature.name + "=" + feature.bins.name(bin));
    } else {
      names_.push_back(feature.name);
    }
    first_.push_back(static_cast<Index>(names_.size()));
  }
}

Encoder Encoder::fit(const Dataset& data) {
  require(data.rows() > 0, "data must have rows to fit an encoder");
  require(data.raw.allFinite(), "data must be finite and without empty cells to fit an encoder");
  Encoder result;
  result.schema_ = data.schema;
  result.fill_ = data.fill;
  result.lay_out();
  const auto columns = static_cast<Index>(result.names_.size());
  result.mean_ = Vector::Zero(columns);
  result.scale_ = Vector::Ones(columns);
  result.min_ = Vector::Zero(columns);
  result.max_ = Vector::Ones(columns);

  const Statistics statistics = column_statistics(data.raw);
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    const auto source = static_cast<Index>(j);
    const Index first = result.first_[j];
    if (feature.is_binned())
      result.binned_[j] = statistics_of(feature.bins, Vector(data.raw.col(source)));
    if (feature.has_indicators()) {
      const bool binned = feature.is_binned();
      std::vector<Index> count(binned ? feature.bins.count() : feature.levels.size());
      for (const double raw : data.raw.col(source))
        ++count[binned ? feature.bins.of(raw) : level_of(feature, raw)];
      for (std::size_t level = 0; level < count.size(); ++level) {
        const Index column = first + static_cast<Index>(level);
        result.min_[column] = count[level] == data.rows() ? 1 : 0;
        result.max_[column] = count[level] > 0 ? 1 : 0;
      }
      continue;
    }
    if (feature.is_binned()) {
      const Vector seen = Vector(data.raw.col(source)).unaryExpr([&](double raw) {
        return feature.bins.values[feature.bins.of(raw)];
      });
      result.min_[first] = seen.minCoeff();
      result.max_[first] = seen.maxCoeff();
      require_input(result.binned_[j].scale > 0 && std::isfinite(result.binned_[j].scale),
                    "{}: feature \"{}\": its numbers have no finite spread; change its unit",
                    data.source, feature.name);
      continue;
    }
    result.min_[first] = statistics.min[source];
    result.max_[first] = statistics.max[source];
    if (!is_standardised(feature)) continue;
    result.mean_[first] = statistics.mean[source];
    result.scale_[first] = statistics.scale[source];
    require_input(result.scale_[first] > 0 && std::isfinite(result.scale_[first]),
                  "{}: feature \"{}\": values from {} to {} cannot be standardised in double "
                  "precision; change its unit",
                  data.source, feature.name, result.min_[first], result.max_[first]);
  }
  return result;
}

Encoder Encoder::from_statistics(const Schema& schema,
                                 const std::map<std::string, ColumnStatistics>& statistics) {
  Encoder result;
  result.schema_ = schema;
  result.lay_out();
  const auto columns = static_cast<Index>(result.names_.size());
  result.mean_ = result.min_ = Vector::Zero(columns);
  result.scale_ = result.max_ = Vector::Ones(columns);
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const Index column = result.first_[j];
    if (feature.is_binned()) {
      result.binned_[j] = statistics.at(feature.name);
      const std::vector<double>& seen = feature.bins.values;
      if (seen.empty()) continue;
      result.min_(column) = *std::min_element(seen.begin(), seen.end());
      result.max_(column) = *std::max_element(seen.begin(), seen.end());
    }
    if (!is_standardised(feature)) continue;
    const ColumnStatistics& known = statistics.at(feature.name);
    result.mean_(column) = known.mean;
    result.scale_(column) = known.scale;
    result.min_(column) = known.min;
    result.max_(column) = known.max;
  }
  return result;
}

ColumnStatistics Encoder::statistics(std::size_t feature) const {
  if (const auto binned = binned_.find(feature); binned != binned_.end()) return binned->second;
  const Index column = first_[feature];
  return {.mean = mean_[column], .scale = scale_[column], .min = min_[column], .max = max_[column]};
}

Vector Encoder::columns_of(std::size_t feature, double raw) const {
  Vector z = Vector::Zero(column_count(feature));
  encode_feature(feature, raw, z);
  return z;
}

void Encoder::encode_feature(std::size_t j, double raw, Eigen::Ref<Vector> z) const {
  const Feature& feature = schema_.features[j];
  if (feature.has_indicators()) {
    const std::size_t level = feature.is_binned() ? feature.bins.of(raw) : level_of(feature, raw);
    z.setZero();
    z[static_cast<Index>(level)] = 1;
  } else if (feature.is_binned()) {
    z[0] = feature.bins.values[feature.bins.of(raw)];
  } else {
    z[0] = (raw - mean_[first_[j]]) / scale_[first_[j]];  // binary: mean 0, scale 1
  }
}

std::size_t Encoder::feature_of(Index column) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), column);
  return static_cast<std::size_t>(next - first_.begin()) - 1;
}

double Encoder::filled(std::size_t feature, double raw) const {
  if (!std::isnan(raw)) return raw;
  const auto found = fill_.find(schema_.features[feature].name);
  require_input(
      found != fill_.end(),
      "feature \"{}\" has no value, and the model was trained without a value for empty cells",
      schema_.features[feature].name);
  return raw_of(schema_.features[feature], found->second);
}

void Encoder::encode(std::span<const double> raw, Eigen::Ref<Vector> z) const {
  assert(raw.size() == schema_.features.size() && z.size() == columns());
  for (std::size_t j = 0; j < raw.size(); ++j) {
    encode_feature(j, filled(j, raw[j]), z.segment(first_[j], column_count(j)));
  }
}

RowMatrix Encoder::encode(RowMatrixArg raw) const {
  require(raw.cols() == static_cast<Index>(schema_.features.size()),
          "raw rows have {} values, must have one for each of {} features", raw.cols(),
          schema_.features.size());
  RowMatrix result(raw.rows(), columns());
  for (Index i = 0; i < raw.rows(); ++i) {
    encode({raw.row(i).data(), schema_.features.size()}, result.row(i).transpose());
  }
  return result;
}

Vector Encoder::encode(const RawRow& row) const {
  const Vector numbers = raw(row);
  Vector z(columns());
  encode({numbers.data(), row.size()}, z);
  return z;
}

RawRow Encoder::decode(VectorArg z) const {
  require(z.size() == columns() && z.allFinite(),
          "a point must have {} finite coordinates, found {}", columns(), z.size());
  RawRow row;
  row.reserve(schema_.features.size());
  for (std::size_t j = 0; j < schema_.features.size(); ++j) {
    const Feature& feature = schema_.features[j];
    const Index first = first_[j];
    if (feature.is_binned()) {
      const std::size_t bin =
          bin_of_columns(feature.bins, Vector(z.segment(first, column_count(j))));
      row.emplace_back(number_in(feature, bin, statistics(j).mean));
      continue;
    }
    if (feature.kind == FeatureKind::categorical) {
      Index level = 0;
      z.segment(first, column_count(j)).maxCoeff(&level);
      row.emplace_back(feature.levels[static_cast<std::size_t>(level)]);
      continue;
    }
    double raw = z[first] * scale_[first] + mean_[first];
    if (feature.kind != FeatureKind::numeric) raw = std::nearbyint(raw);
    if (!feature.is_number())
      raw = std::clamp(raw, 0.0, static_cast<double>(feature.levels.size() - 1));
    row.push_back(value_of(feature, raw));
  }
  return row;
}

RawRow Encoder::values(std::span<const double> raw) const {
  require(raw.size() == schema_.features.size(),
          "a row has {} values, must have one for each of {} features", raw.size(),
          schema_.features.size());
  RawRow row;
  row.reserve(raw.size());
  for (std::size_t j = 0; j < raw.size(); ++j) {
    row.push_back(value_of(schema_.features[j], filled(j, raw[j])));
  }
  return row;
}

Vector Encoder::raw(const RawRow& row) const {
  require(row.size() == schema_.features.size(),
          "a row has {} values, must have one for each of {} features", row.size(),
          schema_.features.size());
  Vector result(static_cast<Index>(row.size()));
  for (std::size_t j = 0; j < row.size(); ++j) {
    result[static_cast<Index>(j)] = raw_of(schema_.features[j], row[j]);
  }
  return result;
}

}  // namespace ellice

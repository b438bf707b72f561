#include "model/onnx_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice::onnx {

bool has_whole_values(const Feature& feature) {
  if (feature.is_number()) return feature.kind == FeatureKind::integer;
  return std::all_of(feature.levels.begin(), feature.levels.end(), [](const std::string& level) {
    double code = 0;
    return !parse_number(level, code) || code == std::nearbyint(code);
  });
}

Index Columns::known(std::size_t j, const std::string& level) {
  const std::string& name = feature(j).name;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].feature == name && known_[i].level == level) return static_cast<Index>(i);
  }
  known_.push_back({.feature = name, .level = level});
  return static_cast<Index>(known_.size() - 1);
}

Affine Columns::place(std::size_t j) {
  return entry(known(j, {}));
}

Affine Columns::indicator(std::size_t j, const std::string& level) {
  return entry(known(j, level));
}

/// What levels are as numbers; none where they are texts.
std::vector<double> Columns::numbers_of(const Feature& feature) const {
  std::vector<double> numbers;
  std::map<double, std::string> seen;
  for (const std::string& level : feature.levels) {
    double number = 0;
    if (!parse_number(level, number)) continue;
    const auto [same, is_new] = seen.emplace(number, level);
    require_input(is_new,
                  "{}: the levels \"{}\" and \"{}\" of \"{}\" are the same number, and the model "
                  "reads numbers; merge them in the schema, or let the model read texts",
                  *source_, same->second, level, feature.name);
    numbers.push_back(number);
  }
  require_input(numbers.empty() || numbers.size() == feature.levels.size(),
                "{}: \"{}\" has levels that are numbers and others that are not, and the model "
                "reads numbers",
                *source_, feature.name);
  return numbers;
}

Affine Columns::number(std::size_t j) {
  Affine made = place(j);
  const std::vector<double> numbers = numbers_of(feature(j));
  if (feature(j).kind == FeatureKind::categorical || numbers.empty()) return made;
  const double step = numbers.size() > 1 ? numbers[1] - numbers[0] : 1;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    require_input(numbers[k] == numbers[0] + static_cast<double>(k) * step,
                  "{}: the levels of \"{}\" are not evenly spaced numbers", *source_,
                  feature(j).name);
  }
  made.weights *= step;
  made.bias(0) = numbers[0];
  return made;
}

std::optional<std::size_t> Columns::bare_feature(const Affine& row, Index k) {
  for (std::size_t i = 0; row.layer == 0 && i < known_.size(); ++i) {
    const auto column = static_cast<Index>(i);
    if (!known_[i].level.empty() || column >= row.weights.cols()) continue;
    const std::size_t j = *schema_->find(known_[i].feature);
    const Affine bare = number(j);
    Vector rest = row.weights.row(k);
    rest(column) -= bare.weights(0, column);
    if (rest.isZero(0) && row.bias(k) == bare.bias(0)) return j;
  }
  return std::nullopt;
}

bool Columns::is_whole(const Affine& row, Index k) const {
  const auto is_integer = [](double number) { return number == std::nearbyint(number); };
  if (row.layer != 0 || !is_integer(row.bias(k))) return false;
  for (Index i = 0; i < row.weights.cols(); ++i) {
    const double weight = row.weights(k, i);
    if (weight == 0) continue;
    const DeployedInput& column = known_[static_cast<std::size_t>(i)];
    const bool is_indicator = !column.level.empty();
    if (!is_integer(weight)) return false;
    if (!is_indicator && !has_whole_values(feature(*schema_->find(column.feature)))) return false;
  }
  return true;
}

DeployedInput Columns::input_of(const Affine& row, Index k, const Operation& reader) const {
  std::optional<Index> only;
  for (Index i = 0; i < row.weights.cols(); ++i) {
    if (row.weights(k, i) == 0) continue;
    if (only) reader.refuse("entry {} of what it reads mixes several columns", k);
    only = i;
  }
  if (!only) reader.refuse("entry {} of what it reads does not depend on the row", k);
  DeployedInput input = known_[static_cast<std::size_t>(*only)];
  input.scale = 1 / row.weights(k, *only);
  input.offset = -row.bias(k) / row.weights(k, *only);
  if (!std::isfinite(input.scale) || !std::isfinite(input.offset)) {
    reader.refuse("entry {} of what it reads is \"{}\" times {:g}, which is too small a number", k,
                  input.feature, row.weights(k, *only));
  }
  return input;
}

}  // namespace ellice::onnx

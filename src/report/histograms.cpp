#include "report/histograms.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ellice/core/json.hpp"

namespace ellice {

namespace {

constexpr std::size_t most_bins = 30;

Json of_levels(const Feature& feature, VectorArg values) {
  std::vector<std::size_t> counts(feature.levels.size());
  for (const double value : values) {
    if (value >= 0 && value < static_cast<double>(counts.size()))
      ++counts[static_cast<std::size_t>(value)];
  }
  return {{"levels", feature.levels}, {"counts", counts}};
}

Json of_numbers(VectorArg values) {
  std::vector<double> known;
  for (const double value : values) {
    if (std::isfinite(value)) known.push_back(value);
  }
  if (known.empty()) return Json();
  const auto [low, high] = std::minmax_element(known.begin(), known.end());
  const std::size_t bins = *high > *low ? most_bins : 1;
  const double width = *high > *low ? (*high - *low) / static_cast<double>(bins) : 1;
  std::vector<std::size_t> counts(bins);
  for (const double value : known) {
    const double bin = std::floor((value - *low) / width);
    ++counts[std::min(bins - 1, static_cast<std::size_t>(std::max(bin, 0.0)))];
  }
  std::vector<double> edges;
  for (std::size_t i = 0; i <= bins; ++i) edges.push_back(*low + static_cast<double>(i) * width);
  return {{"edges", edges}, {"counts", counts}};
}

}  // namespace

Json training_histograms(const Model& model, const TrainingRows& rows) {
  Json result = Json::object();
  const std::vector<Feature>& features = model.schema().features;
  for (std::size_t j = 0; j < features.size(); ++j) {
    const Vector values = rows.fitted.raw.col(static_cast<Index>(j));
    Json one = features[j].is_number() ? of_numbers(values) : of_levels(features[j], values);
    if (!one.is_null()) result[features[j].name] = std::move(one);
  }
  return result;
}

}  // namespace ellice

// A scorecard with the rows that it was made from, as a model that decides elsewhere.

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/model/deployed.hpp"
#include "model/scorecard.hpp"

namespace ellice {

namespace {

/// Whether a row of the scorecard is about a value of its feature, which is a number or a level's
/// index: read from the table itself, not from the bins that were made of it.
bool is_about(const ScorecardBin& bin, const Feature& feature, double value, Bins::Closed closed) {
  if (!feature.is_number()) return feature.levels[static_cast<std::size_t>(value)] == bin.level;
  if (bin.is_code()) return value == *bin.from;
  const bool is_left = closed == Bins::Closed::left;
  const bool is_above = !bin.from || (is_left ? value >= *bin.from : value > *bin.from);
  const bool is_below = !bin.to || (is_left ? value < *bin.to : value <= *bin.to);
  return is_above && is_below;
}

double points_of(const Scorecard& card, const Schema& schema, std::span<const double> raw) {
  double points = card.initial;
  for (const Characteristic& one : card.characteristics) {
    const std::size_t j = *schema.find(one.feature);
    const ScorecardBin* found = nullptr;
    for (const ScorecardBin& bin : one.bins) {
      if (!is_about(bin, schema.features[j], raw[j], card.closed)) continue;
      if (found == nullptr || bin.is_code()) found = &bin;  // a code stands before its interval
    }
    if (found != nullptr) points += found->points;
  }
  return points;
}

double share_of(const Dataset& data, std::size_t feature, double value) {
  const auto column = data.raw.col(static_cast<Index>(feature));
  const Feature& about = data.schema.features[feature];
  const auto rows =
      static_cast<double>(std::count_if(column.begin(), column.end(), [&](double raw) {
        return about.is_binned() ? static_cast<double>(about.bins.of(raw)) == value : raw == value;
      }));
  return std::max(1.0, rows) / static_cast<double>(data.rows());
}

/// Takes from the weights of a feature's bins, which are the last from `first` on, their mean by
/// penalty, and returns it: as part of everybody's points it changes no score and costs no penalty.
/// Points that are all above 0, as most scorecards have them, would else look far from an optimum.
double centre(std::vector<double>& weights, const std::vector<double>& penalties,
              std::size_t first) {
  double sum = 0;
  double total = 0;
  for (std::size_t k = first; k < weights.size(); ++k) {
    sum += penalties[k] * weights[k];
    total += penalties[k];
  }
  for (std::size_t k = first; k < weights.size(); ++k) weights[k] -= sum / total;
  return sum / total;
}

}  // namespace

Model model_of(const Scorecard& card, const ScoreScale& scale, const Dataset& data, double l2,
               bool store_rows) {
  require_input(scale.pdo > 0 && std::isfinite(scale.pdo) && scale.odds > 0 &&
                    std::isfinite(scale.odds) && std::isfinite(scale.score),
                "{}: pdo and odds must be numbers > 0, and the score a number", card.source);
  require_input(l2 > 0,
                "{}: l2 must be > 0: points of a feature's bins and the base points can be "
                "exchanged, and without a penalty no set of models is bounded",
                card.source);
  DeployedModel given{.source = card.source,
                      .kind = "scorecard",
                      .tool = card.tool,
                      .sha256 = card.sha256,
                      .store_rows = store_rows};
  std::vector<double> weights;
  const Schema& schema = data.schema;
  const auto add = [&](std::size_t feature, const std::string& level, double place, double points) {
    given.inputs.push_back({.feature = schema.features[feature].name, .level = level});
    given.penalties.push_back(l2 * share_of(data, feature, place));
    weights.push_back(points / scale.factor());
  };
  double bias = (card.initial - scale.score) / scale.factor() + std::log(scale.odds);
  for (const Characteristic& one : card.characteristics) {
    const std::size_t j = *schema.find(one.feature);
    const Feature& feature = schema.features[j];
    const std::size_t first = weights.size();
    for (const ScorecardBin& bin : one.bins) {
      if (!feature.is_binned()) {
        add(j, bin.level, static_cast<double>(*feature.level_index(bin.level)), bin.points);
        continue;
      }
      // Within the interval, wherever its ends belong to.
      const double inside = bin.is_code() || (bin.from && bin.to) ? (*bin.from + *bin.to) / 2
                            : bin.from                            ? *bin.from + 1
                            : bin.to                              ? *bin.to - 1
                                                                  : 0;
      std::size_t place = feature.bins.of(inside);
      if (!bin.is_code() && place >= feature.bins.intervals()) {
        // A code lies there: by the ends alone.
        Bins plain = feature.bins;
        plain.special.clear();
        place = plain.of(inside);
      }
      add(j, feature.bins.name(place), static_cast<double>(place), bin.points);
    }
    // What the scorecard does not name scores 0, and would not be moved with the others.
    const std::size_t all = feature.is_binned() ? feature.bins.count() : feature.levels.size();
    if (weights.size() - first == all) bias += centre(weights, given.penalties, first);
  }
  const Eigen::Map<const Vector> row(weights.data(), static_cast<Index>(weights.size()));
  given.layers = {{.weights = row.transpose(),
                   .bias = Vector::Constant(1, bias),
                   .activation = Activation::identity}};
  return model_of(given, data, [&](std::span<const double> raw) {
    return (points_of(card, schema, raw) - scale.score) / scale.factor() + std::log(scale.odds);
  });
}

}  // namespace ellice

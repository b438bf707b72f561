// A scorecard with the rows that it was made from, as a model that decides elsewhere.

#include <algorithm>
#include <cmath>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/deployed.hpp"
#include "ellice/model/model_file.hpp"
#include "model/coefficient_terms.hpp"
#include "model/scorecard.hpp"

namespace ellice {

namespace {

/// Whether a row of the scorecard is about a value of its feature, which is a number or a level's
/// index: read from the table itself, not from the bins that were made of it.
bool is_about(const ScorecardBin& bin, const Feature& feature, double value) {
  if (is_about_missing(bin, feature)) {
    return !feature.is_number() && feature.levels[static_cast<std::size_t>(value)] == missing_level;
  }
  if (!feature.is_number()) {
    const std::string& level = feature.levels[static_cast<std::size_t>(value)];
    if (!bin.level.empty() || level == bin.spelled) return bin.level == level || bin.level.empty();
    double number = 0;
    return !feature.level_index(bin.spelled) && parse_number(level, number) && number == bin.from;
  }
  if (!bin.from && !bin.to && !bin.level.empty()) {
    double code = 0;
    return parse_number(bin.level, code) && value == code;
  }
  if (bin.is_single()) return value == *bin.from;
  const bool is_above = !bin.from || (bin.has_from ? value >= *bin.from : value > *bin.from);
  const bool is_below = !bin.to || (bin.has_to ? value <= *bin.to : value < *bin.to);
  return is_above && is_below;
}

double points_of(const Scorecard& card, const Schema& schema, std::span<const double> raw) {
  double points = card.initial;
  for (const Characteristic& one : card.characteristics) {
    const std::size_t j = *schema.find(one.feature);
    const ScorecardBin* found = nullptr;
    for (const ScorecardBin& bin : one.bins) {
      if (!is_about(bin, schema.features[j], raw[j])) continue;
      // A code stands before the interval around it, which may be one without ends.
      const bool stands_before = bin.is_single() || !(bin.from || bin.to || bin.level.empty());
      if (found == nullptr || (stands_before && !card.first_decides)) found = &bin;
    }
    if (found != nullptr) points += found->points;
  }
  return points;
}

/// From which logit on people are accepted. Points that are written as decimals add up to decimals:
/// below the cut-off there is room for what rounding does to who has it exactly.
double threshold_of(const ScorePoints& points) {
  constexpr double decimals = 1e6;
  constexpr double room = 1e-8;
  const auto is_decimal = [](double value) {
    return std::abs(value * decimals - std::nearbyint(value * decimals)) <= 1e-3;
  };
  bool are_decimals = is_decimal(points.initial) && is_decimal(points.cut_off);
  for (const ScorePoints::Characteristic& one : points.characteristics) {
    are_decimals = are_decimals && std::all_of(one.points.begin(), one.points.end(), is_decimal);
  }
  return points.scale.logit(points.cut_off) -
         (are_decimals ? room / std::abs(points.scale.factor()) : 0);
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

}  // namespace

Model model_of(const Scorecard& card, const ScoreScale& scale, std::optional<double> cut_off,
               const Dataset& data, double l2, bool store_rows) {
  require_input(l2 > 0,
                "{}: l2 must be > 0: points of a feature's bins and the base points can be "
                "exchanged, and without a penalty no set of models is bounded",
                card.source);
  const Schema& schema = data.schema;
  ScorePoints points = points_of(card, scale, cut_off, schema);
  DeployedModel given{.source = card.source,
                      .threshold = threshold_of(points),
                      .kind = "scorecard",
                      .tool = card.tool,
                      .sha256 = card.sha256,
                      .store_rows = store_rows};
  std::vector<double> weights;
  double bias = scale.logit(points.initial);
  for (const ScorePoints::Characteristic& one : points.characteristics) {
    const Feature& feature = schema.features[one.feature];
    Vector shares(static_cast<Index>(one.points.size()));
    for (Index k = 0; k < shares.size(); ++k)
      shares(k) = share_of(data, one.feature, static_cast<double>(k));
    // Points that all entries have in common are everybody's: of all parameters with these scores
    // those have the least penalty whose mean is 0, and only those measure what can be gained.
    const Eigen::Map<const Vector> own(one.points.data(), shares.size());
    const double common = shares.dot(own) / shares.sum();
    bias += common / scale.factor();
    for (Index k = 0; k < shares.size(); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      given.inputs.push_back(
          {.feature = feature.name,
           .level = feature.is_binned() ? feature.bins.name(entry) : feature.levels[entry]});
      given.penalties.push_back(l2 * shares(k));
      weights.push_back((own(k) - common) / scale.factor());
    }
  }
  const Eigen::Map<const Vector> row(weights.data(), static_cast<Index>(weights.size()));
  given.layers = {{.weights = row.transpose(),
                   .bias = Vector::Constant(1, bias),
                   .activation = Activation::identity}};
  Model model = model_of(given, data, [&](std::span<const double> raw) {
    return scale.logit(points_of(card, schema, raw));
  });
  model.points = std::move(points);
  model.sha256 = model_sha256(model);
  return model;
}

Model model_of(const Scorecard& card, const ScoreScale& scale, std::optional<double> cut_off,
               const Coefficients& known, const Schema& schema) {
  const Schema binned = schema_of(card, schema);
  ScorePoints points = points_of(card, scale, cut_off, binned);
  for (const Feature& feature : binned.features) {
    require_input(std::any_of(points.characteristics.begin(), points.characteristics.end(),
                              [&](const ScorePoints::Characteristic& one) {
                                return binned.features[one.feature].name == feature.name;
                              }),
                  "{}: no points for \"{}\"; a feature that is not on the card is listed under "
                  "`drop` in the schema",
                  card.source, feature.name);
  }
  Coefficients given = known;
  given.source = card.source;
  given.tool = card.tool;
  given.sha256 = sha256_hex(card.sha256 + known.sha256);
  given.covariance_terms.clear();
  const MatchedTerms matched =
      match_terms(known.covariance_terms, binned, given.place_of_covariance() + ": covariance");
  double initial = points.initial;
  std::vector<double> estimates(known.covariance_terms.size());
  Index first = 0;
  for (std::size_t j = 0; j < binned.features.size(); ++j) {
    const auto one =
        std::find_if(points.characteristics.begin(), points.characteristics.end(),
                     [&](const ScorePoints::Characteristic& entry) { return entry.feature == j; });
    const auto count = static_cast<Index>(one->points.size());
    const Index width = binned.features[j].has_indicators() ? count : 1;
    // Of a binary feature one column: the level that the term does not indicate is the reference.
    for (std::size_t t = 0; t < matched.column.size(); ++t) {
      if (!matched.column[t] || *matched.column[t] < first || *matched.column[t] >= first + width)
        continue;
      const bool is_pair = !matched.reference_of[t];
      const Index own = is_pair ? (matched.is_negated[t] ? 0 : 1) : *matched.column[t] - first;
      const Index reference = is_pair ? 1 - own : *matched.reference_of[t] - first;
      estimates[t] = (one->points[static_cast<std::size_t>(own)] -
                      one->points[static_cast<std::size_t>(reference)]) /
                     scale.factor();
      if (is_pair) initial += one->points[static_cast<std::size_t>(reference)];
    }
    for (const Index reference : matched.references) {
      if (reference >= first && reference < first + width)
        initial += one->points[static_cast<std::size_t>(reference - first)];
    }
    first += width;
  }
  estimates[matched.intercept] = scale.logit(initial);
  for (std::size_t t = 0; t < estimates.size(); ++t)
    given.terms.push_back({.term = known.covariance_terms[t], .estimate = estimates[t]});
  Model model = model_of(given, binned);
  model.origin->kind = "scorecard";
  model.decision.threshold = threshold_of(points);
  model.points = std::move(points);
  model.sha256 = model_sha256(model);
  return model;
}

}  // namespace ellice

#include "model/score_points.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

// Points and parameters are written to the last digit; sums of them differ by rounding.
constexpr double agreement = 1e-7;

std::size_t entries_of(const Feature& feature) {
  return feature.is_binned() ? feature.bins.count() : feature.levels.size();
}

/// What the deciding parameters give an entry of a feature, in points, up to a constant.
double weight_of(const Model& model, const Vector& head, std::size_t feature, std::size_t entry) {
  const Encoder& encoder = model.encoder;
  const Feature& about = encoder.schema().features[feature];
  const Index first = encoder.first_column(feature);
  // A code may lie in the middle of an interval: columns by the entry itself.
  Vector columns = Vector::Zero(encoder.column_count(feature));
  if (about.has_indicators()) {
    columns(static_cast<Index>(entry)) = 1;
  } else if (about.is_binned()) {
    columns(0) = about.bins.values[entry];
  } else {
    columns = encoder.columns_of(feature, static_cast<double>(entry));
  }
  return head.segment(first, columns.size()).dot(columns);
}

const ScorePoints::Characteristic* find(const ScorePoints& card, std::size_t feature) {
  const auto found =
      std::find_if(card.characteristics.begin(), card.characteristics.end(),
                   [&](const ScorePoints::Characteristic& one) { return one.feature == feature; });
  return found == card.characteristics.end() ? nullptr : &*found;
}

void require_same(const std::string& source, const std::string& what, double found,
                  double expected) {
  require_input(
      std::abs(found - expected) <= agreement * (1 + std::abs(expected)),
      "{}: scorecard.{}: found {:.10g}, but by the parameters that decide it is {:.10g}; the file "
      "was altered",
      source, what, found, expected);
}

/// That points and parameters say the same of every row.
void check(const ScorePoints& card, const Model& model, const std::string& source) {
  const Schema& schema = model.schema();
  const Vector head = model.deployed ? model.deployed->head : model.network.head();
  const double factor = card.scale.factor();
  double sum = card.initial;
  double logit = head(head.size() - 1);
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const ScorePoints::Characteristic* const one = find(card, j);
    if (one == nullptr) {
      const Index first = model.encoder.first_column(j);
      require_input(
          head.segment(first, model.encoder.column_count(j)).isZero(0),
          "{}: scorecard.characteristics: nothing about \"{}\", which the parameters count", source,
          feature.name);
      continue;
    }
    const double first = weight_of(model, head, j, 0);
    for (std::size_t k = 1; k < one->points.size(); ++k) {
      require_same(source, fmt::format("characteristics: \"{}\": points[{}]", feature.name, k),
                   one->points[k],
                   one->points[0] + factor * (weight_of(model, head, j, k) - first));
    }
    sum += one->points[0];
    logit += first;
  }
  require_same(source, "initial", card.initial, card.initial + card.scale.points(logit) - sum);
  const double threshold = model.deployed ? model.deployed->threshold : model.decision.threshold;
  require_same(source, "cut_off", card.cut_off, card.scale.points(threshold));
}

}  // namespace

double ScoreScale::factor() const {
  return pdo / std::log(2.0);
}

double ScoreScale::logit(double points) const {
  return (points - score) / factor() + std::log(odds);
}

double ScoreScale::points(double logit) const {
  return score + factor() * (logit - std::log(odds));
}

std::size_t entry_of(const Feature& feature, const Value& value) {
  if (feature.is_binned()) return feature.bins.of(std::get<double>(value));
  const std::optional<std::size_t> level = feature.level_index(std::get<std::string>(value));
  require(level.has_value(), "feature \"{}\" has no level \"{}\"", feature.name,
          std::get<std::string>(value));
  return *level;
}

double points_of(const ScorePoints& card, const Schema& schema, std::size_t feature,
                 const Value& value) {
  const ScorePoints::Characteristic* const one = find(card, feature);
  return one == nullptr ? 0 : one->points[entry_of(schema.features[feature], value)];
}

double points_of(const ScorePoints& card, const Schema& schema, const RawRow& row) {
  double points = card.initial;
  for (const ScorePoints::Characteristic& one : card.characteristics)
    points += one.points[entry_of(schema.features[one.feature], row[one.feature])];
  return points;
}

std::string reason_of(const ScorePoints& card, const Schema& schema, std::size_t feature,
                      const Value& value) {
  const ScorePoints::Characteristic* const one = find(card, feature);
  if (one == nullptr || one->reasons.empty()) return "";
  return one->reasons[entry_of(schema.features[feature], value)];
}

double points_needed(const Model& model, double threshold) {
  const bool is_own = threshold == model.decision.threshold;
  return is_own ? model.points->cut_off : model.points->scale.points(threshold);
}

Json to_json(const ScorePoints& card, const Schema& schema) {
  Json characteristics = Json::array();
  for (const ScorePoints::Characteristic& one : card.characteristics) {
    Json entry = {{"feature", schema.features[one.feature].name}, {"points", one.points}};
    if (!one.reasons.empty()) entry["reasons"] = one.reasons;
    characteristics.push_back(std::move(entry));
  }
  return {{"pdo", card.scale.pdo},   {"score", card.scale.score},
          {"odds", card.scale.odds}, {"initial", card.initial},
          {"cut_off", card.cut_off}, {"characteristics", std::move(characteristics)}};
}

ScorePoints score_points_from_json(JsonObject object, const Model& model) {
  ScorePoints card{.scale = {.pdo = object.number("pdo"),
                             .score = object.number("score"),
                             .odds = object.number("odds")},
                   .initial = object.number("initial"),
                   .cut_off = object.number("cut_off")};
  if (card.scale.pdo == 0) object.wrong("pdo", "a number other than 0");
  if (!(card.scale.odds > 0)) object.wrong("odds", "a number > 0");
  if (!model.network.is_linear() || !model.network.has_one_output())
    object.wrong("characteristics", "none, as the model is not one linear score");
  const Schema& schema = model.schema();
  for (JsonObject entry : object.objects("characteristics")) {
    const std::optional<std::size_t> feature = schema.find(entry.string("feature"));
    if (!feature || schema.features[*feature].kind == FeatureKind::ordinal ||
        (schema.features[*feature].is_number() && !schema.features[*feature].is_binned())) {
      entry.wrong("feature", "a feature with bins or levels");
    }
    if (find(card, *feature) != nullptr) entry.wrong("feature", "each feature once");
    const auto count = static_cast<Index>(entries_of(schema.features[*feature]));
    const Vector points = entry.vector("points", count);
    ScorePoints::Characteristic one{.feature = *feature, .points = {points.begin(), points.end()}};
    if (entry.has("reasons")) {
      one.reasons = entry.strings("reasons");
      if (one.reasons.size() != one.points.size())
        entry.wrong("reasons", fmt::format("{} codes, one for each of the points", count));
    }
    entry.finish();
    card.characteristics.push_back(std::move(one));
  }
  object.finish();
  check(card, model, object.source());
  return card;
}

}  // namespace ellice

#include "ellice/model/deployed.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "model/deployed_fold.hpp"
#include "model/deployed_rounding.hpp"
#include "model/head_objective.hpp"
#include "model/row_weights.hpp"

namespace ellice {

namespace {

constexpr Index checked_rows = 1000;
constexpr double largest_difference = 1e-4;  // of the scores' size
// Of the largest bound among the rows: plans lead a little beyond them.
constexpr double room = 4;
// What rounding may have made too small of an excess.
constexpr double inflation = 1 + 1e-6;

void require_layers(const DeployedModel& given) {
  require_input(!given.layers.empty(), "{}: there are no layers", given.source);
  auto inputs = static_cast<Index>(given.inputs.size());
  for (std::size_t l = 0; l < given.layers.size(); ++l) {
    const Layer& layer = given.layers[l];
    require_input(layer.weights.cols() == inputs && layer.weights.rows() > 0 &&
                      layer.bias.size() == layer.weights.rows(),
                  "{}: layers[{}]: found {} x {} weights and {} biases, expected {} columns and as "
                  "many biases as rows",
                  given.source, l, layer.weights.rows(), layer.weights.cols(), layer.bias.size(),
                  inputs);
    require_input(layer.weights.allFinite() && layer.bias.allFinite() &&
                      layer.weights.cwiseAbs().maxCoeff() <= 1e100,
                  "{}: layers[{}]: found a weight that is no number of at most 1e100", given.source,
                  l);
    inputs = layer.weights.rows();
  }
  require_input(inputs <= 2 && given.layers.back().activation == Activation::identity,
                "{}: the last layer has {} outputs and the activation {}, expected one output, the "
                "score, or two, one for each label, and none",
                given.source, inputs, enum_name(given.layers.back().activation));
}

void require_objective(const DeployedModel& given) {
  const std::string& source = given.source;
  require_input(given.loss != LossKind::softmax,
                "{}: a model of many classes cannot be imported; fit one score per class", source);
  require_input(given.l2 >= 0 && std::isfinite(given.l2), "{}: l2 is {}, expected a number >= 0",
                source, given.l2);
  require_input(std::abs(given.threshold) <= 1e100,
                "{}: threshold is {}, expected a number of at most 1e100, a score that rows can "
                "have",
                source, given.threshold);
  const bool is_linear = given.layers.size() == 1;
  require_input(given.l1 >= 0 && std::isfinite(given.l1), "{}: l1 is {}, expected a number >= 0",
                source, given.l1);
  require_input(is_linear || given.l1 == 0,
                "{}: the network has an l1 penalty ({}); supported is one of linear models", source,
                given.l1);
  require_input(is_linear || given.penalties.empty(),
                "{}: a network has one l2 for all its weights, not penalties by input", source);
  require_input(given.penalties.empty() || given.penalties.size() == given.inputs.size(),
                "{}: {} penalties for {} inputs", source, given.penalties.size(),
                given.inputs.size());
  for (const double penalty : given.penalties) {
    require_input(penalty >= 0 && std::isfinite(penalty),
                  "{}: penalties: found {}, expected numbers >= 0", source, penalty);
  }
  require_input(!is_linear || !given.penalize_bias,
                "{}: the penalty includes the intercept (as scikit-learn's liblinear does), which "
                "is not diagonal in standardised columns; fit the model with a free intercept, or "
                "give the set of its coefficients alone",
                source);
}

bool is_reversed(const DeployedModel& given, const Dataset& data) {
  if (given.event.empty() || given.event == data.schema.target.favourable) return false;
  require_input(
      std::find(data.classes.begin(), data.classes.end(), given.event) != data.classes.end(),
      "{}: the event is \"{}\", and the classes of {} are {}", given.source, given.event,
      data.source, fmt::join(data.classes, " and "));
  return true;
}

/// The largest difference between a program's own scores and those of the folded network, after
/// which the signs agree.
double self_check(const DeployedModel& given, const Dataset& data, const Network& network,
                  const RowMatrix& encoded, const OwnScore& own, bool turned) {
  double largest = 0;
  double size = 1;
  Index worst = 0;
  const Index count = std::min(data.rows(), checked_rows);
  for (Index k = 0; k < count; ++k) {
    const Index i = k * data.rows() / count;
    const std::span<const double> raw(data.raw.row(i).data(),
                                      static_cast<std::size_t>(data.raw.cols()));
    const double theirs = (turned ? -1 : 1) * (own ? own(raw) : own_score(given, data.schema, raw));
    const double difference = std::abs(theirs - network.logit(encoded.row(i).transpose()));
    size = std::max(size, std::abs(theirs));
    if (difference > largest || std::isnan(difference)) {
      largest = std::isnan(difference) ? HUGE_VAL : difference;
      worst = i;
    }
  }
  require_input(largest <= largest_difference * size,
                "{}: row {} of {} gets another score by the program's own operators: the "
                "difference is {}, and the largest score {}; do its inputs mean what the schema "
                "says?",
                given.source, worst + 1, data.source, largest, size);
  return largest;
}

double excess_of(const Model& fitted, const StoredRows& rows, const Vector& deployed_head) {
  const RowMatrix features = fitted.network.row_features(rows.encoded);
  LabelledRows view = labelled(rows);
  view.features = &features;
  const HeadObjective objective(view, fitted.training.loss_kind, 1, penalty_of(fitted.training));
  const Vector center = fitted.network.head();
  const Vector step = deployed_head - center;
  const double by_objective = objective.value(deployed_head) - objective.value(center);
  // Of the ellipsoid, which there is none of where the objective has corners.
  const double by_curvature =
      has_corners(fitted.training) ? 0 : step.dot(fitted.curvature.hessian * step) / 2;
  return std::max({by_objective, by_curvature, 0.0}) * inflation + objective.rounding(center);
}

/// The model with the minimiser of its objective as its head. That there is none is a fact about
/// the model and its rows.
Model polished(const Model& model, const StoredRows& rows, const std::string& source) {
  try {
    return refit_model(model, rows);
  } catch (const Error& error) {
    keep_stop(error);
    fail(ErrorCode::input,
         "{}: the minimum of the model's objective on these rows, which nearly as good models are "
         "counted from, was not found: {}",
         source, error.what());
  }
}

double largest_rounding(const Model& model, const RowMatrix& encoded) {
  double largest = 0;
  for (Index i = 0; i < encoded.rows(); ++i)
    largest = std::max(largest, rounding_bound(model, encoded.row(i).transpose()));
  return largest;
}

}  // namespace

double own_score(const DeployedModel& deployed, const Schema& schema, std::span<const double> raw) {
  std::vector<double> values;
  for (const DeployedInput& input : deployed.inputs) {
    const std::optional<std::size_t> j = schema.find(input.feature);
    require(j.has_value(), "the schema has no feature \"{}\"", input.feature);
    double x = raw[*j];
    const Feature& feature = schema.features[*j];
    if (feature.is_binned()) {
      const std::size_t bin = feature.bins.of(x);
      const bool is_there = feature.bins.name(bin) == input.level;
      x = input.level.empty() ? feature.bins.values[bin] : is_there ? 1 : 0;
    } else if (!input.level.empty()) {
      x = feature.levels[static_cast<std::size_t>(x)] == input.level ? 1 : 0;
    }
    values.push_back((x - input.offset) / input.scale);
  }
  for (const Layer& layer : deployed.layers) {
    std::vector<double> next;
    for (Index k = 0; k < layer.weights.rows(); ++k) {
      double z = layer.bias(k);
      for (std::size_t i = 0; i < values.size(); ++i)
        z += layer.weights(k, static_cast<Index>(i)) * values[i];
      switch (layer.activation) {
        case Activation::relu:
          z = z > 0 ? z : 0;
          break;
        case Activation::tanh:
          z = std::tanh(z);
          break;
        case Activation::sigmoid:
          z = 1 / (1 + std::exp(-z));
          break;
        case Activation::identity:
          break;
      }
      next.push_back(z);
    }
    values = std::move(next);
  }
  return values.size() == 2 ? values[1] - values[0] : values.front();
}

Model model_of(const DeployedModel& given, const Dataset& data, const OwnScore& own) {
  require_layers(given);
  require_objective(given);
  require_input(data.schema.target.classes.empty(),
                "{}: the schema has several classes; a score tells one label from the rest",
                given.source);
  const bool turned = is_reversed(given, data);
  Model model{.encoder = Encoder::fit(data)};
  const Folded folded = fold(given, model.encoder, turned);
  StoredRows rows{.encoded = model.encoder.encode(data.raw),
                  .labels = data.labels,
                  .weights = row_weights(data, given.weights)};
  model.network = folded.network;
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(),
                    .loss_kind = given.loss,
                    .l2 = folded.penalty.l2,
                    .penalize_bias = folded.penalty.penalize_bias,
                    .penalty_factors = folded.penalty.factors,
                    .l1 = folded.penalty.l1,
                    .weights = given.weights,
                    .data_sha256 = data.sha256};
  const double difference = self_check(given, data, model.network, rows.encoded, own, turned);
  const Vector head = model.network.head();

  Model fitted = polished(model, rows, given.source);
  fitted.origin = {
      .kind = given.kind, .tool = given.tool, .sha256 = given.sha256, .self_check = difference};
  fitted.deployed = {.head = head,
                     .excess = excess_of(fitted, rows, head) + folded.excess,
                     .precision = given.precision,
                     .threshold = turned ? -given.threshold : given.threshold,
                     .offsets = folded.offsets,
                     .constant = folded.constant,
                     .sizes = folded.sizes};
  Deployed& deployed = *fitted.deployed;
  deployed.margin = room * largest_rounding(fitted, rows.encoded);
  fitted.decision.threshold = deployed.threshold + deployed.margin;
  deployed.margin = fitted.decision.threshold - deployed.threshold;  // as the file reads it
  if (given.store_rows) fitted.rows = std::move(rows);
  fitted.sha256 = model_sha256(fitted);
  return fitted;
}

}  // namespace ellice

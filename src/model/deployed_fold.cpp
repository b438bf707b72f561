#include "model/deployed_fold.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// The penalty of a parameter that the program does not have. The set allows it the size √(2ε/100),
// which widens the worst score of a row at a reference level by some thousandths.
constexpr double pinned = 100;

/// How an input enters: as `sign`·x of a column and `constant`, x being the raw number or
/// indicator.
struct Place {
  Index column = 0;
  double sign = 1;
  double constant = 0;  // 1 for an indicator of a binary feature's first level
};

/// Of two outputs their difference, which decides, and what both have together (docs/theory.md,
/// Result 57).
struct OneOutput {
  explicit OneOutput(const DeployedModel& given) : model(given) {
    Layer& last = model.layers.back();
    sizes = {.weights = last.weights.cwiseAbs().colwise().sum(),
             .bias = Vector::Constant(1, last.bias.cwiseAbs().sum())};
    if (last.bias.size() == 1) return;
    is_pair = true;
    const Matrix common = last.weights.colwise().sum();
    const double common_bias = last.bias.sum();
    last = {.weights = last.weights.row(1) - last.weights.row(0),
            .bias = last.bias.tail(1) - last.bias.head(1)};
    // The least penalty of two outputs with this difference is half of one's, and of absolute
    // values all of it.
    model.l2 /= 2;
    for (double& penalty : model.penalties) penalty /= 2;
    for (Index i = 0; i < common.cols(); ++i) {
      const double l2 =
          model.penalties.empty() ? model.l2 : model.penalties[static_cast<std::size_t>(i)];
      excess += l2 / 2 * common(0, i) * common(0, i) +
                model.l1 * (sizes.weights(0, i) - std::abs(last.weights(0, i)));
    }
    if (model.penalize_bias) excess += model.l2 / 2 * common_bias * common_bias;
  }

  DeployedModel model;
  Layer sizes = {};
  double excess = 0;  // of both penalties over the least
  bool is_pair = false;
};

class Folding {
 public:
  Folding(const OneOutput& one, const Encoder& encoder)
      : given_(&one.model), one_(&one), encoder_(&encoder), by_column_(count(encoder)) {
    const DeployedModel& given = one.model;
    for (std::size_t i = 0; i < given.inputs.size(); ++i) {
      places_.push_back(place_of(i));
      by_column_[static_cast<std::size_t>(places_.back().column)].push_back(i);
    }
    for (std::size_t j = 0; j < by_column_.size(); ++j) require_single(by_column_[j]);
  }

  Folded run(bool turned) {
    Folded result{.excess = one_->excess};
    result.network.kind = is_linear() ? NetworkKind::logistic : NetworkKind::mlp;
    result.network.layers = given_->layers;
    Layer& first = result.network.layers.front();
    fold_first(first, result);
    if (one_->is_pair) result.sizes = head_sizes(result.constant);
    if (is_linear()) {
      result.penalty = linear_penalty(first, result);
    } else {
      result.penalty = {.l2 = given_->l2, .penalize_bias = given_->penalize_bias};
    }
    if (turned) {
      Layer& head = result.network.layers.back();
      head.weights = -head.weights;
      head.bias = -head.bias;
    }
    return result;
  }

 private:
  [[nodiscard]] static std::size_t count(const Encoder& encoder) {
    return static_cast<std::size_t>(encoder.columns());
  }
  [[nodiscard]] bool is_linear() const { return given_->layers.size() == 1; }
  [[nodiscard]] const DeployedInput& input(std::size_t i) const { return given_->inputs[i]; }
  [[nodiscard]] double penalty(std::size_t i) const {
    return given_->penalties.empty() ? given_->l2 : given_->penalties[i];
  }
  [[nodiscard]] double weight(std::size_t i) const {
    return given_->layers.front().weights(0, static_cast<Index>(i));
  }

  [[nodiscard]] Place place_of(std::size_t i) const {
    const DeployedInput& in = input(i);
    const Schema& schema = encoder_->schema();
    const std::optional<std::size_t> j = schema.find(in.feature);
    if (!j) {
      std::vector<std::string> names;
      for (const Feature& feature : schema.features) names.push_back(feature.name);
      fail(ErrorCode::input, "{}: inputs[{}]: \"{}\" is no feature of the schema; {}",
           given_->source, i, in.feature, suggestion(in.feature, names));
    }
    require_input(std::isfinite(in.offset) && std::isfinite(in.scale) && in.scale != 0,
                  "{}: inputs[{}] (\"{}\"): found the offset {} and the scale {}, expected finite "
                  "numbers, the scale not 0",
                  given_->source, i, in.feature, in.offset, in.scale);
    const Feature& feature = schema.features[*j];
    const Index first = encoder_->first_column(*j);
    if (feature.is_binned()) return {.column = first + bin_of(feature, in, i)};
    const bool has_levels =
        feature.kind == FeatureKind::categorical || feature.kind == FeatureKind::binary;
    if (in.level.empty()) {
      require_input(feature.kind != FeatureKind::categorical,
                    "{}: inputs[{}]: \"{}\" is categorical: an input is one of its levels",
                    given_->source, i, in.feature);
      return {.column = first};
    }
    require_input(has_levels, "{}: inputs[{}]: \"{}\" is {} and has no inputs for levels",
                  given_->source, i, in.feature, enum_name(feature.kind));
    const std::optional<std::size_t> level = feature.level_index(in.level);
    if (!level) {
      fail(ErrorCode::input, "{}: inputs[{}]: \"{}\" is no level of \"{}\"; {}", given_->source, i,
           in.level, in.feature, suggestion(in.level, feature.levels));
    }
    if (feature.kind == FeatureKind::categorical)
      return {.column = first + static_cast<Index>(*level)};
    if (*level == 1) return {.column = first};
    return {.column = first, .sign = -1, .constant = 1};
  }

  /// The place of a bin that an input names; 0 where bins have values, and so one column.
  [[nodiscard]] Index bin_of(const Feature& feature, const DeployedInput& in, std::size_t i) const {
    const Bins& bins = feature.bins;
    require_input(in.level.empty() != bins.values.empty(),
                  "{}: inputs[{}]: \"{}\" is binned: an input is {}", given_->source, i, in.feature,
                  bins.values.empty() ? "one of its bins" : "the value of its bin");
    if (!bins.values.empty()) return 0;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < bins.count(); ++k) names.push_back(bins.name(k));
    const auto found = std::find(names.begin(), names.end(), in.level);
    require_input(found != names.end(), "{}: inputs[{}]: \"{}\" is no bin of \"{}\"; {}",
                  given_->source, i, in.level, in.feature, suggestion(in.level, names));
    return found - names.begin();
  }

  /// One input for a column, or one for each level of a binary feature.
  void require_single(const std::vector<std::size_t>& inputs) const {
    if (inputs.size() <= 1) return;
    const bool is_pair = inputs.size() == 2 && places_[inputs[0]].sign != places_[inputs[1]].sign;
    const DeployedInput& last = input(inputs.back());
    require_input(is_pair, "{}: inputs[{}] and inputs[{}] are both \"{}{}{}\"", given_->source,
                  inputs[0], inputs[1], last.feature, last.level.empty() ? "" : "=", last.level);
  }

  void fold_first(Layer& first, Folded& into) const {
    const Layer& theirs = given_->layers.front();
    const Layer sized = is_linear() ? one_->sizes : theirs;
    const Vector& mean = encoder_->mean();
    const Vector& scale = encoder_->scale();
    first.weights = Matrix::Zero(theirs.weights.rows(), encoder_->columns());
    first.bias = theirs.bias;
    into.offsets = mean.cwiseAbs();
    Vector constants = sized.bias.cwiseAbs();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      const Vector slope = theirs.weights.col(static_cast<Index>(i)) / input(i).scale;
      first.weights.col(place.column) += place.sign * scale(place.column) * slope;
      first.bias += (place.constant - input(i).offset + place.sign * mean(place.column)) * slope;
      double& offset = into.offsets(place.column);
      offset = std::max(offset, std::abs(input(i).offset));
      const bool is_direct =
          place.sign > 0 && by_column_[static_cast<std::size_t>(place.column)].size() == 1;
      const Vector size = sized.weights.col(static_cast<Index>(i)) / input(i).scale;
      if (!is_direct) constants += (1 + std::abs(input(i).offset)) * size.cwiseAbs();
    }
    constants = constants.cwiseMax(first.bias.cwiseAbs());
    require_input(first.weights.allFinite() && first.bias.allFinite() &&
                      first.weights.cwiseAbs().maxCoeff() <= 1e100 &&
                      first.bias.cwiseAbs().maxCoeff() <= 1e100,
                  "{}: in original units a weight exceeds 1e100", given_->source);
    into.constant = constants.maxCoeff();
  }

  /// What both outputs have together, over the columns of the encoder or the last hidden layer. The
  /// intercept of a linear model has what inputs subtract as well, as its `constant` does.
  [[nodiscard]] Vector head_sizes(double constant) const {
    const Layer& sizes = one_->sizes;
    Vector result = Vector::Zero((is_linear() ? encoder_->columns() : sizes.weights.cols()) + 1);
    result(result.size() - 1) = is_linear() ? constant : sizes.bias(0);
    if (!is_linear()) {
      result.head(sizes.weights.cols()) = sizes.weights.transpose();
      return result;
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Index j = places_[i].column;
      result(j) +=
          sizes.weights(0, static_cast<Index>(i)) * encoder_->scale()(j) / std::abs(input(i).scale);
    }
    return result;
  }

  /// λⱼ of each column, such that no other parameters of the program give the same scores for less.
  [[nodiscard]] Penalty linear_penalty(Layer& first, Folded& into) const {
    Vector lambda(encoder_->columns());
    for (Index j = 0; j < lambda.size(); ++j) {
      const std::vector<std::size_t>& inputs = by_column_[static_cast<std::size_t>(j)];
      double inverse = 0;  // Σ 1/(λs²) over the inputs
      double spent = 0;
      for (const std::size_t i : inputs) {
        inverse += 1 / (penalty(i) * input(i).scale * input(i).scale);
        spent += penalty(i) / 2 * weight(i) * weight(i);
      }
      const double scale = encoder_->scale()(j);
      lambda(j) = inputs.empty() ? pinned : 1 / (inverse * scale * scale);
      if (inputs.size() > 1)
        into.excess +=
            std::max(spent - lambda(j) / 2 * first.weights(0, j) * first.weights(0, j), 0.0);
    }
    if (given_->l1 == 0) fix_free_groups(first, lambda, into);
    Penalty result{.l2 = given_->l2 > 0 ? given_->l2 : lambda.maxCoeff(), .penalize_bias = false};
    if (result.l2 > 0 && (lambda.array() != result.l2).any()) result.factors = lambda / result.l2;
    if (given_->l1 > 0) result.l1 = corners(first, into);
    return result;
  }

  /// lⱼ of each column; what the program does not have has none (docs/theory.md, Result 58).
  [[nodiscard]] Vector corners(const Layer& first, Folded& into) const {
    Vector result = Vector::Zero(encoder_->columns());
    for (Index j = 0; j < result.size(); ++j) {
      const std::vector<std::size_t>& inputs = by_column_[static_cast<std::size_t>(j)];
      if (inputs.empty()) continue;
      double least = std::abs(input(inputs.front()).scale);
      double spent = 0;
      for (const std::size_t i : inputs) {
        least = std::min(least, std::abs(input(i).scale));
        spent += given_->l1 * std::abs(weight(i));
      }
      if (inputs.size() > 1) require_alike(inputs);
      result(j) = given_->l1 * least / encoder_->scale()(j);
      if (inputs.size() > 1)
        into.excess += std::max(spent - result(j) * std::abs(first.weights(0, j)), 0.0);
    }
    return result;
  }

  /// The least of both penalties together has their form if only one is there, or if both inputs of
  /// a binary feature count alike.
  void require_alike(const std::vector<std::size_t>& pair) const {
    const std::size_t one = pair[0];
    const std::size_t other = pair[1];
    const bool is_alike = penalty(one) == penalty(other) &&
                          std::abs(input(one).scale) == std::abs(input(other).scale);
    require_input(
        (penalty(one) == 0 && penalty(other) == 0) || is_alike,
        "{}: inputs[{}] and inputs[{}] are both levels of \"{}\" with other scales or l2 "
        "penalties, and there is an l1 penalty: the least of both penalties has no closed "
        "form; drop one of the two, or scale them alike",
        given_->source, one, other, input(one).feature);
  }

  /// Without a penalty the parameters of all levels of a feature and the intercept are not
  /// determined; the first level becomes the reference, which changes no score.
  void fix_free_groups(Layer& first, Vector& lambda, Folded& into) const {
    const Schema& schema = encoder_->schema();
    for (std::size_t f = 0; f < schema.features.size(); ++f) {
      if (!schema.features[f].has_indicators()) continue;
      const Index from = encoder_->first_column(f);
      const Index levels = encoder_->column_count(f);
      if (lambda.segment(from, levels).maxCoeff() > 0) continue;
      const double shift = first.weights(0, from);
      first.weights.block(0, from, 1, levels).array() -= shift;
      first.bias(0) += shift;
      into.constant += 2 * std::abs(shift);
      lambda(from) = pinned;
    }
  }

  const DeployedModel* given_;  // with one output
  const OneOutput* one_;
  const Encoder* encoder_;
  std::vector<Place> places_;
  std::vector<std::vector<std::size_t>> by_column_;
};

}  // namespace

Folded fold(const DeployedModel& given, const Encoder& encoder, bool turned) {
  const OneOutput one(given);
  return Folding(one, encoder).run(turned);
}

}  // namespace ellice

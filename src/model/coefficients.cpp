#include "ellice/model/coefficients.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/chi_square.hpp"
#include "core/infinity.hpp"
#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "model/coefficient_checks.hpp"
#include "model/coefficient_terms.hpp"

namespace ellice {

namespace {

constexpr double confidence = 0.95;
// Standard deviations beyond which no value of an immutable feature is expected.
constexpr double wide = 10;
// Files are written with this many digits at least; what differs by more was not meant to agree.
constexpr double symmetry_tolerance = 1e-6;
// What is left of a term's deviation when the others are known, as a share of it.
constexpr long double least_pivot = 1e-5L;

/// Mean and standard deviation as the covariance shows them: over the rows, weighted by p(1 − p)
/// (docs/theory.md, Result 52).
struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const LongMatrix& curvature, const MatchedTerms& matched, std::size_t term) {
  const auto i = static_cast<Index>(matched.intercept);
  const auto j = static_cast<Index>(term);
  const long double mean = curvature(i, j) / curvature(i, i);
  const long double variance = curvature(j, j) / curvature(i, i) - mean * mean;
  return {.mean = static_cast<double>(mean),
          .deviation = static_cast<double>(std::sqrt(std::max(variance, 0.0L)))};
}

ColumnStatistics of_number(const Feature& feature, const Coefficient& term, const Moments& moments,
                           const std::string& source) {
  const auto either = [](const std::optional<double>& one, const std::optional<double>& other) {
    return one ? one : other;
  };
  std::optional<double> low = either(term.min, feature.min);
  std::optional<double> high = either(term.max, feature.max);
  if (feature.immutable) {  // nobody asks how far it may go
    low = low.value_or(moments.mean - wide * moments.deviation);
    high = high.value_or(moments.mean + wide * moments.deviation);
  }
  require_input(
      low && high,
      "{}: nothing says which values \"{}\" takes: give `min` and `max` in the schema, or "
      "in columns of the coefficients' file",
      source, feature.name);
  require_input(*low <= *high, "{}: \"{}\" goes from {} to {}, expected min <= max", source,
                feature.name, *low, *high);
  const ColumnStatistics result{
      .mean = term.mean.value_or(std::clamp(moments.mean, *low, *high)),
      .scale = term.scale.value_or(moments.deviation > 0 ? moments.deviation : 1),
      .min = *low,
      .max = *high};
  require_input(result.scale > 0 && std::isfinite(result.scale),
                "{}: \"{}\": found the scale {}, expected a number > 0", source, feature.name,
                result.scale);
  require_input(result.mean >= result.min && result.mean <= result.max,
                "{}: \"{}\": found the mean {}, expected one between min and max, {} and {}",
                source, feature.name, result.mean, result.min, result.max);
  return result;
}

/// Of a number that the model sees by its bins: as if it were spread evenly within each of them,
/// the bins with the weights that the covariance shows, or all alike where it shows none.
ColumnStatistics of_bins(const Feature& feature, const std::vector<double>& weights,
                         const std::string& source) {
  const Bins& bins = feature.bins;
  const double lowest = bins.lower(0);
  const double highest = bins.upper(bins.edges.size());
  double least = std::max(lowest, feature.min.value_or(-infinity));
  double most = std::min(highest, feature.max.value_or(infinity));
  require_input(feature.immutable || (std::isfinite(least) && std::isfinite(most)),
                "{}: nothing says which values \"{}\" takes: give `min` and `max` in the schema",
                source, feature.name);
  if (least > most && feature.immutable) {  // nobody asks how far it may go
    least = lowest;
    most = highest;
  }
  if (least > most) {
    fail(ErrorCode::input, "{}: \"{}\": no number from {} to {} has a bin ({})", source,
         feature.name, number_text(feature.min.value_or(lowest)),
         number_text(feature.max.value_or(highest)), bins.range_words());
  }
  const double first = bins.edges.empty() ? 0 : bins.edges.front();
  const double last = bins.edges.empty() ? 0 : bins.edges.back();
  const double room = std::max(last - first, 1.0);
  ColumnStatistics result{.min = std::isfinite(least) ? least : std::min(first, most) - room,
                          .max = std::isfinite(most) ? most : std::max(last, least) + room};
  double total = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t k = 0; k < bins.intervals(); ++k) {
    const double low = std::clamp(bins.lower(k), result.min, result.max);
    const double high = std::clamp(bins.upper(k), result.min, result.max);
    const double weight = weights.empty() ? 1 : std::max(weights[k], 0.0);
    total += weight;
    sum += weight * (low + high) / 2;
    squares += weight * (low * low + low * high + high * high) / 3;
  }
  result.mean = total > 0 ? sum / total : (result.min + result.max) / 2;
  const double variance = total > 0 ? squares / total - result.mean * result.mean : 0;
  result.scale = variance > 0 ? std::sqrt(variance) : 1;
  return result;
}

/// The weights of a feature's bins by p(1 − p); none where bins have values.
std::vector<double> bin_weights(const LongMatrix& curvature, const MatchedTerms& matched,
                                const Feature& feature, Index first) {
  if (!feature.has_indicators()) return {};
  const auto i = static_cast<Index>(matched.intercept);
  std::vector<double> result(feature.bins.count(), -1);
  double others = 0;
  for (std::size_t t = 0; t < matched.column.size(); ++t) {
    if (!matched.column[t]) continue;
    const Index bin = *matched.column[t] - first;
    if (bin < 0 || bin >= static_cast<Index>(result.size())) continue;
    const auto weight = static_cast<double>(curvature(i, static_cast<Index>(t)) / curvature(i, i));
    result[static_cast<std::size_t>(bin)] = weight;
    others += weight;
  }
  std::replace(result.begin(), result.end(), -1.0, 1 - others);
  return result;
}

ColumnStatistics of_ordinal(const Feature& feature) {
  const auto levels = static_cast<double>(feature.levels.size());
  return {.mean = (levels - 1) / 2,
          .scale = levels > 1 ? std::sqrt((levels * levels - 1) / 12) : 1,
          .min = 0,
          .max = levels - 1};
}

Encoder encoder_of(const Coefficients& coefficients, const Schema& schema,
                   const MatchedTerms& matched, const LongMatrix& curvature) {
  require_input(schema.missing != MissingPolicy::median,
                "{}: the schema fills empty cells by medians, which without rows nobody knows; use "
                "`missing: error` or `missing: level` there",
                coefficients.source);
  std::map<std::string, ColumnStatistics> known;
  Index column = 0;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const Index first = column;
    column += !feature.has_indicators() ? Index{1}
              : feature.is_binned()     ? static_cast<Index>(feature.bins.count())
                                        : static_cast<Index>(feature.levels.size());
    if (feature.is_binned()) {
      known[feature.name] =
          of_bins(feature, bin_weights(curvature, matched, feature, first), coefficients.source);
    } else if (feature.is_number()) {
      const std::size_t term = *matched.number[j];
      known[feature.name] = of_number(feature, coefficients.terms[term],
                                      moments_of(curvature, matched, term), coefficients.source);
    } else if (feature.kind == FeatureKind::ordinal) {
      known[feature.name] = of_ordinal(feature);
    }
  }
  return Encoder::from_statistics(schema, known);
}

/// In the order of the terms, whatever it was written in.
Matrix ordered(const Coefficients& coefficients, const Schema& schema,
               const MatchedTerms& matched) {
  const Matrix& given = coefficients.covariance;
  const auto p = static_cast<Index>(coefficients.terms.size());
  require_input(given.rows() == p && given.cols() == p,
                "{}: the covariance has {} rows and {} columns, expected {} of each, one for every "
                "term",
                coefficients.place_of_covariance(), given.rows(), given.cols(), p);
  if (coefficients.covariance_terms.empty()) return given;
  const MatchedTerms other = match_terms(coefficients.covariance_terms, schema,
                                         coefficients.place_of_covariance() + ": covariance");
  std::vector<Index> place;
  for (std::size_t t = 0; t < matched.column.size(); ++t) {
    const auto found = std::find(other.column.begin(), other.column.end(), matched.column[t]);
    require_input(found != other.column.end(),
                  "{}: the covariance has nothing for \"{}\": another level is its reference",
                  coefficients.place_of_covariance(), coefficients.terms[t].term);
    place.push_back(found - other.column.begin());
  }
  return given(place, place);
}

/// The covariance, checked, and the same in both triangles.
Matrix symmetric(const Coefficients& coefficients, const Matrix& given) {
  const auto p = given.rows();
  const auto name = [&](Index i) { return coefficients.terms[static_cast<std::size_t>(i)].term; };
  for (Index i = 0; i < p; ++i) {
    require_input(given(i, i) > 0 && std::isfinite(given(i, i)),
                  "{}: the variance of \"{}\" is {}, expected a number > 0",
                  coefficients.place_of_covariance(), name(i), given(i, i));
    for (Index j = 0; j < i; ++j) {
      const double scale = std::sqrt(given(i, i) * given(j, j));
      require_input(
          std::abs(given(i, j) - given(j, i)) <= symmetry_tolerance * scale,
          "{}: the covariance of \"{}\" and \"{}\" is {} in one place and {} in the other",
          coefficients.place_of_covariance(), name(i), name(j), given(i, j), given(j, i));
      require_input(std::abs(given(i, j)) < scale,
                    "{}: the covariance of \"{}\" and \"{}\", {}, is not smaller than their "
                    "standard errors allow",
                    coefficients.place_of_covariance(), name(i), name(j), given(i, j));
    }
  }
  return (given + given.transpose()) / 2;
}

/// H of the reduced parameters: the inverse of n times their covariance, by way of correlations,
/// whose entries are all of one size.
LongMatrix inverse_of(const LongMatrix& covariance, Index rows, const std::string& source) {
  const auto p = covariance.rows();
  const LongVector deviations = covariance.diagonal().cwiseSqrt();
  LongMatrix correlations = covariance;
  for (Index i = 0; i < p; ++i) {
    for (Index j = 0; j < p; ++j) correlations(i, j) /= deviations(i) * deviations(j);
  }
  const Eigen::LLT<LongMatrix> factor(correlations);
  const bool is_definite =
      factor.info() == Eigen::Success &&
      LongMatrix(factor.matrixL()).diagonal().cwiseAbs().minCoeff() > least_pivot;
  require_input(is_definite,
                "{}: the covariance is not positive definite: either one term follows from the "
                "others, or too few digits were written",
                source);
  LongMatrix result = factor.solve(LongMatrix::Identity(p, p));
  for (Index i = 0; i < p; ++i) {
    for (Index j = 0; j < p; ++j)
      result(i, j) /= deviations(i) * deviations(j) * static_cast<long double>(rows);
  }
  return (result + result.transpose()) / 2;
}

/// What the reduced parameters, those of the terms, are in terms of all of the encoder's
/// (docs/theory.md, Result 53): a level's less the reference's, the bias plus all references'.
LongMatrix reduction(const MatchedTerms& matched, const Encoder& encoder) {
  const Index columns = encoder.columns();
  LongMatrix result = LongMatrix::Zero(static_cast<Index>(matched.column.size()), columns + 1);
  for (std::size_t t = 0; t < matched.column.size(); ++t) {
    const auto row = static_cast<Index>(t);
    if (!matched.column[t]) {
      result(row, columns) = 1;
      for (const Index reference : matched.references) result(row, reference) = 1;
      continue;
    }
    result(row, *matched.column[t]) = 1;
    if (matched.reference_of[t]) result(row, *matched.reference_of[t]) = -1;
  }
  return result;
}

/// θ = Aβ: what a coefficient is per standard deviation, around the means.
struct Standardised {
  LongMatrix change = {};  // A
  Vector head = {};        // of all of the encoder's columns, then the bias
};

Standardised standardised(const Coefficients& coefficients, const MatchedTerms& matched,
                          const Encoder& encoder, double sign) {
  const auto p = static_cast<Index>(coefficients.terms.size());
  const auto intercept = static_cast<Index>(matched.intercept);
  Standardised result{.change = LongMatrix::Zero(p, p),
                      .head = Vector::Zero(encoder.columns() + 1)};
  long double bias = 0;
  for (Index t = 0; t < p; ++t) {
    const auto at = static_cast<std::size_t>(t);
    const long double estimate = coefficients.terms[at].estimate;
    // Of the intercept 1; of a level's absence 1 − x.
    const bool is_intercept = !matched.column[at];
    const long double shift = is_intercept             ? 1
                              : matched.is_negated[at] ? 1
                                                       : encoder.mean()(*matched.column[at]);
    bias += estimate * shift;
    if (!is_intercept) {
      const long double scale =
          matched.is_negated[at] ? -1.0 : encoder.scale()(*matched.column[at]);
      result.change(t, t) = scale;
      result.head(*matched.column[at]) = sign * static_cast<double>(estimate * scale);
    }
    result.change(intercept, t) += shift;
  }
  result.head(encoder.columns()) = sign * static_cast<double>(bias);
  require_input(result.head.allFinite() && result.head.cwiseAbs().maxCoeff() < 1e100,
                "{}: a coefficient times its scale exceeds 1e100", coefficients.source);
  return result;
}

/// H of all of the encoder's parameters (docs/theory.md, Result 53).
Matrix hessian_of(const LongMatrix& reduced, const MatchedTerms& matched, const Encoder& encoder) {
  const Index columns = encoder.columns();
  const LongMatrix reduce = reduction(matched, encoder);
  LongMatrix hessian = reduce.transpose() * reduced * reduce;
  const long double size = reduced.diagonal().mean();
  for (const std::vector<Index>& levels : matched.groups) {
    LongVector free = LongVector::Zero(columns + 1);
    for (const Index column : levels) free(column) = 1;
    free(columns) = -1;
    hessian += size / free.squaredNorm() * free * free.transpose();
  }
  Matrix rounded = hessian.cast<double>();
  rounded.triangularView<Eigen::StrictlyUpper>() = rounded.transpose();
  return rounded;
}

/// Whether they speak for the other label.
bool is_reversed(const Coefficients& coefficients, const std::string& favourable) {
  const std::string& event = coefficients.event;
  if (event.empty() || event == favourable) return false;
  require_input(folded_level(event) != folded_level(favourable),
                "{}: the event \"{}\" differs from the favourable label \"{}\" in case or blanks "
                "only; write them alike",
                coefficients.source, event, favourable);
  // Of the labels 0 and 1 neither is the other one of «yes».
  const std::vector<std::string>& labels = coefficients.labels;
  require_input(
      labels.empty() || std::find(labels.begin(), labels.end(), favourable) != labels.end(),
      "{}: its labels are \"{}\", and none is \"{}\", the favourable one of the schema; "
      "give the schema the label of the file, or say by --event which label \"{}\" is",
      coefficients.source, fmt::join(labels, "\" and \""), favourable, event);
  return true;
}

}  // namespace

Model model_of(const Coefficients& coefficients, const Schema& schema) {
  const std::string& source = coefficients.source;
  require_input(coefficients.rows >= 2, "{}: {} rows, expected how many the model was fitted to",
                source, coefficients.rows);
  const auto n = static_cast<double>(coefficients.rows);
  const double loss = -coefficients.log_likelihood / n;
  require_input(loss > 0 && loss <= std::log(2) * (1 + 1e-6),
                "{}: a log-likelihood of {} over {} rows, expected a number below 0 and, as the "
                "model has an intercept, not below {}",
                source, coefficients.log_likelihood, coefficients.rows,
                number_text(-n * std::log(2)));
  require_input(schema.target.classes.empty(),
                "{}: the schema has several classes; coefficients give the log-odds of one label",
                source);
  const std::string& favourable = schema.target.favourable;
  const bool turned = is_reversed(coefficients, favourable);
  std::vector<std::string> names;
  for (const Coefficient& term : coefficients.terms) {
    names.push_back(term.term);
    require_input(std::abs(term.estimate) <= 1e100,
                  "{}: the estimate of \"{}\" is {}, expected a number of at most 1e100", source,
                  term.term, term.estimate);
  }
  const MatchedTerms matched = match_terms(names, schema, source);
  const LongMatrix given =
      symmetric(coefficients, ordered(coefficients, schema, matched)).cast<long double>();
  const LongMatrix curvature =
      inverse_of(given, coefficients.rows, coefficients.place_of_covariance());
  Model model{.encoder = encoder_of(coefficients, schema, matched, curvature)};
  const Encoder& encoder = model.encoder;
  check_curvature(curvature, loss, coefficients, matched, encoder);
  const Index columns = encoder.columns();
  const auto [change, head] = standardised(coefficients, matched, encoder, turned ? -1 : 1);
  const LongMatrix reduced = inverse_of(change * given * change.transpose(), coefficients.rows,
                                        coefficients.place_of_covariance());

  model.network.kind = NetworkKind::logistic;
  model.network.layers = {{.weights = head.head(columns).transpose(),
                           .bias = Vector::Constant(1, head(columns)),
                           .activation = Activation::identity}};
  model.decision.classes = {turned ? coefficients.event : "not " + favourable, favourable};
  model.training = {.rows = coefficients.rows,
                    .l2 = 0,
                    .loss = loss,
                    .objective = loss,
                    .data_sha256 = coefficients.sha256};
  model.curvature.hessian = hessian_of(reduced, matched, encoder);
  model.origin = {.kind = "coefficients", .tool = coefficients.tool, .sha256 = coefficients.sha256};
  const double epsilon =
      chi_square_quantile(confidence, static_cast<double>(names.size())) / (2 * n);
  model.recommended =
      Json{{"last-layer",
            {{"epsilon", epsilon}, {"rule", "confidence:95%"}, {"confidence", confidence}}}};
  model.sha256 = model_sha256(model);
  return model;
}

}  // namespace ellice

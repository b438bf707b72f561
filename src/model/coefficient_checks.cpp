#include "model/coefficient_checks.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// What files round away of a log-likelihood and a mean.
constexpr double written_tolerance = 1e-3;
// Of the curvature, by the digits of the covariance.
constexpr double identity_tolerance = 1e-5;
// Of the logits' mean square, by points that were rounded.
constexpr double logit_tolerance = 1e-2;

class Check {
 public:
  Check(const LongMatrix& curvature, const Coefficients& coefficients, const MatchedTerms& matched)
      : curvature_(&curvature), coefficients_(&coefficients), matched_(&matched) {}

  /// The mean of p(1 − p) lies within bounds that the loss sets.
  void intercept(double loss) const {
    const double bits = loss / std::log(2);
    const double least = bits * bits / 4 * (1 - written_tolerance);
    const double most = bits / 4 * (1 + written_tolerance);
    const double found = at(matched_->intercept, matched_->intercept);
    require_input(found >= least && found <= most,
                  "{}: by this covariance the loss has a curvature of {} in the intercept, and by "
                  "the log-likelihood it lies between {} and {}; is it the covariance of the "
                  "estimates (not their correlation, nor a robust one), the log-likelihood of the "
                  "same model, and were it {} rows?",
                  coefficients_->place_of_covariance(), number_text(found), number_text(least),
                  number_text(most), coefficients_->rows);
  }

  /// Σwη² of the rows' logits η, weighted by w = p(1 − p), cannot be larger than w itself allows.
  void logits() const {
    const auto p = static_cast<Index>(coefficients_->terms.size());
    Eigen::Matrix<long double, Eigen::Dynamic, 1> estimates(p);
    for (Index t = 0; t < p; ++t)
      estimates(t) = coefficients_->terms[static_cast<std::size_t>(t)].estimate;
    const double whole = at(matched_->intercept, matched_->intercept);
    const double square = static_cast<double>(estimates.dot(*curvature_ * estimates)) / whole;
    const double most = 1 / (2 + 2 * std::cosh(std::sqrt(square)));
    require_input(
        whole <= most * (1 + logit_tolerance),
        "{}: by these estimates and this covariance the rows' logits have a mean square "
        "of {} where p(1 - p) is large, and its mean, {}, could not be more than {}; do "
        "estimates and covariance name their terms alike, are both in the same units, and "
        "were it {} rows?",
        coefficients_->place_of_covariance(), number_text(square), number_text(whole),
        number_text(most), coefficients_->rows);
  }

  /// x² = x for an indicator, and of one feature two are never 1 together.
  void indicator(std::size_t term) const {
    const double own = at(term, term);
    require_input(
        std::abs(at(matched_->intercept, term) - own) <= identity_tolerance * own,
        "{}: by this covariance \"{}\" is no column of 0 and 1 (its mean is {}, that of its "
        "square {}); {}",
        coefficients_->place_of_covariance(), name(term), mean_text(at(matched_->intercept, term)),
        mean_text(own), advice);
    for (std::size_t other = 0; other < term; ++other) {
      if (!matched_->reference_of[term] ||
          matched_->reference_of[other] != matched_->reference_of[term])
        continue;
      require_input(
          std::abs(at(term, other)) <= identity_tolerance * std::sqrt(own * at(other, other)),
          "{}: by this covariance \"{}\" and \"{}\" are 1 in the same rows; {}",
          coefficients_->place_of_covariance(), name(other), name(term), advice);
    }
  }

  /// The mean of a column, and of its square, lie within its range.
  void number(std::size_t term, double min, double max) const {
    const double whole = at(matched_->intercept, matched_->intercept);
    const double mean = at(matched_->intercept, term) / whole;
    const double room = written_tolerance * (max - min);
    require_input(
        mean >= min - room && mean <= max + room,
        "{}: by this covariance \"{}\" has a mean of {}, and its range goes from {} to {}; "
        "do covariance and estimates name their terms alike, and is that the range of the "
        "rows?",
        coefficients_->place_of_covariance(), name(term), number_text(mean), number_text(min),
        number_text(max));
    const double most = std::max(min * min, max * max) * (1 + written_tolerance);
    require_input(at(term, term) / whole <= most,
                  "{}: by this covariance the mean square of \"{}\" is {}, and in its range, {} to "
                  "{}, no value has more than {}; do covariance and estimates name their terms "
                  "alike?",
                  coefficients_->place_of_covariance(), name(term),
                  number_text(at(term, term) / whole), number_text(min), number_text(max),
                  number_text(most));
  }

 private:
  static constexpr std::string_view advice =
      "is it the covariance of the estimates, not a robust one, with eight digits or more, and are "
      "levels coded as indicators (in SAS: param=ref; in R: contr.treatment)?";

  [[nodiscard]] double at(std::size_t i, std::size_t j) const {
    return static_cast<double>((*curvature_)(static_cast<Index>(i), static_cast<Index>(j)));
  }
  [[nodiscard]] const std::string& name(std::size_t term) const {
    return coefficients_->terms[term].term;
  }
  [[nodiscard]] std::string mean_text(double entry) const {
    return fmt::format("{:.6g}", entry / at(matched_->intercept, matched_->intercept));
  }

  const LongMatrix* curvature_;
  const Coefficients* coefficients_;
  const MatchedTerms* matched_;
};

}  // namespace

void check_curvature(const LongMatrix& curvature, double loss, const Coefficients& coefficients,
                     const MatchedTerms& matched, const Encoder& encoder) {
  const Check check(curvature, coefficients, matched);
  check.intercept(loss);
  for (std::size_t t = 0; t < matched.column.size(); ++t) {
    if (!matched.column[t]) continue;
    if (matched.is_indicator[t]) {
      check.indicator(t);
    } else {
      check.number(t, encoder.min()(*matched.column[t]), encoder.max()(*matched.column[t]));
    }
  }
  check.logits();
}

}  // namespace ellice

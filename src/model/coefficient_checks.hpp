#pragma once

#include <Eigen/Core>

#include "ellice/model/coefficients.hpp"
#include "model/coefficient_terms.hpp"

namespace ellice {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// Holds the curvature in the units of the terms against what every logistic regression on such
/// columns has (docs/theory.md, Result 52): Error{input} names the term that breaks it.
void check_curvature(const LongMatrix& curvature, double loss, const Coefficients& coefficients,
                     const MatchedTerms& matched, const Encoder& encoder);

}  // namespace ellice

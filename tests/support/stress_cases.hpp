#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sets/stress.hpp"
#include "support/problem_zoo.hpp"

namespace ellice::stress_cases {

using problem_zoo::Labelled;
using problem_zoo::random_rows;

/// The logit of a relu network, unit by unit.
double plain_logit(const Network& network, const Vector& x);

/// L(Θ) of the logistic loss from its definition, all biases included.
double plain_objective(const Network& network, const Labelled& rows, double l2);

LabelledRows view(const Labelled& rows);

/// Some of the rows, by the same truth.
Labelled part(const Labelled& rows, Index first, Index count);

/// A base with what it was trained on. Not copied: the source points into it.
struct Trained {
  explicit Trained(std::vector<int> hidden, Index rows = 160);
  Trained(std::vector<int> hidden, Labelled train_rows, Labelled validation_rows);
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  Labelled train, validation;
  Network base;
  StressSource source;
  double objective = 0;
};

void expect_inside(const StressSet& set, const Trained& trained);

}  // namespace ellice::stress_cases

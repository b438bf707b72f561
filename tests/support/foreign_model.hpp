#pragma once

#include <vector>

#include "core/random.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/deployed.hpp"

namespace ellice::testing_support {

/// A program of its own that fits logistic and ridge regressions, with an l1 penalty or without:
/// inputs scaled to [0, 1] or not at all, levels by indicators, plain sums in the order of the
/// rows, descent that stops early.
struct Foreign {
  enum class Levels { all, without_first };
  DeployedModel model = {};  // what it hands over
  RowMatrix inputs = {};     // of the training rows
  std::vector<int> labels = {};
  Vector weights = {};  // of the rows

  /// Its objective, with a free intercept in the last place.
  [[nodiscard]] double objective(const Vector& parameters) const;
  [[nodiscard]] Vector gradient(const Vector& parameters) const;  // without the l1 penalty
  [[nodiscard]] Vector parameters() const;
  /// Its inputs for a row in original units.
  [[nodiscard]] Vector inputs_of(const Schema& schema, const RawRow& row) const;
};

struct ForeignOptions {
  LossKind loss = LossKind::logistic;
  Foreign::Levels levels = Foreign::Levels::all;
  bool scaled = true;
  double l2 = 0.01;
  double l1 = 0;
  int steps = 200;  // of descent
  bool has_weights = false;
  Precision precision = Precision::float64;
};

[[nodiscard]] Foreign fit_foreign(const Dataset& data, const ForeignOptions& options);

/// A model of its own class on the border of {L ≤ L(θ₀) + ε}, in a direction that is drawn, or
/// towards `direction`.
[[nodiscard]] Vector at_border(const Foreign& foreign, const Vector& direction, double epsilon);

/// The score in single precision: inputs cast, scaled, multiplied and added up in one of the orders
/// that runtimes use.
enum class Order { forward, backward, pairs, lanes, fused };
[[nodiscard]] float single_score(const Foreign& foreign, const Schema& schema, const RawRow& row,
                                 Order order);

}  // namespace ellice::testing_support

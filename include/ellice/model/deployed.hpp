#pragma once

// Models that decide elsewhere, with the rows that they were fitted on: coefficients or layers as
// scikit-learn, torch and others hold them, in the coordinates of these programs. They need not be
// at the minimum of their objective (docs/theory.md, Result 56), nor compute in double precision
// (Result 57).

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ellice/core/execution.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// One number that the program feeds its first layer with: (x − offset)/scale, where x is the value
/// of a feature (an ordinal level counts as its index, a binary one as 0 or 1), or, with `level`,
/// 1 for rows with this level and 0 for others.
struct DeployedInput {
  std::string feature = {};
  std::string level = {};
  double offset = 0;
  double scale = 1;
};

struct DeployedModel {
  std::string source = "model";            // for messages
  std::vector<DeployedInput> inputs = {};  // at most one per number or level
  /// Over the inputs; one: a linear model. The last one has one output, the score, or two, of which
  /// the second speaks for the event and the larger one decides.
  std::vector<Layer> layers = {};
  std::string event = {};  // the label that a large score speaks for; empty: the favourable one
  double threshold = 0;    // of the score, from which on the event is predicted
  LossKind loss = LossKind::logistic;  // squared: regression on ±1, as RidgeClassifier
  /// λ of (λ/2)·Σw² beside the *mean* loss, in the coordinates of the inputs, biases free: of
  /// scikit-learn's LogisticRegression 1/(C·Σ weights), of RidgeClassifier and MLPClassifier
  /// alpha/Σ weights.
  double l2 = 0;
  std::vector<double> penalties = {};  // instead, of linear models: λ of each input
  /// Of linear models: l of l·Σ|w| beside these, of scikit-learn's LogisticRegression l1_ratio/(C·Σ
  /// weights). The set of nearly as good models is then the true one alone (theory.md, Result 58).
  double l1 = 0;
  bool penalize_bias = false;                // of networks alone
  std::optional<RowWeights> weights = {};    // those of the rows, as Dataset::weights holds them
  Precision precision = Precision::float64;  // in which it decides
  std::string kind = "deployed";             // see Origin
  std::string tool = {};                     // name and version of the program, for the record
  std::string sha256 = {};                   // of what was read
  bool store_rows = false;                   // keep the rows in the model file, for the true set
};

/// A score of the program itself for a row of Dataset::raw.
using OwnScore = std::function<double(std::span<const double> raw)>;

/// The model in original units, with what the sets of nearly as good models need: its centre is the
/// minimiser of the program's objective on these rows with the hidden layers fixed, and Deployed
/// says what decides. Levels without an input, and features without any, have a parameter of 0.
/// Up to 1000 rows are scored by `own` (by the layers, input for input, unless given) and by what
/// was folded; Error{input} if a difference exceeds 1e-4 of the scores' size. Throws Error{input}
/// naming the input or feature that does not fit, or why there is no such set.
[[nodiscard]] Model model_of(const DeployedModel& deployed, const Dataset& data,
                             const OwnScore& own = {});

/// Reads the JSON form of docs/import.md.
[[nodiscard]] DeployedModel parse_deployed(const std::string& text, const std::string& source);

/// What the program computes, input for input and layer for layer, in double precision.
[[nodiscard]] double own_score(const DeployedModel& deployed, const Schema& schema,
                               std::span<const double> raw);

}  // namespace ellice

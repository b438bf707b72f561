#pragma once

// Logistic regressions that statistics programs fitted, known by what these programs print:
// coefficients, their covariance, the number of rows and the log-likelihood. No row is needed, and
// so no personal data (docs/theory.md, Result 52 and Result 53).

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// A coefficient in original units. What is known of the rows' values sets the scale in which
/// distances count; where it is absent, the range of the schema does.
struct Coefficient {
  std::string term = {};
  double estimate = 0;
  std::optional<double> mean = {};
  std::optional<double> scale = {};  // standard deviation
  std::optional<double> min = {};
  std::optional<double> max = {};
};

struct Coefficients {
  std::string source = "coefficients";  // for messages
  std::vector<Coefficient> terms = {};  // the intercept among them
  Matrix covariance = {};               // of the estimates, in their order; not a robust one
  Index rows = 0;
  double log_likelihood = 0;  // of all rows
  std::string event = {};     // the label whose log-odds they give; empty: the favourable one
  std::string tool = {};      // which made them, for the record
  std::string sha256 = {};    // of what was read
};

/// Reads a CSV file with the columns `term` and `estimate`, and `mean`, `scale`, `min`, `max` where
/// it has them, and one with the covariance: a first column with the terms, and one column for each
/// of them. Programs' own names of these columns are understood (docs/import.md).
[[nodiscard]] Coefficients read_coefficients(const std::string& estimates,
                                             const std::string& covariance);

/// Reads both from one JSON file: `terms`, `estimates`, `covariance`, `rows`, `log_likelihood`, and
/// where known `mean`, `scale`, `min`, `max` (objects by term), `event`, `tool`, `covariance_type`.
[[nodiscard]] Coefficients read_coefficients(const std::string& json);

/// The model, at its optimum, with the curvature that the covariance stands for, and as its
/// recommended ε that of the 95 % confidence region. Terms are matched with the schema: a number by
/// its name, a level by its feature and its own name as the programs write them; the level without
/// a term is the reference. Throws Error{input} naming the term or the feature that does not fit.
[[nodiscard]] Model model_of(const Coefficients& coefficients, const Schema& schema);

}  // namespace ellice

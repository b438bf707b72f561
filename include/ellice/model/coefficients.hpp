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
  Matrix covariance = {};               // of the estimates, not a robust one; empty: unknown
  /// What its rows and columns are called, by the same or another program; empty: as the terms, in
  /// their order.
  std::vector<std::string> covariance_terms = {};
  std::string covariance_source = {};  // for messages, where it is another one
  Index rows = 0;                      // 0: unknown
  double log_likelihood = 0;           // of all rows; 0: unknown
  std::string event = {};  // the label whose log-odds they give; empty: the favourable one
  std::vector<std::string> labels = {};  // both of them, where the file says so
  std::string tool = {};                 // which made them, for the record
  std::string sha256 = {};               // of what was read

  [[nodiscard]] const std::string& place_of_covariance() const {
    return covariance_source.empty() ? source : covariance_source;
  }
};

/// Reads what a file holds of them (docs/import.md):
///   CSV    the columns `term` and `estimate`, and `mean`, `scale`, `min`, `max` where it has them;
///          programs' own names of these columns are understood;
///   JSON   `terms`, `estimates`, and where known `covariance`, `rows`, `log_likelihood`, `mean`,
///          `scale`, `min`, `max` (objects by term), `event`, `tool`, `covariance_type`;
///   PMML   a RegressionModel or GeneralRegressionModel of two classes with the logit link.
/// How a CSV file spells its table is found out: R's write.csv2 will do as well.
[[nodiscard]] Coefficients read_coefficients(const std::string& path);
/// The same of a text of JSON or PMML that came from `source`.
[[nodiscard]] Coefficients parse_coefficients(const std::string& text, const std::string& source);

/// Reads the covariance from a CSV file: a first column with the terms, and one column for each of
/// them.
void read_covariance(const std::string& path, Coefficients& coefficients);

/// The model, at its optimum, with the curvature that the covariance stands for, and as its
/// recommended ε that of the 95 % confidence region. Terms are matched with the schema: a number by
/// its name, a level by its feature and its own name as the programs write them; the level without
/// a term is the reference. Throws Error{input} naming the term or the feature that does not fit.
[[nodiscard]] Model model_of(const Coefficients& coefficients, const Schema& schema);

}  // namespace ellice

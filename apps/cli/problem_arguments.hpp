#pragma once

// The options that say what is asked of every query; shared by explain, frontier, epsilon and
// calibrate.

#include <optional>
#include <string>
#include <vector>

#include "ellice/explain/explain_request.hpp"
#include "row_arguments.hpp"
#include "verb.hpp"

namespace ellice::cli {

struct ProblemArguments {
  std::string set = "auto";
  std::optional<double> damping = {};
  std::vector<std::string> ensemble = {};
  Cost cost = {};
  RangePolicy range = RangePolicy::train;
  std::string threshold = {};
  std::vector<std::string> target = {};
  std::optional<double> margin = {};
  std::vector<std::string> lock = {};
  std::vector<std::string> bounds = {};
  std::vector<std::string> directions = {};
  std::vector<std::string> rules = {};
  std::vector<std::string> weights = {};
  std::string constraints = {};
  std::string horizon = {};
  std::string retrain = "same";
};

void add_problem_options(Verb& verb, ProblemArguments& arguments);

/// --set, --damping and --ensemble, for verbs that take nothing else of the above.
void add_set_options(Verb& verb, ProblemArguments& arguments);

/// --target and --margin, for verbs that answer for models with many classes.
void add_class_options(Verb& verb, ProblemArguments& arguments);

/// --retrain, for verbs that predict survival.
void add_retrain_option(Verb& verb, ProblemArguments& arguments);

/// What --epsilon says, in one place for all that take it.
inline constexpr const char* epsilon_help =
    "how far from the best a model may be: 0.01, 10% of the training objective, target:E, "
    "survival:95% of retrainings, accuracy:5% for models within five points of accuracy (needs "
    "training rows), or auto for what calibrate recommends, else survival:95%";

/// What the options ask of the model in a file; rows are read where they are named. Throws
/// Error{argument} for what cannot be understood, with an example of what can.
[[nodiscard]] ExplainRequest read_request(const std::string& model,
                                          const ProblemArguments& arguments,
                                          const RowArguments& rows, const CommonOptions& common);

/// Throws Error{input} where a constraint is for a query beyond the end of the table.
void check_query_indices(const ProblemArguments& arguments, const Constraints& constraints,
                         const std::string& queries, std::size_t rows);

}  // namespace ellice::cli

#pragma once

// The options that say what is asked of every query; shared by explain, frontier and calibrate.

#include <optional>
#include <string>
#include <vector>

#include "ellice/model/model.hpp"
#include "ellice/recourse/recourse_file.hpp"
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
  std::string constraints = {};
  std::string retrain = "same";
};

void add_problem_options(Verb& verb, ProblemArguments& arguments);

/// --set, --damping and --ensemble, for verbs that take nothing else of the above.
void add_set_options(Verb& verb, ProblemArguments& arguments);

/// --target and --margin, for verbs that answer for models with many classes.
void add_class_options(Verb& verb, ProblemArguments& arguments);

/// --retrain, for verbs that predict survival.
void add_retrain_option(Verb& verb, ProblemArguments& arguments);

/// «T» is a logit, «p=0.7» a probability. Throws Error{argument} for anything else.
[[nodiscard]] double parse_threshold(const std::string& text);

/// What --epsilon says, in one place for all that take it.
inline constexpr const char* epsilon_help =
    "how far from the best a model may be: 0.01, 10% of the training objective, target:E, "
    "survival:95% of retrainings, accuracy:5% for models within five points of accuracy (needs "
    "training rows), or auto for what calibrate recommends, else survival:95%";

/// The model of a command line, and the others of its ensemble.
struct Models {
  Model model = {};
  std::vector<Model> others = {};
};
[[nodiscard]] Models read_models(const std::string& path, const ProblemArguments& arguments);

/// The problem without its ε. Throws Error{argument} for what cannot be understood, with an example
/// of what can. The models, and the training rows where there are any, must outlive it.
[[nodiscard]] Problem make_problem(const ProblemArguments& arguments, const Models& models,
                                   const StoredRows* rows = nullptr);

/// Throws Error{argument} for a model with many classes: `purpose` is not for it.
void require_one_logit(const Model& model, const std::string& purpose);

/// Throws Error{input} where a constraint is for a query beyond the end of the table.
void check_query_indices(const ProblemArguments& arguments, const Constraints& constraints,
                         const std::string& queries, std::size_t rows);

}  // namespace ellice::cli

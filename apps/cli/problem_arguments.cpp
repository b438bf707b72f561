#include "problem_arguments.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"

namespace ellice::cli {

namespace {

struct Pair {
  std::string feature = {};
  std::string value = {};
};

/// «F=value», split at the last '=': names of features may contain one, values do not.
Pair split_pair(const std::string& flag, const std::string& text, const std::string& example) {
  const std::size_t at = text.rfind('=');
  require(at != std::string::npos && at > 0 && at + 1 < text.size(),
          "{}: found \"{}\", expected e.g. {}", flag, text, example);
  return {.feature = text.substr(0, at), .value = text.substr(at + 1)};
}

std::optional<double> parse_bound(const std::string& text, const std::string& whole) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  require(parse_number(text, value),
          "--bounds: found \"{}\" in \"{}\", expected a finite number or nothing", text, whole);
  return value;
}

}  // namespace

double parse_threshold(const std::string& text) {
  double value = 0;
  if (text.starts_with("p=")) {
    require(parse_number(text.substr(2), value) && value > 0 && value < 1,
            "--threshold: found \"{}\", expected a probability between 0 and 1, e.g. p=0.7", text);
    return std::log(value / (1 - value));
  }
  require(parse_number(text, value),
          "--threshold: found \"{}\", expected a logit such as 0.5, or a probability such as p=0.7",
          text);
  return value;
}

namespace {

/// Which classes would do, and what follows for the set and the threshold.
void set_contest(const ProblemArguments& arguments, const Model& model, Problem& problem) {
  if (model.network.outputs() == 1) {
    require(arguments.target.empty(),
            "--target {}: the model has one logit, for \"{}\"; a target class is for softmax "
            "models (train --model softmax)",
            fmt::join(arguments.target, ","), model.decision.classes[1]);
    require(!arguments.margin, "--margin is for softmax models; use --threshold {}",
            arguments.margin.value_or(0));
    return;
  }
  require(arguments.threshold.empty(),
          "--threshold {}: the model has {} classes, and the one with the largest score wins; use "
          "--margin for a lead over the others",
          arguments.threshold, model.network.outputs());
  std::vector<Index> acceptable;
  for (const std::string& name : arguments.target) {
    try {
      acceptable.push_back(find_class(model, name));
    } catch (const Error& error) {
      fail(error.code(), "--target {}: {}", name, error.what());
    }
  }
  if (acceptable.empty()) acceptable.push_back(find_class(model, model.schema().target.favourable));
  std::sort(acceptable.begin(), acceptable.end());
  problem.set.contest = make_contest(model, acceptable.front(), acceptable);
  problem.threshold = arguments.margin.value_or(0);
  require(std::isfinite(problem.threshold) && problem.threshold >= 0,
          "--margin {}: expected a number >= 0", problem.threshold);
}

}  // namespace

void require_one_logit(const Model& model, const std::string& purpose) {
  require(
      model.network.outputs() == 1,
      "{} is for models with one logit (logistic, mlp), and this one has a score for each of the "
      "classes {}",
      purpose, fmt::join(model.decision.classes, ", "));
}

void add_set_options(Verb& verb, ProblemArguments& arguments) {
  verb.add_option(
          "--set", arguments.set,
          "the models for which an answer must hold; auto is last-layer for a linear and for a "
          "softmax model, full for another network; true is every linear model, or last layer of a "
          "network, within epsilon of the optimum, and needs the training rows")
      ->one_of({"auto", "last-layer", "full", "isotropic", "ensemble", "true"})
      ->capture_default_str();
  verb.add_field("--damping", arguments.damping, greater_than(0),
                 "λ of the set full (default: the model file's); for last-layer, what replaces "
                 "the objective's l2 in H");
  verb.add_option("--ensemble", arguments.ensemble, "further model files of the set ensemble")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FILE,...");
}

void add_problem_options(Verb& verb, ProblemArguments& arguments) {
  add_set_options(verb, arguments);
  add_choice(verb, "--cost", arguments.cost.kind, "what is minimised");
  verb.add_option("--sparsity-weight", arguments.cost.sparsity_weight,
                  "adds this much per changed feature (--method exact and data)");
  verb.add_option("--lock", arguments.lock, "features that keep their values")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("F,...");
  verb.add_option("--bounds", arguments.bounds,
                  "range of a feature, e.g. income=20000:50000 or debt=:9000; may stand again")
      ->type_name("F=LO:HI")
      ->allow_extra_args(false);
  verb.add_option("--direction", arguments.directions,
                  "increase, decrease or any, e.g. debt=decrease; may stand again")
      ->type_name("F=DIRECTION")
      ->allow_extra_args(false);
  verb.add_option("--constraints", arguments.constraints,
                  "YAML file with lock, bounds, direction, also by query index")
      ->type_name("FILE");
  add_choice(verb, "--range", arguments.range,
             "keep features inside their training minimum and maximum");
  verb.add_option("--threshold", arguments.threshold,
                  "logit that counts as yes, or a probability p=0.7 (default: the model's)")
      ->type_name("T|p=P");
}

void add_class_options(Verb& verb, ProblemArguments& arguments) {
  verb.add_option("--target", arguments.target,
                  "of a softmax model: the class wanted, or several of which any will do (default: "
                  "the schema's favourable one)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("CLASS,...");
  verb.add_option("--margin", arguments.margin,
                  "of a softmax model: the lead in score that the class must have over the others")
      ->type_name("M");
}

void add_retrain_option(Verb& verb, ProblemArguments& arguments) {
  verb.add_option("--retrain", arguments.retrain,
                  "retraining for which survival is predicted: same, as many rows drawn from the "
                  "old ones, or fresh:N, N other rows")
      ->type_name("same|fresh:N")
      ->capture_default_str();
}

Models read_models(const std::string& path, const ProblemArguments& arguments) {
  Models models{.model = read_model(path)};
  for (const std::string& other : arguments.ensemble) models.others.push_back(read_model(other));
  return models;
}

Problem make_problem(const ProblemArguments& arguments, const Models& models,
                     const StoredRows* rows) {
  const Model& model = models.model;
  Problem problem{.model = &model, .threshold = model.decision.threshold, .cost = arguments.cost};
  const bool by_head = model.network.layers.size() == 1 || model.network.outputs() > 1;
  problem.set.kind = arguments.set == "auto" ? !models.others.empty() ? SetKind::ensemble
                                               : by_head              ? SetKind::last_layer
                                                                      : SetKind::full
                                             : *enum_from_name<SetKind>(arguments.set);
  problem.set.damping = arguments.damping;
  problem.set.rows = rows;
  for (const Model& other : models.others) problem.set.members.push_back(&other);
  problem.constraints.range = arguments.range;
  if (!arguments.constraints.empty())
    read_constraints(arguments.constraints, model.schema(), problem.constraints);
  auto& features = problem.constraints.features;
  for (const std::string& name : arguments.lock) features[name].locked = true;
  for (const std::string& text : arguments.bounds) {
    const Pair pair = split_pair("--bounds", text, "income=20000:50000");
    const std::size_t colon = pair.value.find(':');
    require(colon != std::string::npos,
            "--bounds: found \"{}\", expected lo:hi, e.g. income=20000:50000 or debt=:9000", text);
    features[pair.feature].min = parse_bound(pair.value.substr(0, colon), text);
    features[pair.feature].max = parse_bound(pair.value.substr(colon + 1), text);
  }
  for (const std::string& text : arguments.directions) {
    const Pair pair = split_pair("--direction", text, "debt=decrease");
    const auto direction = enum_from_name<Direction>(pair.value);
    require(direction.has_value(),
            "--direction: found \"{}\", expected increase, decrease or any, e.g. debt=decrease",
            text);
    features[pair.feature].direction = *direction;
  }
  if (!arguments.threshold.empty()) problem.threshold = parse_threshold(arguments.threshold);
  set_contest(arguments, model, problem);
  problem.retraining = parse_retraining(arguments.retrain);
  validate(problem);
  return problem;
}

void check_query_indices(const ProblemArguments& arguments, const Constraints& constraints,
                         const std::string& queries, std::size_t rows) {
  if (constraints.queries.empty()) return;
  const std::size_t last = constraints.queries.rbegin()->first;
  require_input(
      last < rows, "{}: queries.{}: {} has {} rows, which are counted from 0: the last index is {}",
      arguments.constraints, last, queries == "-" ? "standard input" : queries, rows, rows - 1);
}

}  // namespace ellice::cli

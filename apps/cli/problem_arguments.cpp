#include "problem_arguments.hpp"

#include <algorithm>
#include <map>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/model_file.hpp"
#include "feature_pair.hpp"
#include "methods/method_table.hpp"

namespace ellice::cli {

namespace {

std::optional<double> parse_bound(const std::string& text, const std::string& whole) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  require(parse_number(text, value),
          "--bounds: found \"{}\" in \"{}\", expected a finite number or nothing", text, whole);
  return value;
}

/// Takes a side of a range, which two flags must not give differently.
void give_once(std::string_view flag, const std::string& feature, std::string_view side,
               std::optional<double> value, std::optional<double>& given) {
  require(!value || !given || *value == *given,
          "{}: {} has two values for its {}, {} and {}; give one of them", flag, feature, side,
          given.value_or(0), value.value_or(0));
  if (value) given = value;
}

void add_limits(const ProblemArguments& arguments, Constraints& constraints) {
  auto& features = constraints.features;
  using Given = FeatureLimits;  // by flags, which stand over those of a file
  std::map<std::string, Given> flags;
  for (const std::string& name : arguments.lock) features[name].locked = true;
  for (const std::string& text : arguments.bounds) {
    const FeaturePair pair = split_feature_pair("--bounds", text, "income=20000:50000");
    const std::size_t colon = pair.value.find(':');
    require(colon != std::string::npos,
            "--bounds: found \"{}\", expected lo:hi, e.g. income=20000:50000 or debt=:9000", text);
    Given& given = flags[pair.feature];
    give_once("--bounds", pair.feature, "minimum", parse_bound(pair.value.substr(0, colon), text),
              given.min);
    give_once("--bounds", pair.feature, "maximum", parse_bound(pair.value.substr(colon + 1), text),
              given.max);
    features[pair.feature].min = given.min;
    features[pair.feature].max = given.max;
  }
  for (const std::string& text : arguments.directions) {
    const FeaturePair pair = split_feature_pair("--direction", text, "debt=decrease");
    const auto direction = enum_from_name<Direction>(pair.value);
    require(direction.has_value(),
            "--direction: found \"{}\", expected increase, decrease or any, e.g. debt=decrease",
            text);
    std::optional<Direction>& given = flags[pair.feature].direction;
    require(!given || *given == *direction,
            "--direction: {} is to {} and to {}; give one of the two", pair.feature,
            enum_name(given.value_or(Direction::any)), enum_name(*direction));
    given = direction;
    features[pair.feature].direction = direction;
  }
}

void add_wishes(const ProblemArguments& arguments, Constraints& constraints) {
  for (const std::string& rule : arguments.rules) constraints.rules.push_back(rule);
  std::map<std::string, std::optional<double>> flags;
  for (const std::string& text : arguments.weights) {
    const FeaturePair pair = split_feature_pair("--weight", text, "income=4");
    double weight = 0;
    require(parse_number(pair.value, weight), "--weight: found \"{}\", expected e.g. income=4",
            text);
    give_once("--weight", pair.feature, "weight", weight, flags[pair.feature]);
    constraints.weights[pair.feature] = weight;
  }
}

}  // namespace

void add_set_options(Verb& verb, ProblemArguments& arguments) {
  std::vector<std::string> names = {"auto"};
  for (const std::string_view name : EnumNames<SetKind>::names) names.emplace_back(name);
  verb.add_option(
          "--set", arguments.set,
          "the models for which an answer must hold; auto is last-layer for a linear and for a "
          "softmax model, full for another network; true is every linear model, or last layer of a "
          "network, within epsilon of the optimum, and needs the training rows")
      ->one_of(names)
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
                  fmt::format("adds this much per changed feature (--method {})",
                              methods_with(&Method::sparsity_weight)));
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
  verb.add_option("--rule", arguments.rules,
                  "a rule beside the schema's, e.g. \"debt <= 0.3 * income\"; may stand again")
      ->type_name("RULE")
      ->allow_extra_args(false);
  verb.add_option("--weight", arguments.weights,
                  "what a feature's change weighs in the cost, in place of the schema's weight, "
                  "e.g. income=4; may stand again")
      ->type_name("F=W")
      ->allow_extra_args(false);
  verb.add_option(
          "--constraints", arguments.constraints,
          "YAML file with rules, weights, and, also by query index, lock, bounds, direction")
      ->type_name("FILE");
  verb.add_option("--horizon", arguments.horizon,
                  "time that a plan may take, e.g. \"12 months\": features that are slow in the "
                  "schema change by no more than they can in it (default: no limit)")
      ->type_name("TIME");
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

namespace {

void warn_of_threshold(const std::string& text, double logit, const Console& console) {
  if (text.find('=') != std::string::npos || logit <= 0 || logit >= 1) return;
  console.warning(fmt::format(
      "--threshold {} is a logit, which is a probability of {:.0f} %; for a probability "
      "of {:.0f} % write --threshold p={}",
      text, 100 * sigmoid(logit), 100 * logit, text));
}

void warn_of_horizon(const ExplainRequest& request, const Console& console) {
  const std::vector<Feature>& features = request.model->schema().features;
  const bool is_slow = std::any_of(features.begin(), features.end(),
                                   [](const Feature& feature) { return feature.slow.has_value(); });
  if (!request.constraints.horizon || is_slow) return;
  console.warning(
      "--horizon limits nothing: no feature of the schema is slow; give those that need time a "
      "pace, as in `slow: 1 per year`");
}

}  // namespace

/// What a run allows that the schema does not.
std::vector<std::string> lifted_by(const FeatureLimits& limit, const Feature& feature) {
  std::vector<std::string> lifted;
  if (limit.direction && feature.direction != Direction::any &&
      *limit.direction != feature.direction)
    lifted.push_back(fmt::format("direction {} in place of {}", enum_name(*limit.direction),
                                 enum_name(feature.direction)));
  if (limit.min && feature.min && *limit.min < *feature.min)
    lifted.push_back(fmt::format("minimum {} in place of {}", *limit.min, *feature.min));
  if (limit.max && feature.max && *limit.max > *feature.max)
    lifted.push_back(fmt::format("maximum {} in place of {}", *limit.max, *feature.max));
  return lifted;
}

/// What a run gives for a feature that never changes.
std::vector<std::string> useless(const FeatureLimits& limit, const Feature& feature) {
  std::vector<std::string> given;
  if (!feature.immutable && !limit.locked) return given;
  if (limit.direction) given.push_back(fmt::format("direction {}", enum_name(*limit.direction)));
  if (limit.min) given.push_back(fmt::format("minimum {}", *limit.min));
  if (limit.max) given.push_back(fmt::format("maximum {}", *limit.max));
  return given;
}

/// Constraints of a run stand over the schema's (docs/reference/formats.md), which is a mistake
/// where nobody meant it.
void warn_of_lifted(const ExplainRequest& request, const Console& console) {
  const Schema& schema = request.model->schema();
  const auto warn = [&](const std::map<std::string, FeatureLimits>& limits,
                        const std::string& whose) {
    for (const auto& [name, limit] : limits) {
      const std::optional<std::size_t> index = schema.find(name);
      if (!index) continue;  // refused later, by name
      const Feature& feature = schema.features[*index];
      const std::vector<std::string> given = useless(limit, feature);
      if (!given.empty()) {
        console.warning(fmt::format(
            "{}{}: {} changes no plan, since the feature is {} and keeps its value; leave it out, "
            "or {}",
            whose, name, fmt::join(given, ", "), feature.immutable ? "immutable" : "locked",
            feature.immutable ? "take `immutable` out of the schema and train again"
                              : "do not lock it"));
      }
      const std::vector<std::string> lifted = lifted_by(limit, feature);
      if (lifted.empty()) continue;
      console.warning(fmt::format(
          "{}{}: {}, which the schema has: what is given for a run stands over it; leave it out to "
          "keep to the schema",
          whose, name, fmt::join(lifted, ", ")));
    }
  };
  warn(request.constraints.features, "");
  for (const auto& [query, limits] : request.constraints.queries)
    warn(limits, fmt::format("query {}: ", query));
}

ExplainRequest read_request(const std::string& model, const ProblemArguments& arguments,
                            const RowArguments& rows, const CommonOptions& common) {
  ExplainRequest request{.model = std::make_shared<const Model>(read_model(model))};
  request.set = enum_from_name<SetKind>(arguments.set);  // none for auto
  request.damping = arguments.damping;
  for (const std::string& other : arguments.ensemble)
    request.ensemble.push_back(std::make_shared<const Model>(read_model(other)));
  request.rows = read_rows(rows, *request.model, common.console());
  request.cost = arguments.cost;
  request.constraints.range = arguments.range;
  if (!arguments.constraints.empty())
    read_constraints(arguments.constraints, request.model->schema(), request.constraints);
  add_limits(arguments, request.constraints);
  add_wishes(arguments, request.constraints);
  if (!arguments.horizon.empty()) request.constraints.horizon = parse_horizon(arguments.horizon);
  warn_of_horizon(request, common.console());
  warn_of_lifted(request, common.console());
  if (!arguments.threshold.empty()) {
    request.threshold = parse_threshold(arguments.threshold);
    warn_of_threshold(arguments.threshold, *request.threshold, common.console());
  }
  request.target = arguments.target;
  request.margin = arguments.margin;
  request.retrain = parse_retraining(arguments.retrain);
  request.seed = common.seed;
  return request;
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

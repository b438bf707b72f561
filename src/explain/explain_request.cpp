#include "ellice/explain/explain_request.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/request/reasons.hpp"
#include "explain/owned_problem.hpp"
#include "radius/selection_effect.hpp"
#include "radius/survival_check.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

/// Which classes would do, and what follows for the set and the threshold.
void set_contest(const ExplainRequest& request, Problem& problem) {
  const Model& model = *problem.model;
  if (model.network.has_one_output()) {
    require(request.target.empty(),
            "`target: {}`: the model has one logit, for \"{}\"; a target class is for softmax "
            "models (train with `model: softmax`)",
            fmt::join(request.target, ","), model.decision.classes[1]);
    require(!request.margin, "`margin` is for softmax models; use `threshold: {}`",
            request.margin.value_or(0));
    return;
  }
  require(!request.threshold,
          "`threshold: {}`: the model has {} classes, and the one with the largest score wins; use "
          "`margin` for a lead over the others",
          request.threshold.value_or(0), model.network.outputs());
  std::vector<Index> acceptable;
  for (const std::string& name : request.target) {
    try {
      acceptable.push_back(find_class(model, name));
    } catch (const Error& error) {
      fail(error.code(), "`target: {}`: {}", name, error.what());
    }
  }
  if (acceptable.empty()) acceptable.push_back(find_class(model, model.schema().target.favourable));
  std::sort(acceptable.begin(), acceptable.end());
  problem.set.contest = make_contest(model, acceptable.front(), acceptable);
  problem.threshold = request.margin.value_or(0);
  require(std::isfinite(problem.threshold) && problem.threshold >= 0,
          "`margin: {}`: expected a number >= 0", problem.threshold);
}

std::shared_ptr<const TrainingRows> find_rows(const ExplainRequest& request) {
  require(request.model != nullptr, "`model` is missing");
  return or_stored_rows(request.rows, *request.model);
}

}  // namespace

SetKind automatic_set(const ExplainRequest& request) {
  if (!request.ensemble.empty()) return SetKind::ensemble;
  const Network& network = request.model->network;
  // A network that was imported has no curvature of its hidden layers, which the full set needs.
  const bool is_imported = request.model->deployed && !request.model->curvature.full;
  return network.is_linear() || network.outputs() > 1 || is_imported ? SetKind::last_layer
                                                                     : SetKind::full;
}

double parse_threshold(std::string_view text) {
  double value = 0;
  if (text.starts_with("p=")) {
    require(parse_number(text.substr(2), value) && value > 0 && value < 1,
            "`threshold`: found \"{}\", expected a probability between 0 and 1, e.g. p=0.7", text);
    return std::log(value / (1 - value));
  }
  require(parse_number(text, value),
          "`threshold`: found \"{}\", expected a logit such as 0.5, or a probability such as p=0.7",
          text);
  return value;
}

void require_one_logit(const Model& model, std::string_view purpose) {
  require(
      model.network.has_one_output(),
      "{} is for models with one logit (logistic, mlp), and this one has a score for each of the "
      "classes {}",
      purpose, fmt::join(model.decision.classes, ", "));
}

namespace {

/// Between what the deployed model says yes from and what it says yes from in any arithmetic
/// (theory.md, Result 57) there is no threshold to ask for.
double certified_threshold(const Model& model, const std::optional<double>& asked) {
  const double own = model.decision.threshold;
  if (!asked) return own;
  return model.deployed && *asked >= model.deployed->threshold ? std::max(*asked, own) : *asked;
}

}  // namespace

OwnedProblem::OwnedProblem(ExplainRequest request)
    : request_(std::move(request)), rows_(find_rows(request_)) {
  std::optional<Model> wished = with_wishes(*request_.model, request_.constraints);
  model_ = wished ? std::make_shared<const Model>(std::move(*wished)) : request_.model;
  problem_ = {.model = &model(),
              .threshold = certified_threshold(model(), request_.threshold),
              .cost = request_.cost,
              .constraints = request_.constraints,
              .retraining = request_.retrain};
  SetChoice& set = problem_.set;
  set.kind = request_.set.value_or(automatic_set(request_));
  set.damping = request_.damping;
  for (const auto& member : request_.ensemble) set.members.push_back(member.get());
  if (set.kind == SetKind::true_set) require_rows("`set: true`", RowsOf::model);
  if (rows_) set.rows = &rows_->fitted.rows;
  if (rows_ && rows_->are_of_model) problem_.fitted = &rows_->fitted.rows;
  set_contest(request_, problem_);
  validate(problem_);
}

void OwnedProblem::require_rows(std::string_view purpose, RowsOf needed) const {
  ellice::require_rows(rows(), model(), purpose, needed);
}

double OwnedProblem::resolve(const EpsilonRule& rule, const Execution& execution) const {
  return resolve(std::vector{rule}, execution).front();
}

std::vector<double> OwnedProblem::resolve(const std::vector<EpsilonRule>& rules,
                                          const Execution& execution) const {
  const bool asks_survival = std::any_of(rules.begin(), rules.end(), [&](const EpsilonRule& rule) {
    return rule.asked_survival(model(), problem_.set).value_or(0) > 0.5;
  });
  const std::vector<Query> declined = asks_survival ? people() : std::vector<Query>{};
  std::vector<double> epsilons;
  for (const EpsilonRule& rule : rules) {
    if (rule.needs_rows()) require_rows(fmt::format("`epsilon: {}`", rule.text), RowsOf::model);
    // Then people among the rows decide ε.
    const bool uses_rows =
        problem_.retraining.fresh_rows && rule.asked_survival(model(), problem_.set);
    if (uses_rows && rows_) require_rows(fmt::format("`epsilon: {}`", rule.text), RowsOf::model);
    epsilons.push_back(resolve_epsilon(
        rule, problem_, declined,
        {.rows = fitted().rows, .retraining = problem_.retraining, .execution = execution}));
  }
  std::sort(epsilons.begin(), epsilons.end());
  epsilons.erase(std::unique(epsilons.begin(), epsilons.end()), epsilons.end());
  return epsilons;
}

std::vector<std::string> OwnedProblem::notes() const {
  if (!rows_ || rows_->are_of_model) return {};
  return {fmt::format("{}: not the file that the model was trained on", rows_->source)};
}

std::vector<Query> OwnedProblem::people() const {
  if (!rows_ || !rows_->are_of_model || !no_survival_reason(problem_).empty()) return {};
  return declined_rows(problem_, rows_->fitted.raw, SurvivalCheckOptions{}.people);
}

const Method& supported_method(const OwnedProblem& owned) {
  const ExplainRequest& request = owned.request();
  const Model& model = owned.model();
  const Method& method = choose_method(request.method, owned.problem());
  const std::string reason = why_unsupported(method, owned.problem(), request.options);
  require(reason.empty(), "{}", reason);
  if (method.needs_rows(request.options, model))
    owned.require_rows(fmt::format("`method: {}`", method.name), RowsOf::any);
  if (request.attack) {
    require_one_logit(model, "`attack`");
    require(
        model.network.layers.size() > 1,
        "`attack` is for networks, whose sets are approximations; the answers of a linear model "
        "hold for every model of the set by proof: leave it out");
    owned.require_rows("`attack`", RowsOf::any);
  }
  require(request.reason_codes.features.empty() || Reasoner::supports(model), "`reason_codes`: {}",
          Reasoner::unsupported);
  return method;
}

std::string why_unsupported(const ExplainRequest& request) {
  try {
    const EpsilonRule rule = parse_epsilon_rule(request.epsilon);
    const OwnedProblem owned(request);
    (void)supported_method(owned);
    if (rule.needs_rows())
      owned.require_rows(fmt::format("`epsilon: {}`", rule.text), RowsOf::model);
    return {};
  } catch (const Error& error) {
    keep_stop(error);
    return error.what();
  }
}

}  // namespace ellice

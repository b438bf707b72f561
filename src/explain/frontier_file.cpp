#include "explain/frontier_file.hpp"

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

const Problem& checked(const Problem& problem) {
  require(problem.cost.sparsity_weight == 0,
          "`sparsity_weight` is understood by methods that choose among rows or levels only; leave "
          "it out");
  return problem;
}

}  // namespace

FrontierTracer::FrontierTracer(const OwnedProblem& owned, const std::vector<std::string>& epsilons,
                               const Execution& execution)
    : frontier_(checked(owned.problem()), owned.fitted().rows) {
  std::vector<EpsilonRule> rules;
  rules.reserve(epsilons.size());
  for (const std::string& text : epsilons) rules.push_back(parse_epsilon_rule(text));
  epsilons_ = owned.resolve(rules, execution);
}

std::vector<FrontierCurve> FrontierTracer::trace(const std::vector<Query>& queries,
                                                 const Execution& execution) const {
  std::vector<FrontierCurve> curves(queries.size());
  std::vector<char> finished(queries.size(), 0);  // not bool: threads write beside each other
  parallel_for_results("tracing", queries.size(), execution, [&](std::size_t i) {
    curves[i] = frontier_.trace(queries[i], epsilons_);
    finished[i] = 1;
  });
  std::vector<FrontierCurve> result;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (finished[i] != 0) result.push_back(std::move(curves[i]));
  }
  return result;
}

Json to_json(const FrontierCurve& curve) {
  Json points = Json::array();
  for (const FrontierPoint& point : curve.points) {
    Json json = {{"epsilon", point.epsilon}, {"feasible", point.feasible}};
    if (point.feasible) {
      json["distance"] = point.distance;
      json["cost"] = point.cost;
    }
    points.push_back(json);
  }
  Json json = {{"query_index", curve.query_index}};
  if (curve.max_epsilon) {
    json["max_epsilon"] = *curve.max_epsilon;
    json["max_epsilon_is_proved"] = curve.is_max_proved;
  }
  json["points"] = points;
  return json;
}

Json frontier_document(const Problem& problem, const std::vector<double>& epsilons) {
  Json document = make_envelope("ellice.frontier", 1);
  document["model_sha256"] = problem.model->sha256;
  document["set"] = std::string(enum_name(problem.set.kind));
  document["cost"] = std::string(enum_name(problem.cost.kind));
  document["options"] = to_json(problem.constraints);
  document["options"]["threshold"] = problem.threshold;
  document["epsilons"] = epsilons;
  document["results"] = Json::array();
  return document;
}

}  // namespace ellice

#include "report/asked.hpp"

#include <fmt/format.h>

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "report/display.hpp"

namespace ellice {

namespace {

std::string limits_text(const FeatureLimits& limits) {
  std::vector<std::string> parts;
  if (limits.locked) parts.emplace_back("stays as it is");
  if (limits.min) parts.push_back("at least " + display_number(*limits.min));
  if (limits.max) parts.push_back("at most " + display_number(*limits.max));
  if (limits.direction) {
    parts.emplace_back(*limits.direction == Direction::any        ? "may rise and fall"
                       : *limits.direction == Direction::increase ? "may only increase"
                                                                  : "may only decrease");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string limits_text(const std::map<std::string, FeatureLimits>& features,
                        const Schema& schema) {
  std::string text;
  for (const auto& [name, limits] : features) {
    const std::string what = limits_text(limits);
    if (what.empty()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", title_of(schema, name), what);
  }
  return text;
}

std::string rules_text(const Schema& schema) {
  std::string text;
  for (const Rule& rule : schema.constraints) text += (text.empty() ? "" : "; ") + rule.text;
  for (const Implication& rule : schema.implications)
    text += (text.empty() ? "" : "; ") + rule.text;
  return text;
}

/// Of nested objects each entry, by its path.
void flatten(const Json& json, const std::string& path, AskedLines& lines) {
  if (!json.is_object()) {
    lines.emplace_back(path, json.is_string() ? json.get<std::string>() : compact_text(json));
    return;
  }
  for (const auto& [key, value] : json.items())
    flatten(value, path.empty() ? key : path + "." + key, lines);
}

}  // namespace

AskedLines asked_in_words(const Request& request) {
  const Problem& problem = request.problem;
  const Constraints& constraints = problem.constraints;
  const Schema& schema = problem.model->schema();
  AskedLines lines;
  const auto line = [&](std::string name, std::string value) {
    if (!value.empty()) lines.emplace_back(std::move(name), std::move(value));
  };
  line("Method", request.method);
  if (request.declined) line("Whom", "only those whom the trained model declines");
  line("Ranges", constraints.range == RangePolicy::train
                     ? "no value beyond those seen in training"
                     : "values beyond those seen in training are allowed");
  line("Constraints of this run", limits_text(constraints.features, schema));
  std::string own;
  for (const auto& [index, features] : constraints.queries) {
    const std::string what = limits_text(features, schema);
    if (!what.empty()) own += fmt::format("{}query {}: {}", own.empty() ? "" : " · ", index, what);
  }
  line("Constraints of single people", own);
  if (constraints.horizon) line("Horizon", to_text(*constraints.horizon));
  line(constraints.rules.empty() ? "Rules of the schema" : "Rules of the schema and of this run",
       rules_text(schema));
  std::string weights;
  for (const auto& [name, weight] : constraints.weights)
    weights += fmt::format("{}{}: {}", weights.empty() ? "" : "; ", title_of(schema, name),
                           number_text(weight));
  line("Weights of this run", weights);
  if (request.reference) line("Reasons compared with", describe(*request.reference));
  std::vector<std::string> others;
  for (const Model* member : problem.set.members) others.push_back(member->sha256);
  line("Other models of the ensemble", fmt::format("{}", fmt::join(others, ", ")));
  line("Training data (SHA-256)", problem.model->training.data_sha256);
  line("Program",
       fmt::format("ellice {} ({}), {}", version().number, version().commit, version().packages));
  return lines;
}

AskedLines asked_options(const Request& request) {
  Json json = to_json(request);
  for (const char* told : {"format", "version", "not_stated", "reasons"}) json.erase(told);
  AskedLines lines;
  flatten(json, "", lines);
  return lines;
}

}  // namespace ellice

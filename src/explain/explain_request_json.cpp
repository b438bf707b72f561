#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/explain/explain_request.hpp"
#include "explain/owned_problem.hpp"
#include "request/recourse_file.hpp"

namespace ellice {

namespace {

/// A rule, a number, or what files hold: {"value", "rule"}.
std::string read_epsilon(JsonObject& top) {
  const Json& value = top.at("epsilon");
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return number_text(value.get<double>());
  JsonObject object = top.object("epsilon");
  if (object.has("value")) (void)object.number("value");
  return object.string("rule");
}

void check_ensemble(JsonObject& options,
                    const std::vector<std::shared_ptr<const Model>>& ensemble) {
  const std::vector<std::string> named =
      options.has("ensemble") ? options.strings("ensemble") : std::vector<std::string>{};
  bool same = named.size() == ensemble.size();
  for (std::size_t k = 0; same && k < named.size(); ++k)
    same = ensemble[k] != nullptr && named[k] == ensemble[k]->sha256;
  if (!same && !named.empty()) {
    options.wrong("ensemble", fmt::format("the hashes of the {} further models that are given",
                                          ensemble.size()));
  }
}

Retraining read_retraining(JsonObject& options) {
  try {
    return parse_retraining(options.string("retrain"));
  } catch (const Error&) {
    options.wrong("retrain", "same or fresh:N with N >= 1");
  }
}

/// What answers are asked for; whatever is not named keeps its default.
void read_options(JsonObject& options, ExplainRequest& request) {
  const bool is_contest = request.model->network.outputs() > 1;
  if (options.has("threshold"))
    (is_contest ? request.margin : request.threshold) = options.number("threshold");
  if (options.has("sparsity_weight"))
    request.cost.sparsity_weight = options.number("sparsity_weight");
  if (options.has("damping")) request.damping = options.number("damping");
  if (is_contest && options.has("target")) request.target = options.strings("target");
  if (options.has("retrain")) request.retrain = read_retraining(options);
  if (options.has("declined")) request.declined = options.boolean("declined");
  check_ensemble(options, request.ensemble);
  request.constraints = constraints_from_json(options, RangePolicy::train);
  for (const Method& method : methods()) {
    if (request.method == method.name || (request.method == automatic_method && method.automatic))
      method.from_json(options, request.options);
  }
  if (options.has("used")) (void)options.at("used");  // follows from the rest
  options.finish();
}

}  // namespace

Json to_json(const ExplainRequest& request) {
  const OwnedProblem owned(request);
  const Method& method = choose_method(request.method, owned.problem());
  MethodOptions options = request.options;
  options.set_seed(request.seed);
  Json result = to_json(Request{.problem = owned.problem(),
                                .rule = {.text = request.epsilon},
                                .method = request.method,
                                .seed = request.seed,
                                .declined = request.declined,
                                .method_options = method.to_json(options)});
  result["epsilon"].erase("value");
  if (!request.set) result["set"] = std::string(automatic_method);
  result.erase("not_stated");
  return result;
}

ExplainRequest explain_request_from_json(const Json& file, const std::string& source,
                                         std::shared_ptr<const Model> model,
                                         std::vector<std::shared_ptr<const Model>> ensemble,
                                         std::shared_ptr<const TrainingRows> rows) {
  require(model != nullptr, "`model` is missing");
  JsonObject top(file, source);
  (void)top.envelope(recourse_format, 1);
  if (top.has("model_sha256") && top.string("model_sha256") != model->sha256)
    top.wrong("model_sha256", fmt::format("that of the model, {}", model->sha256));
  ExplainRequest request{.model = std::move(model), .epsilon = read_epsilon(top)};
  request.ensemble = std::move(ensemble);
  request.rows = std::move(rows);
  if (top.has("set") && top.string("set") != automatic_method)
    request.set = top.choice<SetKind>("set");
  if (top.has("cost")) request.cost.kind = top.choice<CostKind>("cost");
  if (top.has("method")) request.method = top.string("method");
  if (top.has("seed")) request.seed = top.seed("seed");
  if (top.has("options")) {
    JsonObject options = top.object("options");
    read_options(options, request);
  }
  request.options.set_seed(request.seed);
  request.reasons = top.has("reasons");
  // What follows from the rest, and answers.
  for (const char* key :
       {"not_stated", "reasons", "results", "explained", "interrupted", "sha256"}) {
    if (top.has(key)) (void)top.at(key);
  }
  top.finish();
  return request;
}

}  // namespace ellice

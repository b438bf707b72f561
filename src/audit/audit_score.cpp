#include "audit/audit_score.hpp"

#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "model/deciding.hpp"

namespace ellice::audit {

namespace {

// Points of a model file agree with its parameters to that much, relatively.
constexpr double agreement = 1e-6;

bool is_same(double stated, double recomputed) {
  return std::abs(stated - recomputed) <= agreement * (1 + std::abs(recomputed));
}

double score_of(const Model& model, const RawRow& row) {
  return model.points->scale.points(deciding_logit(model, model.encoder.encode(row)));
}

}  // namespace

void check_score(const Model& model, double threshold, const RawRow& query, JsonObject& answer,
                 std::vector<std::string>& failures) {
  if (!model.points) return;
  if (!answer.has("score")) {
    failures.emplace_back("score is missing");
    return;
  }
  JsonObject score = answer.object("score");
  const auto compare = [&](const char* name, double recomputed) {
    const double stated = score.number(name);
    if (!is_same(stated, recomputed))
      failures.push_back(fmt::format("score.{} is {}, recomputed {}", name, stated, recomputed));
  };
  compare("now", score_of(model, query));
  // What decides has its own threshold; the model's is above it by the rounding of whoever decides.
  const bool is_own = model.deployed && threshold == model.decision.threshold;
  compare("needed", model.points->scale.points(is_own ? model.deployed->threshold : threshold));
  if (answer.has("counterfactual")) {
    compare("after", score_of(model, row_from_json(model.schema(), answer.at("counterfactual"),
                                                   answer.source(), "counterfactual")));
  }
  const bool is_turned = score.has("less_is_better") && score.boolean("less_is_better");
  if (is_turned != (model.points->scale.pdo < 0))
    failures.emplace_back("score.less_is_better is not what the scorecard says");
  score.finish();
}

void check_points(const Model& model, const RawRow& query, const Value& to, std::size_t feature,
                  JsonObject& change, std::vector<std::string>& failures) {
  if (!model.points) return;
  RawRow alone = query;
  alone[feature] = to;
  const double gained = score_of(model, alone) - score_of(model, query);
  const double size = std::abs(score_of(model, query));
  const bool is_stated = change.has("points");
  if (is_stated && std::abs(change.number("points") - gained) <= agreement * (1 + size)) return;
  failures.push_back(fmt::format(
      "changes: {}: points are {}, recomputed {}", model.schema().features[feature].name,
      is_stated ? fmt::format("{}", change.number("points")) : "missing", gained));
}

}  // namespace ellice::audit

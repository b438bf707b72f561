#include "explain/calibration_file.hpp"

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

Json level_json(const CalibrationLevel& level) {
  Json accepted = Json::object();
  for (const auto& [kind, count] : level.accepted) accepted[std::string(enum_name(kind))] = count;
  return {{"epsilon", level.epsilon},
          {"answered", level.answered},
          {"survived", level.survived},
          {"accepted", accepted},
          {"deviations_hold", level.deviations_hold},
          {"median_distance", level.median_distance}};
}

Json stress_json(const StressSet& set) {
  Json objectives = Json::array();
  for (const StressModel& model : set.models) objectives.push_back(model.objective);
  return {{"kind", std::string(enum_name(set.kind))},
          {"models", set.models.size()},
          {"tried", set.tried},
          {"bound", set.bound},
          {"objectives", objectives}};
}

}  // namespace

bool has_other_people(const OwnedProblem& owned) {
  return owned.rows() != nullptr && !owned.rows()->validation.rows.labels.empty();
}

Calibration calibrate(const OwnedProblem& owned, const CalibrationOptions& options,
                      const Execution& execution) {
  validate(options, "options");
  require_one_logit(owned.model(), "calibrate");
  require(owned.problem().set.kind != SetKind::true_set,
          "`set: true`: calibrate works with the sets last-layer, full, isotropic and ensemble");
  owned.require_rows("calibrate", RowsOf::any);
  const TrainingRows& rows = *owned.rows();
  const bool others = has_other_people(owned);
  return calibrate(owned.problem(),
                   {.fitted = &rows.fitted.rows,
                    .validation = others ? &rows.validation.rows : nullptr,
                    .people = others ? rows.validation.raw : rows.fitted.raw},
                   options, Random(owned.request().seed), execution);
}

Json to_json(const Calibration& calibration, const CalibrationOptions& options,
             const OwnedProblem& owned) {
  const Problem& problem = owned.problem();
  Json document = make_envelope("ellice.calibration", 1);
  document["model_sha256"] = problem.model->sha256;
  document["set"] = std::string(enum_name(problem.set.kind));
  document["options"] = fields_to_json(options);
  document["seed"] = owned.request().seed;
  document["people"] = {{"explained", calibration.people},
                        {"unreachable", calibration.unreachable}};
  if (calibration.recommended) {
    document["recommended"] = recommendation(calibration, problem, options);
    document["result"] = level_json(*calibration.recommended);
  }
  document["levels"] = Json::array();
  for (const CalibrationLevel& level : calibration.levels)
    document["levels"].push_back(level_json(level));
  document["stress"] = Json::array();
  for (const StressSet& set : calibration.stress) document["stress"].push_back(stress_json(set));
  return document;
}

Model with_recommendation(const Calibration& calibration, const CalibrationOptions& options,
                          const OwnedProblem& owned) {
  Model model = owned.model();
  if (!model.recommended) model.recommended.emplace();
  const std::string set(enum_name(owned.problem().set.kind));
  (**model.recommended)[set] = recommendation(calibration, owned.problem(), options);
  return model;
}

}  // namespace ellice

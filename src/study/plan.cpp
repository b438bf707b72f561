#include "study/plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/number_text.hpp"
#include "core/sha256.hpp"
#include "data/yaml_entry.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

namespace {

constexpr std::size_t largest_grid = 10000;

std::string known_name(const YamlEntry& entry, std::string_view what,
                       const std::vector<std::string>& known) {
  std::string name = entry.filled_text(what);
  if (std::find(known.begin(), known.end(), name) == known.end())
    entry.fault("unknown {} \"{}\"; {}", what, name, suggestion(name, known));
  return name;
}

std::vector<std::string> known_names(const YamlEntry& entry, std::string_view what,
                                     const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (const YamlEntry& item : entry.list(fmt::format("a list, each a {}", what))) {
    std::string name = known_name(item, what, known);
    if (std::find(names.begin(), names.end(), name) != names.end())
      item.fault("{} \"{}\" stands twice", what, name);
    names.push_back(std::move(name));
  }
  if (names.empty()) entry.wrong(fmt::format("at least one {}", what));
  return names;
}

std::vector<StudyModel> models_of(const YamlEntry& entry) {
  std::vector<StudyModel> models;
  for (const YamlEntry& item : entry.list("a list of linear, mlp"))
    models.push_back(item.choice<StudyModel>());
  if (models.empty()) entry.wrong("at least one of linear, mlp");
  return models;
}

int whole(const YamlEntry& entry, int least) {
  const std::string expected = fmt::format("a whole number from {}", least);
  const double value = entry.number(expected);
  if (value != std::floor(value) || value < least || value > 1e9) entry.wrong(expected);
  return static_cast<int>(value);
}

/// A list of values, or {from, step, last}.
std::vector<std::string> grid_of(const YamlEntry& entry) {
  std::vector<std::string> values;
  if (entry.is_list()) {
    for (const YamlEntry& item : entry.list("a list of values"))
      values.push_back(item.filled_text("a value"));
  } else {
    const YamlRecord range(entry, {"from", "step", "last"}, "a list, or from, step and last");
    const double from = range.at("from", "a number").number();
    const YamlEntry& step_entry = range.at("step", "a number > 0");
    const double step = step_entry.number();
    const double last = range.at("last", "a number").number();
    if (!(step > 0)) step_entry.wrong("a number > 0");
    if ((last - from) / step > static_cast<double>(largest_grid))
      entry.fault("more than {} values", largest_grid);
    for (int i = 0;; ++i) {
      // Ten decimals, so that 0.2 + 2 * 0.2 is written 0.6.
      const double value = std::round((from + i * step) * 1e10) / 1e10;
      if (value > last + 1e-9 * step) break;
      values.push_back(number_text(value));
    }
  }
  if (values.empty()) entry.fault("the grid is empty; expected at least one value");
  return values;
}

StudyMethod method_of(const std::string& name, const YamlEntry& entry, const StudyNames& known,
                      const std::vector<std::string>& datasets) {
  const YamlRecord record(entry, {"method", "options", "models", "grid", "grids"}, "a method");
  StudyMethod method{.name = name};
  method.method = known_name(record.at("method", "a method of explain"), "method", known.methods);
  if (const YamlEntry* options = record.find("options")) {
    for (const auto& [key, value] : options->members("a map from option to value")) {
      if (std::find(known.options.begin(), known.options.end(), key) == known.options.end())
        value.fault("unknown option \"{}\"; {}", key, suggestion(key, known.options));
      method.options[key] = value.filled_text("a value");
    }
  }
  if (const YamlEntry* models = record.find("models")) method.models = models_of(*models);
  const YamlEntry* grid = record.find("grid");
  const YamlEntry* grids = record.find("grids");
  if ((grid == nullptr) == (grids == nullptr)) entry.fault("expected either `grid` or `grids`");
  if (grid != nullptr) {
    method.grids.push_back({.values = grid_of(*grid)});
    return method;
  }
  for (const YamlEntry& item : grids->list("a list of grids")) {
    const YamlRecord part(item, {"datasets", "models", "values"}, "a grid");
    StudyMethod::Grid one{.values = grid_of(part.at("values", "a list, or from, step and last"))};
    if (const YamlEntry* names = part.find("datasets"))
      one.datasets = known_names(*names, "data set", datasets);
    if (const YamlEntry* models = part.find("models")) one.models = models_of(*models);
    method.grids.push_back(std::move(one));
  }
  if (method.grids.empty()) grids->fault("the grid is empty; expected at least one");
  return method;
}

StudyExperiment experiment_of(StudyMode mode, const YamlEntry& entry, const StudyNames& known) {
  const YamlRecord record(entry, {"datasets", "models", "methods"}, "an experiment");
  StudyExperiment experiment{.mode = mode};
  experiment.datasets =
      known_names(record.at("datasets", "a list of data sets"), "data set", known.datasets);
  experiment.models = models_of(record.at("models", "a list of linear, mlp"));
  const YamlEntry& methods = record.at("methods", "a map from name to method");
  for (const auto& [name, method] : methods.members("a map from name to method"))
    experiment.methods.push_back(method_of(name, method, known, experiment.datasets));
  if (experiment.methods.empty()) methods.wrong("at least one method");
  return experiment;
}

/// A number of models, or {all: a number, and others by data set}.
StudyEvaluator evaluator_of(const std::string& name, const YamlEntry& entry,
                            const StudyNames& known) {
  StudyEvaluator evaluator{.name = name};
  if (!entry.is_map()) {
    evaluator.models = whole(entry, 1);
    return evaluator;
  }
  for (const auto& [key, models] : entry.members("a number, or a map from data set to number")) {
    if (key == "all") {
      evaluator.models = whole(models, 1);
    } else if (std::find(known.datasets.begin(), known.datasets.end(), key) ==
               known.datasets.end()) {
      models.fault("unknown data set \"{}\"; {}", key, suggestion(key, known.datasets));
    } else {
      evaluator.exceptions[key] = whole(models, 1);
    }
  }
  if (evaluator.models == 0) entry.fault("expected `all: N`, the models of the other data sets");
  return evaluator;
}

void read_folds(const YamlEntry& entry, StudyPlan& plan) {
  const YamlRecord record(entry, {"count", "run"}, "folds");
  plan.folds = whole(record.at("count", "a whole number from 2"), 2);
  if (const YamlEntry* run = record.find("run")) {
    for (const YamlEntry& item : run->list("a list of folds")) {
      const int fold = whole(item, 1);
      if (fold > plan.folds) item.fault("there is no fold {} of {}", fold, plan.folds);
      if (std::find(plan.run_folds.begin(), plan.run_folds.end(), fold) != plan.run_folds.end())
        item.fault("fold {} stands twice", fold);
      plan.run_folds.push_back(fold);
    }
    if (plan.run_folds.empty()) run->wrong("at least one fold");
  }
}

void require_units(const StudyPlan& plan, const YamlEntry& place) {
  for (const StudyExperiment& experiment : plan.experiments) {
    const auto& models = experiment.models;
    if (std::find(models.begin(), models.end(), StudyModel::mlp) == models.end()) continue;
    for (const std::string& dataset : experiment.datasets) {
      if (!plan.hidden.contains(dataset)) {
        place.fault("networks on {} are asked for, but \"hidden\" says nothing of their units",
                    dataset);
      }
    }
  }
}

/// Everything that decides a result, for telling two plans apart.
Json identity(const StudyPlan& plan) {
  Json json = {{"variant", std::string(enum_name(plan.variant))},
               {"seed", plan.seed},
               {"shift", plan.shift},
               {"folds", plan.folds},
               {"run", plan.run_folds},
               {"time_limit", plan.time_limit},
               {"targets", plan.targets},
               {"hidden", plan.hidden}};
  json["tuning_rows"] = plan.tuning_rows ? Json(*plan.tuning_rows) : Json();
  json["test_rows"] = plan.test_rows ? Json(*plan.test_rows) : Json();
  for (const StudyEvaluator& evaluator : plan.evaluators) {
    json["evaluators"][evaluator.name] = evaluator.models;
    if (!evaluator.exceptions.empty()) json["exceptions"][evaluator.name] = evaluator.exceptions;
  }
  const auto names = [](const std::vector<StudyModel>& models) {
    Json list = Json::array();
    for (const StudyModel model : models) list.push_back(std::string(enum_name(model)));
    return list;
  };
  for (const StudyExperiment& experiment : plan.experiments) {
    Json methods = Json::array();
    for (const StudyMethod& method : experiment.methods) {
      Json grids = Json::array();
      for (const StudyMethod::Grid& grid : method.grids) {
        grids.push_back(
            {{"datasets", grid.datasets}, {"models", names(grid.models)}, {"values", grid.values}});
      }
      methods.push_back({{"name", method.name},
                         {"method", method.method},
                         {"options", method.options},
                         {"models", names(method.models)},
                         {"grids", std::move(grids)}});
    }
    json["experiments"].push_back({{"mode", std::string(enum_name(experiment.mode))},
                                   {"datasets", experiment.datasets},
                                   {"models", names(experiment.models)},
                                   {"methods", std::move(methods)}});
  }
  return json;
}

}  // namespace

int StudyEvaluator::wanted(const std::string& dataset) const {
  const auto exception = exceptions.find(dataset);
  return exception == exceptions.end() ? models : exception->second;
}

bool StudyMethod::runs_on(StudyModel model) const {
  return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

std::vector<std::string> StudyMethod::values(const std::string& dataset, StudyModel model) const {
  for (const Grid& grid : grids) {
    const bool right_data =
        grid.datasets.empty() ||
        std::find(grid.datasets.begin(), grid.datasets.end(), dataset) != grid.datasets.end();
    const bool right_model =
        grid.models.empty() ||
        std::find(grid.models.begin(), grid.models.end(), model) != grid.models.end();
    if (right_data && right_model) return grid.values;
  }
  return {};
}

StudyPlan parse_plan(const std::string& text, const std::string& source, const StudyNames& known) {
  const YamlDocument document(text, source);
  const YamlRecord top(document.top(),
                       {"name", "variant", "seed", "shift", "folds", "rows", "time_limit",
                        "target_epsilon", "evaluators", "hidden", "experiments"},
                       "a study plan");
  StudyPlan plan;
  plan.name = top.at("name", "a name").filled_text("a name");
  plan.variant = top.at("variant", "published or corrected").choice<Variant>();
  if (const YamlEntry* seed = top.find("seed"))
    plan.seed = static_cast<std::uint64_t>(whole(*seed, 0));
  if (const YamlEntry* shift = top.find("shift")) plan.shift = shift->boolean();
  if (const YamlEntry* folds = top.find("folds")) read_folds(*folds, plan);
  if (plan.run_folds.empty()) {
    for (int fold = 1; fold <= plan.folds; ++fold) plan.run_folds.push_back(fold);
  }
  if (const YamlEntry* rows = top.find("rows")) {
    const YamlRecord record(*rows, {"tuning", "test"}, "rows");
    if (const YamlEntry* tuning = record.find("tuning")) plan.tuning_rows = whole(*tuning, 1);
    if (const YamlEntry* test = record.find("test")) plan.test_rows = whole(*test, 1);
  }
  if (const YamlEntry* limit = top.find("time_limit")) {
    plan.time_limit = limit->number("seconds > 0");
    if (!(plan.time_limit > 0)) limit->wrong("seconds > 0");
  }
  const YamlEntry& targets = top.at("target_epsilon", "a list of numbers or shares");
  for (const YamlEntry& item : targets.list("a list of numbers or shares")) {
    const std::string target = item.filled_text("a number, or a share such as 10%");
    if (std::find(plan.targets.begin(), plan.targets.end(), target) != plan.targets.end())
      item.fault("the target {} stands twice", target);
    plan.targets.push_back(target);
  }
  if (plan.targets.empty()) targets.wrong("at least one");
  const YamlEntry& evaluators = top.at("evaluators", "a map from evaluator to number of models");
  for (const auto& [name, entry] : evaluators.members("a map from evaluator to number of models")) {
    if (std::find(known.evaluators.begin(), known.evaluators.end(), name) ==
        known.evaluators.end()) {
      entry.fault("unknown evaluator \"{}\"; {}", name, suggestion(name, known.evaluators));
    }
    plan.evaluators.push_back(evaluator_of(name, entry, known));
  }
  if (plan.evaluators.empty()) evaluators.wrong("at least one evaluator");
  if (const YamlEntry* hidden = top.find("hidden")) {
    for (const auto& [name, entry] : hidden->members("a map from data set to units")) {
      if (std::find(known.datasets.begin(), known.datasets.end(), name) == known.datasets.end())
        entry.fault("unknown data set \"{}\"; {}", name, suggestion(name, known.datasets));
      for (const YamlEntry& units : entry.list("a list of units"))
        plan.hidden[name].push_back(whole(units, 1));
      if (!plan.hidden.contains(name)) entry.wrong("at least one layer");
    }
  }
  const YamlEntry& experiments = top.at("experiments", "data-supported, continuous or both");
  for (const auto& [key, entry] : experiments.members("data-supported, continuous or both")) {
    const std::optional<StudyMode> mode = enum_from_name<StudyMode>(key);
    if (!mode) {
      entry.fault("unknown experiment \"{}\"; expected one of {}", key,
                  join_names(EnumNames<StudyMode>::names));
    }
    plan.experiments.push_back(experiment_of(*mode, entry, known));
  }
  if (plan.experiments.empty()) experiments.wrong("data-supported, continuous or both");
  require_units(plan, experiments);
  plan.sha256 = sha256_hex(canonical_text(identity(plan)));
  return plan;
}

StudyPlan read_plan(const std::string& path, const StudyNames& known) {
  return parse_plan(read_file(path), path, known);
}

}  // namespace ellice

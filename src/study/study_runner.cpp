#include "study/study_runner.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/sha256.hpp"
#include "core/stopwatch.hpp"
#include "data/recipe.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "model_cache.hpp"
#include "quick_evaluators.hpp"
#include "study/evaluation.hpp"
#include "study/study_fold.hpp"
#include "study/study_method.hpp"
#include "study/tuning.hpp"

namespace ellice {

namespace {

constexpr int lof_neighbours = 20;
constexpr std::uint64_t evaluator_stream = 10;

/// Of the rows of these people, so that two studies can tell whether they explain the same.
std::string digest(const std::vector<Query>& people) {
  constexpr std::size_t digits = 16;
  Sha256 hash;
  for (const Query& query : people) {
    hash.update({reinterpret_cast<const char*>(query.raw.data()),
                 static_cast<std::size_t>(query.raw.size()) * sizeof(double)});
  }
  return hash.hex().substr(0, digits);
}

/// The cells of one fold and model of a data set.
struct FoldCells {
  const StudyExperiment* experiment = nullptr;
  std::string dataset = {};
  StudyModel model = StudyModel::linear;
  int fold = 1;

  [[nodiscard]] CellName cell(const StudyMethod& method) const {
    return {.mode = experiment->mode,
            .dataset = dataset,
            .model = model,
            .fold = fold,
            .method = method.name};
  }
  [[nodiscard]] std::vector<const StudyMethod*> methods() const {
    std::vector<const StudyMethod*> result;
    for (const StudyMethod& method : experiment->methods) {
      if (method.runs_on(model) && !method.values(dataset, model).empty())
        result.push_back(&method);
    }
    return result;
  }
};

/// The first data set of every experiment, then the second, and so on: a plan that lists small ones
/// first has results of all kinds early.
std::vector<FoldCells> fold_cells(const StudyPlan& plan) {
  std::size_t most = 0;
  for (const StudyExperiment& experiment : plan.experiments)
    most = std::max(most, experiment.datasets.size());
  std::vector<FoldCells> result;
  for (std::size_t place = 0; place < most; ++place) {
    for (const StudyExperiment& experiment : plan.experiments) {
      if (place >= experiment.datasets.size()) continue;
      for (const StudyModel model : experiment.models) {
        for (const int fold : plan.run_folds) {
          result.push_back({.experiment = &experiment,
                            .dataset = experiment.datasets[place],
                            .model = model,
                            .fold = fold});
        }
      }
    }
  }
  return result;
}

EvaluatorOptions evaluator_options(const StudyPlan& plan, const std::string& dataset) {
  EvaluatorOptions options{.variant = plan.variant};
  for (const StudyEvaluator& evaluator : plan.evaluators) {
    const int models = evaluator.wanted(dataset);
    if (evaluator.name == "retrain") options.retrain_models = models;
    if (evaluator.name == "dropout") options.dropout_models = models;
    if (evaluator.name == "awp") options.awp_models = models;
    if (evaluator.name == "bootstrap") options.bootstrap_models = models;
    if (evaluator.name == "shift") options.shift_models = models;
  }
  return options;
}

std::vector<EvaluatorKind> evaluator_kinds(const StudyPlan& plan) {
  std::vector<std::string> names;
  for (const StudyEvaluator& evaluator : plan.evaluators) names.push_back(evaluator.name);
  return parse_evaluators(names);
}

/// Everything that the cells of one fold share.
class FoldRun {
 public:
  FoldRun(const StudyPlan& plan, const Dataset& rows, const FoldCells& cells,
          const std::string& cache, const Execution& execution)
      : plan_(&plan),
        fold_(prepare_fold(rows, cells.dataset, cells.model, cells.fold, plan)),
        plausibility_(fold_.fitted.encoded, lof_neighbours, execution) {
    const Random seeds =
        Random(plan.seed).split(evaluator_stream).split(static_cast<std::uint64_t>(cells.fold));
    evaluators_ = cached_evaluators(cache, fold_.source(), evaluator_kinds(plan), fold_.targets,
                                    evaluator_options(plan, cells.dataset), seeds, execution);
    for (EvaluatorPointer& evaluator : evaluators_) {
      if (evaluator->models() == nullptr) continue;
      evaluator = deciding(evaluator, fold_.model.decision.threshold);
      if (cells.experiment->mode == StudyMode::data_supported) evaluator = remembered(evaluator);
    }
  }

  [[nodiscard]] StudyCell run(const StudyMethod& method, const CellName& name,
                              const Execution& execution) const {
    StudyCell cell{.name = name,
                   .fitted_rows = fold_.fitted.labels.size(),
                   .columns = static_cast<std::size_t>(fold_.fitted.encoded.cols()),
                   .targets = fold_.targets,
                   .people = digest(fold_.test),
                   .commit = version().commit};
    try {
      const StudyMethodFactory factory(method, fold_, *plan_);
      const std::vector<std::string> values = method.values(name.dataset, name.model);
      if (follows_target(values.front())) {
        run_targets(cell, factory, values.front(), execution);
      } else {
        run_grid(cell, factory, values, execution);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::argument) throw;
      cell.failure = error.what();  // what it says of the method is the result
    }
    return cell;
  }

 private:
  struct Answered {
    EvaluationResult evaluation = {};
    double preparation = 0;
    double seconds = 0;
  };

  [[nodiscard]] Answered answer(const StudyMethodFactory& factory, const std::string& value,
                                std::optional<double> target, const std::vector<Query>& queries,
                                const std::vector<EvaluatorPointer>& evaluators,
                                const Execution& execution) const {
    const PreparedMethod method = factory.prepare(value, target);
    const ThreadStopwatch watch;
    const std::vector<Answer> answers = method.generator->generate(queries, execution);
    Answered result{.preparation = method.seconds, .seconds = watch.seconds()};
    const EvaluationSetup setup{.model = &fold_.model,
                                .threshold = fold_.model.decision.threshold,
                                .variant = plan_->variant,
                                .evaluators = evaluators,
                                .plausibility = &plausibility_,
                                .intervals = {.resamples = 100}};
    result.evaluation = evaluate(answer_batch(answers, fold_.model, fold_.model.decision.threshold),
                                 setup, execution);
    return result;
  }

  [[nodiscard]] StudyRun tune(const StudyMethodFactory& factory, const std::string& value,
                              const Execution& execution) const {
    const Answered answered = answer(factory, value, {}, fold_.tuning, evaluators_, execution);
    return named(summarise_run(answered.evaluation, fold_.targets), value, answered);
  }
  /// Judged by the sets for which the value was chosen.
  [[nodiscard]] StudyTest test(const StudyMethodFactory& factory, const std::string& value,
                               std::optional<double> target, std::vector<SetName> chosen_for,
                               const Execution& execution) const {
    std::vector<EvaluatorPointer> judges;
    for (const EvaluatorPointer& evaluator : evaluators_) {
      if (std::find(chosen_for.begin(), chosen_for.end(), name_of(*evaluator)) != chosen_for.end())
        judges.push_back(evaluator);
    }
    const Answered answered = answer(factory, value, target, fold_.test, judges, execution);
    StudyTest result = summarise_test(answered.evaluation, fold_.targets);
    result.chosen_for = std::move(chosen_for);
    result.run = named(std::move(result.run), value, answered);
    return result;
  }
  [[nodiscard]] static StudyRun named(StudyRun run, const std::string& value,
                                      const Answered& answered) {
    run.value = value;
    run.preparation = answered.preparation;
    run.seconds = answered.seconds;
    return run;
  }

  [[nodiscard]] SetName name_of(const Evaluator& evaluator) const {
    SetName set{.kind = evaluator.summary().kind};
    if (const std::optional<double> epsilon = evaluator.summary().epsilon) {
      set.target = static_cast<std::size_t>(
          std::find(fold_.targets.begin(), fold_.targets.end(), *epsilon) - fold_.targets.begin());
    }
    return set;
  }
  [[nodiscard]] std::vector<SetName> sets() const {
    std::vector<SetName> result;
    for (const EvaluatorPointer& evaluator : evaluators_) result.push_back(name_of(*evaluator));
    return result;
  }

  void run_grid(StudyCell& cell, const StudyMethodFactory& factory,
                const std::vector<std::string>& values, const Execution& execution) const {
    // One value is not tuned.
    if (values.size() == 1) {
      cell.tests.push_back(test(factory, values.front(), {}, sets(), execution));
      return;
    }
    for (const std::string& value : values) {
      cell.walk.push_back(tune(factory, value, execution));
      if (walk_ends(cell.walk, plan_->variant)) break;
    }
    std::map<std::size_t, std::vector<SetName>> chosen;
    for (const SetName& set : sets())
      chosen[choose_run(cell.walk, set, plan_->variant)].push_back(set);
    for (const auto& [run, of_sets] : chosen)
      cell.tests.push_back(test(factory, cell.walk[run].value, {}, of_sets, execution));
  }

  void run_targets(StudyCell& cell, const StudyMethodFactory& factory, const std::string& value,
                   const Execution& execution) const {
    for (std::size_t k = 0; k < fold_.targets.size(); ++k) {
      std::vector<SetName> of_target;
      for (const SetName& set : sets()) {
        if (set.target == k || (!set.target && k == 0)) of_target.push_back(set);
      }
      cell.tests.push_back(test(factory, value, fold_.targets[k], std::move(of_target), execution));
    }
  }

  const StudyPlan* plan_;
  StudyFold fold_;
  OutlierFactor plausibility_;
  std::vector<EvaluatorPointer> evaluators_;
};

}  // namespace

StudyNames study_names() {
  StudyNames names{
      .datasets = recipe_names(), .methods = study_methods(), .options = study_options()};
  for (const std::string_view name : EnumNames<EvaluatorKind>::names)
    names.evaluators.emplace_back(name);
  return names;
}

std::vector<CellName> study_cells(const StudyPlan& plan) {
  std::vector<CellName> names;
  for (const FoldCells& cells : fold_cells(plan)) {
    for (const StudyMethod* method : cells.methods()) names.push_back(cells.cell(*method));
  }
  return names;
}

Json study_identity(const StudyPlan& plan) {
  Json identity = {
      {"plan", plan.name}, {"plan_sha256", plan.sha256}, {"version", version().number}};
  for (const StudyExperiment& experiment : plan.experiments) {
    for (const std::string& dataset : experiment.datasets)
      identity["data"][dataset] = load_recipe(dataset).sha256;
  }
  return identity;
}

void check_study(const StudyPlan& plan) {
  for (const StudyExperiment& experiment : plan.experiments) {
    for (const StudyMethod& method : experiment.methods) check_method(method);
  }
}

void run_study(const StudyPlan& plan, StudyStore& store, const std::string& folder,
               const Execution& execution) {
  const std::size_t total = study_cells(plan).size();
  std::mutex mutex;
  std::size_t done = 0;
  std::string stage = "study";
  const Progress progress = [&](const ProgressState&) {
    const std::scoped_lock lock(mutex);
    return !execution.progress ||
           execution.progress({.stage = stage, .done = done, .total = total});
  };
  std::vector<FoldCells> unfinished;
  for (const FoldCells& cells : fold_cells(plan)) {
    const std::vector<const StudyMethod*> methods = cells.methods();
    const auto finished = std::count_if(methods.begin(), methods.end(), [&](const auto* method) {
      return store.has(cells.cell(*method).text());
    });
    done += static_cast<std::size_t>(finished);
    if (std::cmp_less(finished, methods.size())) unfinished.push_back(cells);
  }
  // A fold's methods one after another and folds side by side: no thread waits for a fold's slowest
  // method.
  parallel_for(
      "study", unfinished.size(), {.threads = execution.threads, .progress = progress},
      [&](std::size_t k) {
        const FoldCells& cells = unfinished[k];
        {
          const std::scoped_lock lock(mutex);
          stage = fmt::format("{} {}, fold {}", cells.dataset, enum_name(cells.model), cells.fold);
        }
        const Execution alone{.threads = 1, .progress = progress};
        const Dataset rows = study_rows(cells.dataset, cells.experiment->mode, plan.seed);
        const std::string cache =
            fmt::format("{}/models-{}-{}-{}-{}.bin", folder, enum_name(cells.experiment->mode),
                        cells.dataset, enum_name(cells.model), cells.fold);
        const FoldRun run(plan, rows, cells, cache, alone);
        for (const StudyMethod* method : cells.methods()) {
          const CellName name = cells.cell(*method);
          if (store.has(name.text())) continue;
          store.add(name.text(), to_json(run.run(*method, name, alone)));
          const std::scoped_lock lock(mutex);
          ++done;
        }
        std::filesystem::remove(cache);
      });
}

}  // namespace ellice

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/study_results.hpp"

namespace ellice {

namespace {

using Better = ResultTable::Better;

constexpr std::size_t headline_target = 0;
constexpr std::string_view paper_method = "ElliCE";
constexpr std::array<std::string_view, 6> paper_methods = {"ElliCE", "ElliCE+R", "DeltaRob",
                                                           "T:Rex",  "PROPLACE", "ROAR"};

std::optional<double> robustness_of(const StudyCell& cell, const SetName& set, Variant variant) {
  const StudyTest* test = cell.chosen(set);
  if (test == nullptr) return std::nullopt;
  const StudyRun::Score* score = test->run.find(set);
  if (score == nullptr) return std::nullopt;
  return variant == Variant::published ? score->valid_only : score->robustness;
}

std::optional<double> mean_of(const std::optional<StudyRun::Average>& average) {
  return average ? std::optional(average->mean) : std::nullopt;
}

/// Something of the run on test rows that tuning chose for a set.
CellNumber of_chosen(const SetName& set,
                     std::function<std::optional<double>(const StudyRun&)> number) {
  return [set, number = std::move(number)](const StudyCell& cell) -> std::optional<double> {
    const StudyTest* test = cell.chosen(set);
    if (test == nullptr) return std::nullopt;
    return number(test->run);
  };
}

/// The paper's number for a method of the same name.
Measured of_paper(const PaperValues& paper, const CellName& cell, const std::string& evaluator,
                  const std::string& metric) {
  return paper.find({.mode = cell.mode,
                     .model = cell.model,
                     .dataset = cell.dataset,
                     .method = cell.method,
                     .evaluator = evaluator,
                     .metric = metric});
}

/// The same, or that of its ElliCE where it has no such method.
Measured beside(const PaperValues& paper, const CellName& cell, const std::string& evaluator,
                const std::string& metric) {
  const bool is_theirs =
      std::find(paper_methods.begin(), paper_methods.end(), cell.method) != paper_methods.end();
  CellName name = cell;
  if (!is_theirs) name.method = paper_method;
  return of_paper(paper, name, evaluator, metric);
}

/// Calls body(cells of all folds, name) for every method of a mode, in the order of the plan.
void for_each_row(
    const StudyResults& results, StudyMode mode,
    const std::function<void(const std::vector<const StudyCell*>&, const CellName&)>& body) {
  for (const StudyExperiment& experiment : results.plan().experiments) {
    if (experiment.mode != mode) continue;
    for (const StudyModel model : experiment.models) {
      for (const std::string& dataset : experiment.datasets) {
        for (const StudyMethod& method : experiment.methods) {
          const std::vector<const StudyCell*> folds =
              results.folds(mode, dataset, model, method.name);
          if (!folds.empty()) body(folds, folds.front()->name);
        }
      }
    }
  }
}

std::vector<std::string> labels_of(const CellName& name) {
  return {dataset_title(name.dataset), std::string(enum_name(name.model)), name.method};
}

std::string note_of(const std::vector<const StudyCell*>& folds) {
  const auto failed = [](const StudyCell* cell) { return !cell->failure.empty(); };
  return std::all_of(folds.begin(), folds.end(), failed) ? "cannot" : "";
}

ResultTable performance(const StudyResults& results, const PaperValues& paper, StudyMode mode) {
  const StudyPlan& plan = results.plan();
  ResultTable table{
      .name = fmt::format("performance-{}", enum_name(mode)),
      .caption = fmt::format(
          "Robustness R ({}) and length L2 of valid answers, {} methods, evaluators at ε = {}; "
          "mean ± standard deviation over {} folds, in each column with the value that tuning "
          "chose for it.",
          plan.variant == Variant::published ? "share of valid answers, as published"
                                             : "share of all people explained",
          enum_name(mode), plan.targets[headline_target], plan.run_folds.size()),
      .labels = {"data", "model", "method"}};
  for (const SetName& set : results.sets(headline_target)) {
    const std::string group(enum_name(set.kind));
    table.columns.push_back({.group = group, .name = "R", .better = Better::higher});
    table.columns.push_back({.group = group, .name = "L2", .better = Better::lower});
  }
  for_each_row(results, mode, [&](const auto& folds, const CellName& name) {
    ResultTable::Row row{.labels = labels_of(name)};
    for (const SetName& set : results.sets(headline_target)) {
      const std::string evaluator(enum_name(set.kind));
      const Measured robustness = StudyResults::over(
          folds, [&](const StudyCell& cell) { return robustness_of(cell, set, plan.variant); });
      const Measured length = StudyResults::over(
          folds, of_chosen(set, [](const StudyRun& run) { return mean_of(run.l2); }));
      row.cells.push_back({.ours = robustness,
                           .paper = beside(paper, name, evaluator, "robustness"),
                           .note = note_of(folds)});
      row.cells.push_back(
          {.ours = length, .paper = beside(paper, name, evaluator, "l2"), .note = note_of(folds)});
    }
    table.rows.push_back(std::move(row));
  });
  return table;
}

ResultTable metrics(const StudyResults& results, StudyMode mode) {
  const SetName set = results.sets(headline_target).front();
  ResultTable table{
      .name = fmt::format("metrics-{}", enum_name(mode)),
      .caption = fmt::format(
          "All metrics of {} methods with the value tuned for {}, ε = {}: validity; robustness of "
          "all people and of valid answers; lengths, changed features and LOF of valid answers.",
          enum_name(mode), enum_name(set.kind), results.plan().targets[headline_target]),
      .labels = {"data", "model", "method"},
      .columns = {{.name = "validity", .better = Better::higher},
                  {.name = "R", .better = Better::higher},
                  {.name = "R valid", .better = Better::higher},
                  {.name = "L2", .better = Better::lower},
                  {.name = "L1", .better = Better::lower},
                  {.name = "changed", .better = Better::lower, .decimals = 1},
                  {.name = "LOF", .better = Better::lower, .decimals = 2},
                  {.name = "median LOF", .better = Better::lower, .decimals = 2}}};
  for_each_row(results, mode, [&](const auto& folds, const CellName& name) {
    ResultTable::Row row{.labels = labels_of(name)};
    const auto add = [&](const CellNumber& number) {
      row.cells.push_back({.ours = StudyResults::over(folds, number), .note = note_of(folds)});
    };
    add(of_chosen(set, [](const StudyRun& run) { return std::optional(run.validity()); }));
    add([&](const StudyCell& cell) { return robustness_of(cell, set, Variant::corrected); });
    add([&](const StudyCell& cell) { return robustness_of(cell, set, Variant::published); });
    add(of_chosen(set, [](const StudyRun& run) { return mean_of(run.l2); }));
    add(of_chosen(set, [](const StudyRun& run) { return mean_of(run.l1); }));
    add(of_chosen(set, [](const StudyRun& run) { return mean_of(run.changed); }));
    add(of_chosen(set, [](const StudyRun& run) { return mean_of(run.lof); }));
    add(of_chosen(set, [](const StudyRun& run) {
      return run.lof ? std::optional(run.lof->median) : std::nullopt;
    }));
    table.rows.push_back(std::move(row));
  });
  return table;
}

/// The mean over the runs of a cell on tuning rows, or of its tests where nothing was tuned.
std::optional<double> mean_over_runs(const StudyCell& cell,
                                     const std::function<double(const StudyRun&)>& number) {
  double sum = 0;
  std::size_t count = 0;
  const auto add = [&](const StudyRun& run) {
    sum += number(run);
    ++count;
  };
  for (const StudyRun& run : cell.walk) add(run);
  if (count == 0) {
    for (const StudyTest& test : cell.tests) add(test.run);
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

Measured ratio(const Measured& a, const Measured& b) {
  if (!a.mean || !b.mean || *b.mean <= 0) return {};
  return {.mean = *a.mean / *b.mean};
}

ResultTable run_times(const StudyResults& results, const PaperValues& paper, StudyMode mode) {
  ResultTable table{
      .name = fmt::format("runtime-{}", enum_name(mode)),
      .caption =
          "Processor seconds of one thread for preparation and all answers on tuning rows, mean "
          "over folds and grid values (the paper's: its authors' Python on their machine, quoted "
          "as theirs); as a multiple of ElliCE's; milliseconds per answer, preparation apart.",
      .labels = {"data", "model", "method"},
      .columns = {{.name = "seconds", .better = Better::lower, .decimals = 4},
                  {.name = "times ElliCE", .decimals = 1},
                  {.name = "ms per answer", .better = Better::lower, .decimals = 4},
                  {.name = "preparation ms", .better = Better::lower, .decimals = 3}}};
  const auto all = [](const StudyRun& run) { return run.preparation + run.seconds; };
  const auto per_answer = [](const StudyRun& run) {
    return 1e3 * run.seconds / static_cast<double>(std::max<std::size_t>(1, run.rows));
  };
  const auto preparation = [](const StudyRun& run) { return 1e3 * run.preparation; };
  for_each_row(results, mode, [&](const auto& folds, const CellName& name) {
    const auto measured = [](const auto& of_folds, const auto& number) {
      return StudyResults::over(
          of_folds, [&](const StudyCell& cell) { return mean_over_runs(cell, number); });
    };
    CellName reference = name;
    reference.method = paper_method;
    const Measured seconds = measured(folds, all);
    const Measured theirs = beside(paper, name, "runtime", "seconds");
    const Measured of_reference =
        measured(results.folds(mode, name.dataset, name.model, reference.method), all);
    ResultTable::Row row{.labels = labels_of(name)};
    const auto add = [&](const Measured& ours, const Measured& of_paper) {
      row.cells.push_back({.ours = ours, .paper = of_paper, .note = note_of(folds)});
    };
    add(seconds, theirs);
    add(ratio(seconds, of_reference), ratio(of_paper(paper, name, "runtime", "seconds"),
                                            of_paper(paper, reference, "runtime", "seconds")));
    add(measured(folds, per_answer), {});
    add(measured(folds, preparation), {});
    table.rows.push_back(std::move(row));
  });
  return table;
}

/// What the folds of each data set consist of.
ResultTable data_sets(const StudyResults& results, StudyMode mode) {
  const StudyPlan& plan = results.plan();
  ResultTable table{
      .name = fmt::format("datasets-{}", enum_name(mode)),
      .caption = fmt::format(
          "Rows that a base model was fitted on, columns of model space, people explained, ε = {} "
          "of the base's objective, and models in the evaluators' sets there (a linear model that "
          "is "
          "retrained is itself); mean ± standard deviation over folds.",
          plan.targets[headline_target]),
      .labels = {"data", "model"},
      .columns = {{.name = "rows", .decimals = 0},
                  {.name = "columns", .decimals = 0},
                  {.name = "tuning", .decimals = 0},
                  {.name = "test", .decimals = 0},
                  {.name = "ε", .decimals = 4}}};
  std::vector<SetName> sets = results.sets(headline_target);
  // Kinds that seek a model for each answer have no set.
  std::erase_if(sets, [](const SetName& set) { return is_per_answer(set.kind); });
  for (const SetName& set : sets)
    table.columns.push_back({.name = std::string(enum_name(set.kind)), .decimals = 0});
  for_each_row(results, mode, [&](const auto& folds, const CellName& name) {
    const std::vector<std::string> labels = {dataset_title(name.dataset),
                                             std::string(enum_name(name.model))};
    if (!table.rows.empty() && table.rows.back().labels == labels) return;  // by another method
    ResultTable::Row row{.labels = labels};
    const auto add = [&](const CellNumber& number) {
      row.cells.push_back({.ours = StudyResults::over(folds, number)});
    };
    add([](const StudyCell& cell) { return static_cast<double>(cell.fitted_rows); });
    add([](const StudyCell& cell) { return static_cast<double>(cell.columns); });
    add([](const StudyCell& cell) {
      return cell.walk.empty() ? std::nullopt
                               : std::optional(static_cast<double>(cell.walk.front().rows));
    });
    add([](const StudyCell& cell) {
      return cell.tests.empty() ? std::nullopt
                                : std::optional(static_cast<double>(cell.tests.front().run.rows));
    });
    add([](const StudyCell& cell) { return cell.targets[headline_target]; });
    for (const SetName& set : sets) {
      add(of_chosen(set, [set](const StudyRun& run) -> std::optional<double> {
        const StudyRun::Score* score = run.find(set);
        if (score == nullptr) return std::nullopt;
        return static_cast<double>(score->models);
      }));
    }
    table.rows.push_back(std::move(row));
  });
  return table;
}

/// The largest robustness that another of the paper's methods has in this study.
std::optional<double> best_rival(const StudyResults& results, const CellName& name,
                                 const SetName& set) {
  std::optional<double> best;
  for (const std::string_view method : paper_methods) {
    if (method == name.method) continue;
    const Measured robustness = StudyResults::over(
        results.folds(name.mode, name.dataset, name.model, std::string(method)),
        [&](const StudyCell& cell) { return robustness_of(cell, set, results.plan().variant); });
    if (robustness.mean) best = std::max(best.value_or(0), *robustness.mean);
  }
  return best;
}

}  // namespace

std::vector<ResultTable> study_tables(const StudyResults& results, const PaperValues& paper) {
  std::vector<ResultTable> tables;
  for (const StudyExperiment& experiment : results.plan().experiments) {
    tables.push_back(performance(results, paper, experiment.mode));
    tables.push_back(metrics(results, experiment.mode));
    tables.push_back(run_times(results, paper, experiment.mode));
    tables.push_back(data_sets(results, experiment.mode));
  }
  return tables;
}

std::vector<Headline> headlines(const StudyResults& results, const PaperValues& paper) {
  std::vector<Headline> lines;
  for (const StudyExperiment& experiment : results.plan().experiments) {
    for_each_row(results, experiment.mode, [&](const auto& folds, const CellName& name) {
      auto line = std::find_if(lines.begin(), lines.end(), [&](const Headline& known) {
        return known.method == name.method && known.mode == name.mode;
      });
      if (line == lines.end())
        line = lines.insert(lines.end(), {.method = name.method, .mode = name.mode});
      for (const SetName& set : results.sets(headline_target)) {
        PaperValues::Key key{.mode = name.mode,
                             .model = name.model,
                             .dataset = name.dataset,
                             .method = std::string(paper_method),
                             .evaluator = std::string(enum_name(set.kind)),
                             .metric = "l2"};
        const Measured paper_length = paper.find(key);
        key.metric = "robustness";
        std::optional<double> best;
        for (const std::string_view method : paper_methods) {
          key.method = method;
          const Measured theirs = paper.find(key);
          if (theirs.mean) best = std::max(best.value_or(0), *theirs.mean);
        }
        const Measured robustness = StudyResults::over(folds, [&](const StudyCell& cell) {
          return robustness_of(cell, set, results.plan().variant);
        });
        const Measured length = StudyResults::over(
            folds, of_chosen(set, [](const StudyRun& run) { return mean_of(run.l2); }));
        if (!best || !paper_length.mean || !robustness.mean) continue;
        ++line->cells;
        const bool as_robust = *robustness.mean >= *best - 5e-4;  // equal as printed
        const bool as_short = length.mean && *length.mean <= *paper_length.mean + 5e-4;
        line->as_robust += as_robust ? 1 : 0;
        line->as_short += as_short ? 1 : 0;
        line->both += as_robust && as_short ? 1 : 0;
        const std::optional<double> rival = best_rival(results, name, set);
        line->beats_rivals += !rival || *robustness.mean >= *rival - 5e-4 ? 1 : 0;
      }
    });
  }
  return lines;
}

}  // namespace ellice

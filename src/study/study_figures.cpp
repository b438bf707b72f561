#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ellice/data/csv.hpp"
#include "study/study_method.hpp"
#include "study/study_results.hpp"

namespace ellice {

namespace {

constexpr double trade_off_target = 0.04;

/// A metric of the run that tuning chose, by its own name in file names and on axes.
struct RunMetric {
  std::string name = {};
  std::string axis = {};
  std::optional<double> low = {};
  std::optional<double> high = {};
  std::function<std::optional<double>(const StudyRun&, const SetName&)> number = {};
};

std::vector<RunMetric> metrics(Variant variant) {
  const auto mean = [](const std::optional<StudyRun::Average>& average) {
    return average ? std::optional(average->mean) : std::nullopt;
  };
  return {
      {.name = "robustness",
       .axis = "robustness",
       .low = 0,
       .high = 1.02,
       .number =
           [variant](const StudyRun& run, const SetName& set) {
             const StudyRun::Score* score = run.find(set);
             if (score == nullptr) return std::optional<double>();
             return variant == Variant::published ? score->valid_only : score->robustness;
           }},
      {.name = "length",
       .axis = "L2",
       .low = 0,
       .number = [mean](const StudyRun& run, const SetName&) { return mean(run.l2); }},
      {.name = "validity",
       .axis = "validity",
       .low = 0,
       .high = 1.02,
       .number = [](const StudyRun& run, const SetName&) { return std::optional(run.validity()); }},
      {.name = "lof", .axis = "LOF (median)", .number = [](const StudyRun& run, const SetName&) {
         return run.lof ? std::optional(run.lof->median) : std::nullopt;
       }}};
}

double standard_error(const Measured& measured, std::size_t folds) {
  return folds < 2 ? 0 : measured.spread / std::sqrt(static_cast<double>(folds - 1));
}

/// Metric against ε of the evaluators; a panel for every evaluator (down) and data set (across).
Figure against_target(const StudyResults& results, const StudyExperiment& experiment,
                      StudyModel model, const RunMetric& metric) {
  const StudyPlan& plan = results.plan();
  Figure figure{.title = fmt::format("{} against ε of the evaluators", metric.axis),
                .columns = static_cast<int>(experiment.datasets.size())};
  for (std::size_t e = 0; e < plan.evaluators.size(); ++e) {
    for (const std::string& dataset : experiment.datasets) {
      Figure::Panel panel{
          .title = fmt::format("{}, {}", dataset_title(dataset), plan.evaluators[e].name),
          .x = {.label = "ε of the evaluator", .low = 0},
          .y = {.label = metric.axis, .low = metric.low, .high = metric.high}};
      for (const StudyMethod& method : experiment.methods) {
        const auto folds = results.folds(experiment.mode, dataset, model, method.name);
        Figure::Series series{.name = method.name};
        for (std::size_t k = 0; k < plan.targets.size(); ++k) {
          const SetName set = results.sets(k)[e];
          const Measured y = StudyResults::over(folds, [&](const StudyCell& cell) {
            const StudyTest* test = cell.chosen(set);
            return test == nullptr ? std::optional<double>() : metric.number(test->run, set);
          });
          const Measured x = StudyResults::over(
              folds, [&](const StudyCell& cell) { return std::optional(cell.targets.at(k)); });
          if (y.mean)
            series.points.push_back(
                {.x = *x.mean, .y = *y.mean, .error = standard_error(y, folds.size())});
        }
        std::sort(series.points.begin(), series.points.end(),
                  [](const auto& a, const auto& b) { return a.x < b.x; });
        if (!series.points.empty()) panel.series.push_back(std::move(series));
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

/// Means over the folds of one point per value of a method's walk.
std::vector<Figure::Point> walk_points(
    const std::vector<const StudyCell*>& folds, const std::vector<std::string>& values,
    const std::function<std::optional<Figure::Point>(const StudyRun&)>& point) {
  std::vector<Figure::Point> result;
  for (const std::string& value : values) {
    Figure::Point sum;
    double count = 0;
    for (const StudyCell* cell : folds) {
      for (const StudyRun& run : cell->walk) {
        if (run.value != value) continue;
        if (const std::optional<Figure::Point> one = point(run)) {
          sum.x += one->x;
          sum.y += one->y;
          ++count;
        }
      }
    }
    // A fold whose walk ended earlier would shift the mean: only values that all folds reached.
    if (count > 0 && count == static_cast<double>(folds.size()))
      result.push_back({.x = sum.x / count, .y = sum.y / count});
  }
  return result;
}

/// Robustness against length along the grids, on tuning rows.
Figure trade_off(const StudyResults& results, const StudyExperiment& experiment, StudyModel model) {
  const StudyPlan& plan = results.plan();
  const std::size_t target = results.nearest_target(trade_off_target);
  const RunMetric robustness = metrics(plan.variant).front();
  Figure figure{.title = "robustness against length",
                .columns = static_cast<int>(experiment.datasets.size())};
  for (const SetName& set : results.sets(target)) {
    for (const std::string& dataset : experiment.datasets) {
      Figure::Panel panel{
          .title = fmt::format("{}, {}", dataset_title(dataset), enum_name(set.kind)),
          .x = {.label = "L2"},
          .y = {.label = "robustness", .low = 0, .high = 1.02}};
      for (const StudyMethod& method : experiment.methods) {
        Figure::Series series{
            .name = method.name,
            .points = walk_points(results.folds(experiment.mode, dataset, model, method.name),
                                  method.values(dataset, model),
                                  [&](const StudyRun& run) -> std::optional<Figure::Point> {
                                    const std::optional<double> r = robustness.number(run, set);
                                    if (!r || !run.l2) return std::nullopt;
                                    return Figure::Point{.x = run.l2->mean, .y = *r};
                                  })};
        if (!series.points.empty()) panel.series.push_back(std::move(series));
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

/// Robustness against the method's own ε, for the methods that have one.
Figure sensitivity(const StudyResults& results, const StudyExperiment& experiment,
                   StudyModel model) {
  const std::size_t target = results.nearest_target(trade_off_target);
  const RunMetric robustness = metrics(results.plan().variant).front();
  Figure figure{.title = "robustness against the method's own ε",
                .columns = static_cast<int>(experiment.datasets.size())};
  for (const SetName& set : results.sets(target)) {
    for (const std::string& dataset : experiment.datasets) {
      Figure::Panel panel{
          .title = fmt::format("{}, {}", dataset_title(dataset), enum_name(set.kind)),
          .x = {.label = "ε of the method", .low = 0},
          .y = {.label = "robustness", .low = 0, .high = 1.02},
          .note = "not tuned"};
      for (const StudyMethod& method : experiment.methods) {
        if (!takes_epsilon(method.method)) continue;
        Figure::Series series{
            .name = method.name,
            .points = walk_points(results.folds(experiment.mode, dataset, model, method.name),
                                  method.values(dataset, model),
                                  [&](const StudyRun& run) -> std::optional<Figure::Point> {
                                    double epsilon = 0;
                                    const std::optional<double> r = robustness.number(run, set);
                                    if (!r || !parse_number(run.value, epsilon))
                                      return std::nullopt;
                                    return Figure::Point{.x = epsilon, .y = *r};
                                  })};
        if (!series.points.empty()) panel.series.push_back(std::move(series));
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

/// Time per answer against the number of rows and of columns, a point for every data set.
Figure times(const StudyResults& results, const StudyExperiment& experiment) {
  Figure figure{.title = "time per answer", .columns = 2};
  for (const StudyModel model : experiment.models) {
    for (const bool by_rows : {true, false}) {
      Figure::Panel panel{
          .title = std::string(enum_name(model)),
          .x = {.label = by_rows ? "training rows n" : "columns p", .logarithmic = true},
          .y = {.label = "ms per answer", .logarithmic = true}};
      for (const StudyMethod& method : experiment.methods) {
        Figure::Series series{.name = method.name};
        for (const std::string& dataset : experiment.datasets) {
          const auto folds = results.folds(experiment.mode, dataset, model, method.name);
          const Measured y = StudyResults::over(folds, [](const StudyCell& cell) {
            double seconds = 0;
            std::size_t rows = 0;
            for (const StudyTest& test : cell.tests) {
              seconds += test.run.seconds;
              rows += test.run.rows;
            }
            return rows == 0 ? std::nullopt
                             : std::optional(1e3 * seconds / static_cast<double>(rows));
          });
          const Measured x = StudyResults::over(folds, [&](const StudyCell& cell) {
            return std::optional(static_cast<double>(by_rows ? cell.fitted_rows : cell.columns));
          });
          if (x.mean && y.mean) series.points.push_back({.x = *x.mean, .y = *y.mean});
        }
        std::sort(series.points.begin(), series.points.end(),
                  [](const auto& a, const auto& b) { return a.x < b.x; });
        if (!series.points.empty()) panel.series.push_back(std::move(series));
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

}  // namespace

std::vector<NamedFigure> study_figures(const StudyResults& results) {
  std::vector<NamedFigure> figures;
  const StudyPlan& plan = results.plan();
  for (const StudyExperiment& experiment : plan.experiments) {
    const std::string mode(enum_name(experiment.mode));
    for (const StudyModel model : experiment.models) {
      const std::string kind(enum_name(model));
      for (const RunMetric& metric : metrics(plan.variant)) {
        figures.push_back(
            {.name = fmt::format("{}-{}-{}", metric.name, mode, kind),
             .caption = fmt::format("{} of {} methods, {} models, against ε of the evaluators; "
                                    "bars: standard error over folds.",
                                    metric.axis, mode, kind),
             .figure = against_target(results, experiment, model, metric)});
      }
      const std::string& target = plan.targets[results.nearest_target(trade_off_target)];
      figures.push_back(
          {.name = fmt::format("trade-off-{}-{}", mode, kind),
           .caption = fmt::format("Robustness against length along each method's grid, on tuning "
                                  "rows, {} models, evaluators at ε = {}.",
                                  kind, target),
           .figure = trade_off(results, experiment, model)});
      figures.push_back(
          {.name = fmt::format("sensitivity-{}-{}", mode, kind),
           .caption = fmt::format("Robustness against the method's own ε, on tuning rows, {} "
                                  "models, evaluators at ε = {}.",
                                  kind, target),
           .figure = sensitivity(results, experiment, model)});
    }
    figures.push_back({.name = fmt::format("time-{}", mode),
                       .caption = "Time per answer on test rows, preparation apart, against the "
                                  "size of the data.",
                       .figure = times(results, experiment)});
  }
  // Some say nothing here, such as curves along ε of methods whose values are none.
  std::erase_if(figures, [](const NamedFigure& named) {
    const auto& panels = named.figure.panels;
    return std::all_of(panels.begin(), panels.end(),
                       [](const Figure::Panel& panel) { return panel.series.empty(); });
  });
  return figures;
}

}  // namespace ellice

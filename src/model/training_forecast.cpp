#include "model/training_forecast.hpp"

#include <algorithm>
#include <cmath>

#include "core/memory.hpp"
#include "ellice/core/error.hpp"
#include "model/row_chunks.hpp"

namespace ellice {

namespace {

// A matrix of so many columns is factorised in a minute and has its eigenvalues in some more.
constexpr double most_parameters = 5000;
constexpr double newton_steps = 12;
constexpr double flops = 2e9;  // per second
constexpr double per_number = 8;
// A number of a model file on its way out: its JSON value, its text, and the buffer of the file.
constexpr double per_written_number = 64;

double square(double x) {
  return x * x;
}

/// What a network adds to its head.
struct Hidden {
  double parameters = 0;
  double features = 0;  // units of the last hidden layer
};

double outputs_of(const TrainingOptions& options, Index classes) {
  return options.model == NetworkKind::softmax ? static_cast<double>(classes) : 1;
}

/// Of a nam each feature has its own units, which read that feature's alone.
Hidden hidden_layers(const Schema& schema, double outputs, const TrainingOptions& options) {
  Hidden hidden{.features = static_cast<double>(encoded_columns(schema))};
  const double shares =
      options.model == NetworkKind::nam ? static_cast<double>(schema.features.size()) : 1;
  const bool is_deep = has_hidden_layers(options);
  for (const int count : is_deep ? options.network.hidden : std::vector<int>{}) {
    hidden.parameters += (hidden.features + shares) * count;
    hidden.features = shares * count;
  }
  hidden.parameters += (hidden.features + 1) * outputs;
  return hidden;
}

/// The feature with the most columns.
const Feature& widest(const Schema& schema) {
  return *std::max_element(schema.features.begin(), schema.features.end(),
                           [](const Feature& a, const Feature& b) {
                             const auto width = [](const Feature& f) {
                               if (f.kind == FeatureKind::categorical) return f.levels.size();
                               return f.has_indicators() ? f.bins.count() : 1;
                             };
                             return width(a) < width(b);
                           });
}

std::string what_is_wide(const Schema& schema, Index columns) {
  const Feature& feature = widest(schema);
  if (feature.kind != FeatureKind::categorical || feature.levels.size() < 10)
    return fmt::format("{} features make {} columns", schema.features.size(), columns);
  return fmt::format("{} features make {} columns, \"{}\" alone {}", schema.features.size(),
                     columns, feature.name, feature.levels.size());
}

}  // namespace

Index encoded_columns(const Schema& schema) {
  std::size_t columns = 0;
  for (const Feature& feature : schema.features) {
    if (feature.kind != FeatureKind::categorical) {
      columns += feature.has_indicators() ? feature.bins.count() : 1;
      continue;
    }
    columns += feature.levels.size();
    if (schema.missing == MissingPolicy::level && !feature.level_index(missing_level)) ++columns;
  }
  return static_cast<Index>(columns);
}

TrainingForecast forecast_training(const Schema& schema, Index rows, Index classes,
                                   const TrainingOptions& options) {
  const auto n = static_cast<double>(rows);
  const auto columns = static_cast<double>(encoded_columns(schema));
  const double outputs = outputs_of(options, classes);
  const bool is_deep = has_hidden_layers(options);
  const Hidden hidden = hidden_layers(schema, outputs, options);
  const double head = outputs * (hidden.features + 1);
  const auto chunks = static_cast<double>(row_chunks(rows).size());
  const double folds = options.folds.value_or(is_deep ? 0 : 5);
  TrainingForecast forecast;
  // Rows twice, the Hessians of chunks and of Newton's method, the one that is written, and of a
  // linear model the four triangles of curvature.sampling.
  const double written = !is_deep && outputs == 1 ? 3 : 1;
  forecast.bytes = per_number * (2 * n * columns + (chunks + 5) * square(head)) +
                   per_written_number * written * square(head);
  const double step = n * square(head) + head * square(head) / 3;
  forecast.seconds = (newton_steps * (1 + folds) * step + 4 * head * square(head)) / flops;
  if (!is_deep) return forecast;
  const double p = hidden.parameters;
  const double passes = 6 * n * p * options.network.epochs;
  forecast.seconds = (passes * (1 + folds) + newton_steps * step) / flops;
  if (outputs == 1 && options.full_curvature) {
    const double rank = std::min(n, p);
    forecast.bytes += (3 * per_number + per_written_number) * rank * p;
    forecast.seconds += (n * p * rank + 9 * rank * square(rank)) / flops;
  }
  return forecast;
}

void require_feasible_training(const Schema& schema, Index rows, Index classes,
                               const TrainingOptions& options) {
  const Index columns = encoded_columns(schema);
  const bool is_deep = has_hidden_layers(options);
  const Hidden hidden = hidden_layers(schema, outputs_of(options, classes), options);
  const double head = outputs_of(options, classes) * (hidden.features + 1);
  if (head > most_parameters) {
    if (is_deep) {
      fail(ErrorCode::argument,
           "`hidden: {}`: the last layer has {:.0f} parameters, expected at most {:.0f}, as their "
           "curvature is a matrix of as many rows; give its layer fewer units",
           fmt::join(options.network.hidden, ","), head, most_parameters);
    }
    fail(ErrorCode::input,
         "{}, {:.0f} parameters, expected at most {:.0f}, as their curvature is a matrix of as "
         "many rows; merge rare levels, or drop features (schema: drop)",
         what_is_wide(schema, columns), head, most_parameters);
  }
  const TrainingForecast forecast = forecast_training(schema, rows, classes, options);
  if (forecast.bytes <= memory_limit()) return;
  const std::string needs =
      fmt::format("needs about {} of memory, and {} may be used (`memory_limit`)",
                  memory_text(forecast.bytes), memory_text(memory_limit()));
  if (is_deep) {
    fail(ErrorCode::argument,
         "`hidden: {}`: a network of {:.0f} parameters for {} rows {}; give fewer units, or leave "
         "out the curvature of all layers, without which there is no set `full` "
         "(`no_full_curvature`)",
         fmt::join(options.network.hidden, ","), hidden.parameters, rows, needs);
  }
  fail(ErrorCode::input, "{}, which {} for {} rows; merge rare levels, or drop features",
       what_is_wide(schema, columns), needs, rows);
}

}  // namespace ellice

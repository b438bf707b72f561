#include "train_report.hpp"

#include <algorithm>

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"
#include "report/text_table.hpp"

namespace ellice::cli {

namespace {

std::size_t favourable_class(const Model& model) {
  const std::vector<std::string>& classes = model.decision.classes;
  const auto found = std::find(classes.begin(), classes.end(), model.schema().target.favourable);
  return static_cast<std::size_t>(found - classes.begin());
}

/// «500 used: 250 yes, 250 no», the favourable class first where there are two.
std::string rows_text(const Model& model, const TrainingSummary& summary) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < summary.class_rows.size(); ++k) {
    parts.push_back(
        fmt::format("{} {}", grouped(summary.class_rows[k]), model.decision.classes[k]));
  }
  if (model.network.has_one_output()) std::reverse(parts.begin(), parts.end());
  return fmt::format("{} used: {}", grouped(static_cast<std::size_t>(model.training.rows)),
                     fmt::join(parts, ", "));
}

/// Of each hidden layer; of a nam those of one feature.
std::vector<Index> hidden_units(const Network& network) {
  const auto shares = static_cast<Index>(std::max<std::size_t>(network.groups.size(), 1));
  std::vector<Index> units;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    units.push_back(network.layers[l].bias.size() / shares);
  }
  return units;
}

/// «income increase, debt decrease».
std::string monotone_text(const Model& model) {
  std::vector<std::string> parts;
  for (std::size_t j = 0; j < model.network.groups.size(); ++j) {
    const Monotone way = model.network.groups[j].monotone;
    if (way == Monotone::any) continue;
    parts.push_back(fmt::format("{} {}", model.schema().features[j].name, enum_name(way)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Json training_json(const TrainingReport& report) {
  const Model& model = report.result->model;
  const TrainingSummary& summary = report.result->summary;
  Json dropped = Json::object();
  for (const auto& [reason, rows] : report.data->dropped) dropped[reason] = rows;
  if (summary.dropped_by_balancing > 0) dropped["balancing"] = summary.dropped_by_balancing;
  Json accuracy = {{"train", summary.train_accuracy}};
  if (summary.holdout_accuracy) accuracy["holdout"] = *summary.holdout_accuracy;
  if (summary.validation_accuracy) accuracy["validation"] = *summary.validation_accuracy;
  if (summary.cross_validated_accuracy)
    accuracy["cross_validated"] = *summary.cross_validated_accuracy;
  Json document = make_envelope("ellice.training", 1);
  document["source"] = report.data->source;
  const std::vector<std::string>& classes = model.decision.classes;
  document["rows"] = {{"used", model.training.rows},
                      {"favourable", summary.class_rows[favourable_class(model)]},
                      {"holdout", summary.holdout_rows},
                      {"dropped", dropped}};
  if (model.network.kind == NetworkKind::softmax) {
    for (std::size_t k = 0; k < classes.size(); ++k) {
      document["rows"]["classes"][classes[k]] = summary.class_rows[k];
    }
  }
  if (summary.validation_rows > 0) document["rows"]["validation"] = summary.validation_rows;
  document["features"] = model.schema().features.size();
  document["columns"] = model.encoder.columns();
  document["accuracy"] = accuracy;
  document["loss"] = model.training.loss;
  document["objective"] = model.training.objective;
  document["iterations"] = summary.iterations;
  document["gradient_norm"] = summary.gradient_norm;
  document["condition_number"] = summary.condition_number;
  document["shift"] = model.curvature.shift;
  if (report.epsilon_limit) document["epsilon_max"] = *report.epsilon_limit;
  if (model.network.layers.size() > 1) {
    Json& network = document["network"];
    network = {{"hidden", hidden_units(model.network)}, {"parameters", model.network.parameters()}};
    if (model.curvature.full) network["rank"] = model.curvature.full->values.size();
    network["epochs"] = summary.epochs;
    network["stopped_early"] = summary.stopped_early;
    network["head_decrement"] = model.training.head_decrement;
  }
  document["model_sha256"] = model.sha256;
  return document;
}

std::string training_text(const TrainingReport& report, const std::string& output) {
  const Model& model = report.result->model;
  const TrainingSummary& summary = report.result->summary;
  const TrainingRecord& training = model.training;
  TextTable table({TextTable::Align::left, TextTable::Align::left});
  const auto line = [&](const char* name, std::string text) { table.row({name, std::move(text)}); };

  line("data", report.data->source);
  line("rows", rows_text(model, summary));
  for (const auto& [reason, rows] : report.data->dropped) {
    line("", fmt::format("{} dropped: {}", grouped(rows), reason));
  }
  if (summary.dropped_by_balancing > 0) {
    line("",
         fmt::format("{} left out to balance the classes", grouped(summary.dropped_by_balancing)));
  }
  if (summary.holdout_rows > 0) line("", fmt::format("{} held out", grouped(summary.holdout_rows)));
  if (summary.validation_rows > 0) {
    line("", fmt::format("{} to decide when to stop", grouped(summary.validation_rows)));
  }
  line("features", fmt::format("{}, encoded as {} columns", model.schema().features.size(),
                               model.encoder.columns()));
  std::string accuracy = fmt::format("{:.1f} % on these rows", 100 * summary.train_accuracy);
  if (summary.holdout_accuracy) {
    accuracy += fmt::format(", {:.1f} % on the rows held out", 100 * *summary.holdout_accuracy);
  }
  if (summary.validation_accuracy) {
    accuracy += fmt::format(", {:.1f} % on those that decided when to stop",
                            100 * *summary.validation_accuracy);
  }
  if (summary.cross_validated_accuracy) {
    accuracy += fmt::format(", {:.1f} % cross-validated", 100 * *summary.cross_validated_accuracy);
  }
  line("accuracy", accuracy);
  line("loss", fmt::format("{} ({}, mean)", rounded(training.loss), enum_name(training.loss_kind)));
  line("objective",
       fmt::format("{} with l2 = {}{}{}", rounded(training.objective), number_text(training.l2),
                   training.penalize_bias ? "" : ", bias not penalised",
                   training.penalty_factors.size() > 0 ? ", bins by their rows" : ""));
  if (training.weights) {
    const std::string& column = training.weights->column;
    const bool is_balanced = training.weights->class_weight == ClassWeight::balanced;
    line("weights", fmt::format("{}{}{}", column.empty() ? "" : "column " + column,
                                !column.empty() && is_balanced ? ", " : "",
                                is_balanced ? "classes balanced" : ""));
  }
  if (model.network.layers.size() > 1) {
    line("layers",
         fmt::format("{} {} units{}, {} parameters", fmt::join(hidden_units(model.network), ", "),
                     enum_name(model.network.layers.front().activation),
                     model.network.groups.empty() ? "" : " of each feature",
                     grouped(static_cast<std::size_t>(model.network.parameters()))));
    if (const std::string monotone = monotone_text(model); !monotone.empty())
      line("monotone", monotone);
    line("training", fmt::format("{} epochs{}", summary.epochs,
                                 summary.stopped_early ? ", stopped early" : ""));
  }
  if (const std::optional<GaussNewton>& full = model.curvature.full; full) {
    line("all layers", fmt::format("curvature of rank {} with damping {}", full->values.size(),
                                   number_text(full->damping)));
  }
  if (model.network.is_linear() || summary.iterations > 0) {
    line("optimum", fmt::format("{} Newton steps, |gradient| = {}", summary.iterations,
                                rounded(summary.gradient_norm, 2)));
  } else {
    line("last layer", fmt::format("{} above its minimum = {} % of the objective",
                                   rounded(training.head_decrement, 3),
                                   rounded(100 * training.head_decrement / training.objective, 3)));
  }
  line("H", fmt::format("{0} x {0}, condition number {1}", model.curvature.hessian.rows(),
                        rounded(summary.condition_number, 3)));
  if (report.epsilon_limit) {
    line("eps_max", fmt::format("{} = {} % of the objective", rounded(*report.epsilon_limit),
                                rounded(100 * *report.epsilon_limit / training.objective, 3)));
    line("",
         "below it everyone has recourse (ranges, directions and rules apart), above it only those "
         "whose fixed features "
         "suffice");
  }
  line("model", fmt::format("{}  sha256 {}", output, model.sha256.substr(0, 16)));
  return table.text();
}

}  // namespace ellice::cli

#include "training_rows.hpp"

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/recipe.hpp"
#include "ellice/recourse/selection_effect.hpp"
#include "ellice/recourse/survival_check.hpp"

namespace ellice::cli {

namespace {

RowsOfModel rows_of(const Dataset& data, const std::vector<Index>& indices, const Model& model) {
  const Dataset selected = select_rows(data, indices);
  return {.raw = selected.raw,
          .rows = {.encoded = model.encoder.encode(selected.raw), .labels = selected.labels}};
}

/// Stored rows are encoded; raw numbers are what decoding them gives.
RowsOfModel rows_of(const StoredRows& stored, const Model& model) {
  RowsOfModel rows{
      .raw = RowMatrix(stored.encoded.rows(), static_cast<Index>(model.schema().features.size())),
      .rows = stored};
  for (Index i = 0; i < rows.raw.rows(); ++i) {
    rows.raw.row(i) = model.encoder.raw(model.encoder.decode(stored.encoded.row(i).transpose()));
  }
  return rows;
}

}  // namespace

void add_row_options(Verb& verb, RowArguments& arguments, const std::string& group) {
  verb.add_option("--data", arguments.data, "CSV file that the model was trained on")
      ->type_name("FILE")
      ->group(group);
  verb.add_option("--dataset", arguments.dataset, "built-in data set that it was trained on")
      ->type_name("NAME")
      ->group(group);
}

TrainingRows read_training_rows(const RowArguments& arguments, const Model& model,
                                const Console& console, const std::string& purpose,
                                OtherData other) {
  require(arguments.data.empty() || arguments.dataset.empty(),
          "give --data or --dataset, not both");
  if (!arguments.given() && model.rows) return {.fitted = rows_of(*model.rows, model)};
  require(arguments.given(),
          "{} needs the training rows: give --data FILE.csv or --dataset NAME, or train with "
          "--store-rows",
          purpose);
  Dataset data;
  if (arguments.dataset.empty()) {
    CsvReader source(arguments.data);
    data = read_dataset(source, model.schema(), console.progress());
  } else {
    data = load_recipe(arguments.dataset);
    // A softmax model of two classes lists them in its schema, where the recipe does not.
    if (model.network.kind == NetworkKind::softmax) data.schema.target.classes = data.classes;
    require_input(data.schema == model.schema(), "--dataset {}: its schema is not the model's",
                  arguments.dataset);
  }
  const std::string& name = arguments.dataset.empty() ? arguments.data : arguments.dataset;
  require_input(
      other == OtherData::warn || data.sha256 == model.training.data_sha256,
      "{}: not the file that the model was trained on (SHA-256 {}, in the model file {}): "
      "{} says something about the rows of its training",
      name, data.sha256, model.training.data_sha256, purpose);
  const SelectedRows selected = apply_selection(data, model.training.selection);
  TrainingRows rows{.fitted = rows_of(data, selected.fit, model)};
  if (!selected.validation.empty()) rows.validation = rows_of(data, selected.validation, model);
  if (!selected.holdout.empty()) rows.holdout = rows_of(data, selected.holdout, model);
  if (data.sha256 != model.training.data_sha256) {
    console.warning(fmt::format("{}: not the file that the model was trained on", name));
  }
  return rows;
}

std::vector<Query> people_of(const Problem& problem, const TrainingRows& rows) {
  if (!has_selection_effect(problem)) return {};
  return declined_rows(problem, rows.fitted.raw, SurvivalCheckOptions{}.people);
}

}  // namespace ellice::cli

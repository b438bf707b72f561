#include "ellice/request/training_rows.hpp"

#include "data/recipe.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/row_weights.hpp"

namespace ellice {

namespace {

RowsOfModel rows_of(const Dataset& data, const std::vector<Index>& indices, const Model& model) {
  if (indices.empty()) return {};
  const Dataset selected = select_rows(data, indices);
  return {.raw = selected.raw,
          .rows = {.encoded = model.encoder.encode(selected.raw),
                   .labels = selected.labels,
                   .weights = row_weights(selected, model.training.weights)}};
}

}  // namespace

TrainingRows training_rows_of(const Dataset& data, const Model& model) {
  const SelectedRows selected = apply_selection(data, model.training.selection);
  return {.fitted = rows_of(data, selected.fit, model),
          .validation = rows_of(data, selected.validation, model),
          .holdout = rows_of(data, selected.holdout, model),
          .source = data.source,
          .sha256 = data.sha256,
          .are_of_model = data.sha256 == model.training.data_sha256};
}

TrainingRows read_training_rows(const std::string& path, const Model& model,
                                const Progress& progress) {
  CsvReader source = open_rows(path, model.schema().format);
  const std::string weights = model.training.weights ? model.training.weights->column : "";
  TrainingRows rows = training_rows_of(
      read_dataset(source, model.schema(), progress, ClassValues::of_schema, weights), model);
  rows.source = path;
  return rows;
}

TrainingRows load_training_rows(const std::string& recipe, const Model& model) {
  Dataset data = load_recipe(recipe);
  // A softmax model of two classes lists them in its schema, where the recipe does not.
  if (model.network.kind == NetworkKind::softmax) data.schema.target.classes = data.classes;
  // How cells of people are read is no matter of the rows.
  data.schema.missing = model.schema().missing;
  data.schema.missing_values = model.schema().missing_values;
  require_input(data.schema == model.schema(), "`dataset: {}`: its schema is not the model's",
                recipe);
  TrainingRows rows = training_rows_of(data, model);
  rows.source = recipe;
  return rows;
}

TrainingRows stored_training_rows(const Model& model) {
  require(model.rows.has_value(), "the model file holds no training rows");
  const StoredRows& stored = *model.rows;
  TrainingRows result{
      .fitted = {.raw = RowMatrix(stored.encoded.rows(),
                                  static_cast<Index>(model.schema().features.size())),
                 .rows = stored}};
  RowMatrix& raw = result.fitted.raw;
  for (Index i = 0; i < raw.rows(); ++i) {
    raw.row(i) = model.encoder.raw(model.encoder.decode(stored.encoded.row(i).transpose()));
  }
  return result;
}

std::shared_ptr<const TrainingRows> or_stored_rows(std::shared_ptr<const TrainingRows> rows,
                                                   const Model& model) {
  if (rows || !model.rows) return rows;
  return std::make_shared<const TrainingRows>(stored_training_rows(model));
}

void require_rows(const TrainingRows* rows, const Model& model, std::string_view purpose,
                  RowsOf needed) {
  require(rows != nullptr, "{} needs the training rows: give `rows`, or train with `store_rows`",
          purpose);
  require_input(needed == RowsOf::any || rows->are_of_model,
                "{}: not the file that the model was trained on (SHA-256 {}, in the model file "
                "{}): {} says something about the rows of its training",
                rows->source, rows->sha256, model.training.data_sha256, purpose);
}

}  // namespace ellice

#pragma once

// The rows that a model was fitted on, for what needs them: taken from the data again, or from the
// model file.

#include <memory>
#include <string>
#include <string_view>

#include "ellice/core/execution.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// The rows a model was fitted on, in both spaces.
struct FittedRows {
  const RowMatrix* raw = nullptr;  // as in Dataset::raw
  const StoredRows* rows = nullptr;
};

/// Some rows in both spaces.
struct RowsOfModel {
  RowMatrix raw = {};    // as in Dataset::raw
  StoredRows rows = {};  // model space
  [[nodiscard]] FittedRows view() const { return {.raw = &raw, .rows = &rows}; }
};

struct TrainingRows {
  RowsOfModel fitted = {};
  RowsOfModel validation = {};  // of networks: for early stopping
  RowsOfModel holdout = {};     // kept out of fitting
  std::string source = {};      // where they were read; empty for those of the model file
  std::string sha256 = {};      // of the bytes that were read
  /// Rows of other data may serve as starts, but no statement about the training can be made.
  bool are_of_model = true;
};

/// Takes the same rows again, by the model's selection.
[[nodiscard]] TrainingRows training_rows_of(const Dataset& data, const Model& model);
/// From a CSV file, and from a built-in data set. Throws Error{input} for one that does not fit the
/// model's schema.
[[nodiscard]] TrainingRows read_training_rows(const std::string& path, const Model& model,
                                              const Progress& progress = {});
[[nodiscard]] TrainingRows load_training_rows(const std::string& recipe, const Model& model);
/// Those that the model file holds, which there must be; raw numbers are what decoding them gives.
[[nodiscard]] TrainingRows stored_training_rows(const Model& model);

/// These rows, else those of the model file, else null.
[[nodiscard]] std::shared_ptr<const TrainingRows> or_stored_rows(
    std::shared_ptr<const TrainingRows> rows, const Model& model);

/// Which rows a purpose needs.
enum class RowsOf { model, any };
/// Throws Error{argument} where there are none for this purpose, and Error{input} where they must
/// be those of the model and are not.
void require_rows(const TrainingRows* rows, const Model& model, std::string_view purpose,
                  RowsOf needed);

}  // namespace ellice

#pragma once

// The rows that a model was fitted on, for verbs that need them: from the data again, or from the
// model file.

#include <string>

#include "ellice/model/model.hpp"
#include "ellice/recourse/problem.hpp"
#include "verb.hpp"

namespace ellice::cli {

struct RowArguments {
  std::string data = {};
  std::string dataset = {};
  [[nodiscard]] bool given() const { return !data.empty() || !dataset.empty(); }
};

void add_row_options(Verb& verb, RowArguments& arguments, const std::string& group);

/// Some rows in both spaces.
struct RowsOfModel {
  RowMatrix raw = {};    // as in Dataset::raw
  StoredRows rows = {};  // model space
};

struct TrainingRows {
  RowsOfModel fitted = {};
  RowsOfModel validation = {};  // of networks: for early stopping
  RowsOfModel holdout = {};     // kept out of fitting
};

/// What to do with data of another file than the model's: rows may still serve as starts, but no
/// statement about the training rows can be made from them.
enum class OtherData { warn, refuse };

/// Takes the same rows again by the model's selection. Throws Error{argument} naming `purpose` when
/// neither data nor stored rows are there, Error{input} when the data are not those of the model.
[[nodiscard]] TrainingRows read_training_rows(const RowArguments& arguments, const Model& model,
                                              const Console& console, const std::string& purpose,
                                              OtherData other = OtherData::warn);

/// Declined people among the rows, as many as a rule for epsilon looks at; none where no rule does.
[[nodiscard]] std::vector<Query> people_of(const Problem& problem, const TrainingRows& rows);

}  // namespace ellice::cli

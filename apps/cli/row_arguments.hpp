#pragma once

// Where the rows are that a model was fitted on, for verbs that need them.

#include <memory>
#include <string>
#include <string_view>

#include "ellice/request/training_rows.hpp"
#include "verb.hpp"

namespace ellice::cli {

struct RowArguments {
  std::string data = {};
  std::string dataset = {};
  [[nodiscard]] bool given() const { return !data.empty() || !dataset.empty(); }
};

void add_row_options(Verb& verb, RowArguments& arguments, const std::string& group);

/// Nothing where none are named. Throws Error{input} for data that do not fit the model.
[[nodiscard]] std::shared_ptr<const TrainingRows> read_rows(const RowArguments& arguments,
                                                            const Model& model,
                                                            const Console& console);

/// Those that are named, else the model file's; they must be those of its training. Throws naming
/// `purpose` where there are none.
[[nodiscard]] std::shared_ptr<const TrainingRows> read_needed_rows(const RowArguments& arguments,
                                                                   const Model& model,
                                                                   const Console& console,
                                                                   std::string_view purpose);

}  // namespace ellice::cli

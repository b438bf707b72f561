#include "row_arguments.hpp"

#include "ellice/core/error.hpp"

namespace ellice::cli {

void add_row_options(Verb& verb, RowArguments& arguments, const std::string& group) {
  verb.add_option("--data", arguments.data, "CSV file that the model was trained on")
      ->type_name("FILE")
      ->group(group);
  verb.add_option("--dataset", arguments.dataset, "built-in data set that it was trained on")
      ->type_name("NAME")
      ->group(group);
}

std::shared_ptr<const TrainingRows> read_rows(const RowArguments& arguments, const Model& model,
                                              const Console& console) {
  require(arguments.data.empty() || arguments.dataset.empty(),
          "give --data or --dataset, not both");
  if (!arguments.given()) return nullptr;
  return std::make_shared<const TrainingRows>(
      arguments.dataset.empty() ? read_training_rows(arguments.data, model, console.progress())
                                : load_training_rows(arguments.dataset, model));
}

std::shared_ptr<const TrainingRows> read_needed_rows(const RowArguments& arguments,
                                                     const Model& model, const Console& console,
                                                     std::string_view purpose) {
  std::shared_ptr<const TrainingRows> rows =
      or_stored_rows(read_rows(arguments, model, console), model);
  require_rows(rows.get(), model, purpose, RowsOf::model);
  return rows;
}

}  // namespace ellice::cli

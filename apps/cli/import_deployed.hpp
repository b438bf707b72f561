#pragma once

#include <optional>
#include <string>

#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"
#include "verb.hpp"

namespace ellice::cli {

/// What `import` needs of a model whose rows are there.
struct DeployedArguments {
  std::string data = {};  // empty: there are no rows
  std::optional<double> l2 = {};
  LossKind loss = LossKind::logistic;
  std::string weights = {};
  ClassWeight class_weight = ClassWeight::none;
  bool store_rows = false;
};

void add_deployed_options(Verb& verb, DeployedArguments& arguments);

/// Whether one of them was given.
[[nodiscard]] bool is_given(const DeployedArguments& arguments);

/// Whether a file holds a model that needs its rows: the JSON form of deployed models, or ONNX.
[[nodiscard]] bool needs_rows(const std::string& text);

/// The rows of --data.
[[nodiscard]] Dataset read_rows(const DeployedArguments& arguments, const Schema& schema,
                                const std::string& weights, const Console& console);

/// The model of such a file.
[[nodiscard]] Model import_deployed(const std::string& text, const std::string& source,
                                    const Schema& schema, const DeployedArguments& arguments,
                                    const std::string& event, const std::string& tool,
                                    const Console& console);

/// Says so where the model is no good on its rows, as one with a turned sign is.
void warn_of_misfit(const Model& model, const Console& console);

/// The lines that `import` prints of it, or the JSON document.
[[nodiscard]] std::string deployed_report(const Model& model, const std::string& source,
                                          OutputFormat format, const std::string& output);

}  // namespace ellice::cli

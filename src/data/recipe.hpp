#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ellice/data/dataset.hpp"

namespace ellice {

/// The names of built-in data sets: the paper's nine data sets, two of them with more than two
/// classes ("iris3": the species; "wine-grades": quality 3 to 5 is low, 6 medium, 7 to 9 high), and
/// "lending".
[[nodiscard]] const std::vector<std::string>& recipe_names();

/// Where the data sets are looked for, in this order: $ELLICE_DATA, ../shared/datasets, the user's
/// cache folder ($XDG_CACHE_HOME or ~/.cache, then ellice/datasets, which scripts/get-datasets
/// fills).
[[nodiscard]] std::vector<std::string> dataset_folders();

/// The file of a data set, under either of its spellings, or nothing if no folder has it.
[[nodiscard]] std::optional<std::string> find_dataset_file(const std::string& name);

/// A built-in data set prepared as the paper does its own (target rule, dropped columns, missing
/// values, one-hot groups), not yet balanced: Selection{.balance = true} does that. Throws
/// Error{input} saying where it looked when the file is not there, Error{argument} for an unknown
/// name.
[[nodiscard]] Dataset load_recipe(const std::string& name);

/// The data with every encoded column as a numeric feature of its own, as the paper treats its data
/// sets; constraints of the schema are dropped.
[[nodiscard]] Dataset with_numeric_columns(const Dataset& data);

}  // namespace ellice

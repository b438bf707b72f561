#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "data/recipe.hpp"
#include "support/source_folder.hpp"

namespace ellice {

/// The file of one of the paper's data sets: where ELLICE_DATA points, else beside the sources.
inline std::optional<std::string> dataset_file_for_test(const std::string& name) {
  const std::string beside = testing_support::source_folder() + "/../shared/datasets";
  ::setenv("ELLICE_DATA", beside.c_str(), /*overwrite=*/0);
  return find_dataset_file(name);
}

/// The names of the paper's nine, without the embedded data and those with many classes.
inline std::vector<std::string> paper_datasets() {
  std::vector<std::string> names = recipe_names();
  for (const char* other : {"lending", "iris3", "wine-grades"}) std::erase(names, other);
  return names;
}

}  // namespace ellice

/// At the top of a test that needs the data set `name`.
#define ELLICE_NEEDS_DATASET(name)                                        \
  if (!ellice::dataset_file_for_test(name)) {                             \
    GTEST_SKIP() << "skipped: no data at " << std::getenv("ELLICE_DATA"); \
  }

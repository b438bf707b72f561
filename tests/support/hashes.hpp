#pragma once

#include "ellice/core/json.hpp"

namespace ellice::problem_zoo {

/// A recourse file as version 0.1.0 wrote it, so that a change of it is judged by what it says.
inline Json without_hashes(Json file) {
  file.erase("sha256");
  for (Json& record : file["results"]) record.erase("sha256");
  return file;
}

}  // namespace ellice::problem_zoo

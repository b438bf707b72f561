#pragma once

#include <memory>
#include <string>
#include <vector>

#include "combination/cases.hpp"
#include "ellice/explain/explainer.hpp"

namespace ellice::combination {

/// What one run said.
struct Told {
  Run run = {};  // with the method that «auto» was
  std::shared_ptr<const Explainer> explainer = {};
  std::vector<Answer> answers = {};
  std::string text = {};  // the recourse file
};

/// Where what `a` proves is refuted by a row of `b`, each as «what: where». Both were asked the
/// same but for method and options.
[[nodiscard]] std::vector<std::string> contradictions(const Told& a, const Told& b);

}  // namespace ellice::combination

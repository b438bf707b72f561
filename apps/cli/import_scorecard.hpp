#pragma once

#include <optional>
#include <string>

#include "ellice/model/model.hpp"
#include "import_deployed.hpp"
#include "model/scorecard.hpp"
#include "verb.hpp"

namespace ellice::cli {

/// What `import` needs of a scorecard.
struct ScorecardArguments {
  std::string file = {};
  std::optional<double> pdo = {};
  std::optional<double> score = {};
  std::optional<double> odds = {};
  std::optional<double> cut_off = {};
  CardEnds closed = CardEnds::left;
};

void add_scorecard_options(Verb& verb, ScorecardArguments& arguments);

/// The model of a scorecard, a CSV file or PMML, and of the rows that it was made from.
[[nodiscard]] Model import_scorecard(const ScorecardArguments& arguments, const Schema& schema,
                                     const DeployedArguments& rows, const std::string& tool,
                                     const Console& console);

/// The same of a scorecard and the covariance of its points' logits.
[[nodiscard]] Model import_scorecard(const ScorecardArguments& arguments, const Schema& schema,
                                     const Coefficients& known, const std::string& tool);

}  // namespace ellice::cli

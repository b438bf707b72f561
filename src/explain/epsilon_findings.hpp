#pragma once

// What an ε means for a model and its people, and which one to take.

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "explain/owned_problem.hpp"
#include "radius/epsilon_table.hpp"

namespace ellice {

struct EpsilonQuestion {
  std::vector<std::string> epsilons = {"0", "0.5%", "1%", "2%", "5%", "10%"};  // levels, by rules
  std::vector<double> survival = {0.9, 0.95, 0.99};  // probabilities, for each of which ε is given
  bool check = false;                                // really retrain
  SurvivalCheckOptions measuring = {};
};

/// An ε by which a survival is reached.
struct SurvivalEpsilon {
  double survival = 0;
  double epsilon = 0;
};

struct EpsilonFindings {
  EpsilonTable table = {};
  std::vector<SurvivalEpsilon> wanted = {};  // linear models
  std::optional<SurvivalCheck> check = {};
  std::optional<double> suggested = {};
  std::string reason = {};              // for the suggestion
  std::vector<std::string> notes = {};  // what could not be said, and why
};

/// For models with one logit. Throws Error{argument} naming the field.
[[nodiscard]] EpsilonFindings find_epsilons(const OwnedProblem& owned,
                                            const EpsilonQuestion& question,
                                            const Execution& execution = {});

/// {"format": "ellice.epsilon", …}.
[[nodiscard]] Json to_json(const EpsilonFindings& findings, const EpsilonQuestion& question,
                           const OwnedProblem& owned);

}  // namespace ellice

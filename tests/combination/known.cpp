#include "combination/known.hpp"

namespace ellice::combination {

const std::vector<KnownFault>& known_faults() {
  static const std::vector<KnownFault> faults = {
      {.words = "own file refused: infeasible",
       .reason = "what answers without recourse say of their largest epsilon, their best row and "
                 "their proof is being made right, and so is the audit of it"},
      {.words = "the largest epsilon", .reason = "the same"},
      {.words = "predicted_survival is",
       .reason = "the audit has no tolerance for a column that is constant in training"},
      {.words = "robust_logit is",
       .reason = "the audit compares what is left of larger numbers to a share of itself"},
      {.words = "worst_model does not satisfy the optimality conditions",
       .reason = "the audit's tolerance for ill-conditioned sets"},
  };
  return faults;
}

const KnownFault* find_known(const std::string& kind) {
  for (const KnownFault& fault : known_faults()) {
    if (kind.find(fault.words) != std::string::npos) return &fault;
  }
  return nullptr;
}

}  // namespace ellice::combination

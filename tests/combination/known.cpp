#include "combination/known.hpp"

namespace ellice::combination {

const std::vector<KnownFault>& known_faults() {
  static const std::vector<KnownFault> faults = {
      {.words = "blocking: proof: the model does not stay below the threshold",
       .reason = "proofs that hold by less than the verifier's own rounding"},
      {.words = "max_epsilon: proof: the model does not belong to the set",
       .reason = "people so far away that rounding decides what a set holds"},
      {.words = "rivals[#].robust_logit",
       .reason = "a margin of a billionth is compared with a share of itself"},
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

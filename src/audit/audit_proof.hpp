#pragma once

// Whether a proof of infeasibility is one: its models belong to their sets, and nothing that the
// ranges allow reaches what an answer would. Shares no code with what finds proofs.

#include <vector>

#include "ellice/audit/audit.hpp"
#include "ellice/core/json_fwd.hpp"
#include "request/feasible_set.hpp"
#include "request/recourse_file.hpp"
#include "sets/true_set.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

class ProofChecker {
 public:
  /// Adds to the failures of `result`, for whose ε and threshold the proof must hold.
  ProofChecker(const Model& model, const SetChoice& set, const TrueSet* true_set,
               AnswerAudit& result)
      : model_(&model), set_(&set), true_set_(true_set), result_(&result) {}

  void check(JsonObject proof, const FeasibleSet& feasible);
  /// One proof for each case that the implications make.
  void check_cases(std::vector<JsonObject> proofs, const FeasibleSet& feasible);

 private:
  /// A model of a member's set, as a function of the first model's columns, or the difference of
  /// two classes where the members are rivals; checks that it is one.
  void check_membership(const Vector& theta, std::size_t member);
  void add_rules(std::vector<JsonObject> rules, Vector& plane, Vector& size);
  void fault(std::string text) { result_->failures.push_back("proof: " + std::move(text)); }

  const Model* model_;
  const SetChoice* set_;
  const TrueSet* true_set_;
  AnswerAudit* result_;
};

}  // namespace ellice

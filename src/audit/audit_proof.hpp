#pragma once

// Whether a proof of infeasibility is one: its models belong to their sets, and nothing that the
// constraints allow reaches what an answer would. Shares no code with what finds proofs.

#include <string>
#include <vector>

#include "audit/audit_constraints.hpp"
#include "audit/audit_true_set.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

class ProofChecker {
 public:
  /// Adds to the failures of `result`, for whose ε and threshold the proof must hold. `true_models`
  /// for the true set, else the cones count.
  ProofChecker(const Model& model, const SetChoice& set, const std::vector<Cone>& cones,
               const TrueModels* true_models, AnswerAudit& result)
      : model_(&model), set_(&set), cones_(&cones), true_models_(true_models), result_(&result) {}

  /// One proof, or one for each case that the implications make. Gives what no row scores more
  /// than, if they hold: infinite where rules alone leave nothing.
  double check(std::vector<JsonObject> proofs, const RowConstraints& constraints);

 private:
  /// A linear function that is at least total·t wherever an answer is.
  struct Stated {
    double upper_bound = 0;
    std::vector<std::string> supposes = {};
    LongVector plane = {};  // as written
    LongVector size = {};   // of what its entries were summed from
    LongVector sure = {};   // with every model moved into its set, which it may miss by rounding
    double total = 0;
    /// That nothing in the box reaches the threshold.
    [[nodiscard]] bool refuses(const Box& box, double threshold) const;
    /// That what is stated is the maximum over the box.
    [[nodiscard]] bool is_bound_over(const Box& box) const;
  };
  [[nodiscard]] Stated read(JsonObject proof, const RowConstraints& constraints);
  void add_models(JsonObject& proof, Stated& stated);
  void add_rules(std::vector<JsonObject> rules, const RowConstraints& constraints, Stated& stated);
  /// The model itself, or the next one of its member's set; checks that it is next to it.
  [[nodiscard]] LongVector member_of_set(const LongVector& theta, std::size_t member);
  /// Of the true set of several classes a model is heads of all of them, which alone show that they
  /// belong to it.
  [[nodiscard]] bool has_all_heads() const { return true_models_ != nullptr && set_->contest; }
  /// What a model gives x̃: θ itself, or of all heads the winner's less the rival's.
  [[nodiscard]] LongVector seen(const LongVector& theta, std::size_t member) const;
  /// Of what its entries are the differences.
  [[nodiscard]] LongVector size_of(const LongVector& theta, std::size_t member) const;
  [[nodiscard]] std::size_t member_count() const;
  void check_bounds(const std::vector<Stated>& proofs, const std::vector<Case>& cases,
                    const RowConstraints& constraints);
  void fault(std::string text) { result_->failures.push_back("proof: " + std::move(text)); }

  const Model* model_;
  const SetChoice* set_;
  const std::vector<Cone>* cones_;
  const TrueModels* true_models_;
  AnswerAudit* result_;
};

}  // namespace ellice::audit

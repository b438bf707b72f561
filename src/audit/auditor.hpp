#pragma once

// What one answer of a recourse file states, recomputed and held against it.

#include <map>
#include <optional>
#include <string>

#include "audit/audit_bounds.hpp"
#include "audit/audit_reasons.hpp"
#include "audit/audit_request.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/certificate/certificate.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json_fwd.hpp"
#include "request/feasible_set.hpp"
#include "request/recourse_file.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"

namespace ellice {

class Auditor {
 public:
  /// `source` names the file in messages; the model must outlive this.
  Auditor(const Model& model, AuditRequest asked, std::string source);

  [[nodiscard]] AnswerAudit audit(JsonObject answer) const;

 private:
  /// Relative to the numbers themselves, or to `floor` where they are what larger numbers leave
  /// over.
  [[nodiscard]] static bool agree(double stored, double recomputed, double floor = 1e-6);
  [[nodiscard]] Ellipsoid ellipsoid(double epsilon) const;
  /// For the class that the answer names, where there are many.
  [[nodiscard]] Certifier certifier(const AnswerAudit& result) const;
  [[nodiscard]] SetChoice set_of(const AnswerAudit& result) const;
  /// The answer names one of the classes that were asked for.
  void check_target(JsonObject& answer, AnswerAudit& result) const;
  [[nodiscard]] WorstModel worst_models(double epsilon) const;
  [[nodiscard]] RawRow row(JsonObject& answer, const char* key) const;
  [[nodiscard]] double attained_epsilon(JsonObject& answer, AnswerAudit& result) const;
  void check_with_query(JsonObject& answer, AnswerAudit& result) const;
  void check_numbers(JsonObject& answer, const RawRow& query, const RawRow& counterfactual,
                     const FeasibleSet& feasible, AnswerAudit& result) const;
  /// Radius and survival, from a factor of H made here and the definition of both.
  void check_endurance(JsonObject& answer, const FeasibleSet& feasible, const Vector& z,
                       AnswerAudit& result) const;
  void check_constraints(const RawRow& query, const RawRow& counterfactual,
                         const FeasibleSet& feasible, AnswerAudit& result) const;
  void check_certificate(JsonObject& answer, const RawRow& counterfactual,
                         AnswerAudit& result) const;
  /// The certificate is for the answer's class and against all that are not acceptable.
  void check_contest(const Certificate& certificate, AnswerAudit& result) const;
  /// No robust row may cost less than the stated gap admits (theory.md, Result 9).
  void check_gap(double gap, const RawRow& counterfactual, const FeasibleSet& feasible,
                 AnswerAudit& result) const;
  /// What is discrete was searched, and no short proof shows that nothing cheaper exists; but
  /// nothing near may contradict the gap.
  void check_not_beaten(double gap, const RawRow& counterfactual, const FeasibleSet& feasible,
                        AnswerAudit& result) const;
  [[nodiscard]] bool has_rules() const;
  void check_proof(JsonObject infeasible, const FeasibleSet& feasible, AnswerAudit& result) const;
  [[nodiscard]] bool has_several() const;
  void check_best(JsonObject best, AnswerAudit& result) const;
  /// The bounds of the largest ε: that the lower one has the answer that is stated.
  void check_max_epsilon(JsonObject bounds, double stated, const FeasibleSet& feasible,
                         AnswerAudit& result) const;

  const Model* model_;
  AuditRequest asked_;
  std::string source_;
  bool is_exact_;  // gaps and infeasibility can be proved
  Verifier verifier_;
  std::map<Index, Certifier> certifiers_;  // by the class that wins; one logit has one, 0
  ReasonAudit reasons_;
  std::optional<TrueSet> true_set_;      // of one logit
  std::optional<TrueSet> true_classes_;  // of several classes
};

}  // namespace ellice

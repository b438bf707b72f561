#pragma once

// What one answer of a recourse file states, recomputed and held against it.

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "audit/audit_bounds.hpp"
#include "audit/audit_cones.hpp"
#include "audit/audit_constraints.hpp"
#include "audit/audit_enumeration.hpp"
#include "audit/audit_nearly_worst.hpp"
#include "audit/audit_reach.hpp"
#include "audit/audit_reasons.hpp"
#include "audit/audit_request.hpp"
#include "audit/audit_survival.hpp"
#include "audit/audit_true_set.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/certificate/certificate.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice {

class Auditor {
 public:
  /// `source` names the file in messages; the model must outlive this.
  Auditor(const Model& model, AuditRequest asked, std::string source);

  /// `earlier` are those of the same query.
  [[nodiscard]] AnswerAudit audit(JsonObject answer, std::span<const AnswerAudit> earlier) const;

  /// What is wrong with the reference of the reasons, in words; empty where nothing is.
  [[nodiscard]] const std::string& reference_fault() const { return reasons_.fault(); }

  /// A log of points that prove the gap of an answer that holds, for its record; empty where that
  /// takes none or cannot be had.
  [[nodiscard]] Json proof_of(JsonObject answer, std::span<const AnswerAudit> earlier) const;

 private:
  // Points of its own that a verification may look at, for each of the two statements of a gap.
  static constexpr int points_of_verify = 1000;

  /// A row as an answer states it, and its certificate where there is one.
  struct Row {
    RawRow values = {};
    Vector z = {};  // model space
    std::optional<Certificate> certificate = {};
    const Json* log = nullptr;                           // of a proof of its gap
    std::vector<std::vector<std::size_t>> not_all = {};  // what earlier plans change
    /// By cone: a point as it sees it, and H⁻¹ of that, which several checks ask for.
    struct Solved {
      audit::LongVector x_tilde = {};
      audit::LongVector image = {};
    };
    mutable std::vector<Solved> solved = {};
  };

  [[nodiscard]] double cost_between(VectorArg from, const RawRow& to) const;
  /// Relative to the numbers themselves, or to `floor` where they are what larger numbers leave
  /// over.
  [[nodiscard]] static bool agree(double stored, double recomputed, double floor = 1e-6);
  /// For the class that the answer names, where there are many.
  [[nodiscard]] SetChoice set_of(const AnswerAudit& result) const;
  /// The set's ellipsoids for that class; of linear models over their columns, of others over the
  /// features of their last layer.
  [[nodiscard]] const std::vector<audit::Cone>& cones(const AnswerAudit& result) const;
  /// The score cᵀθ of the true set's heads, one for each rival where there are many classes.
  [[nodiscard]] std::vector<audit::LongVector> scores(const Vector& z,
                                                      const AnswerAudit& result) const;
  /// Logit and robust logit of any row, by the verifier's arithmetic.
  [[nodiscard]] Evaluation evaluate(const Row& row, const AnswerAudit& result) const;
  [[nodiscard]] Evaluation evaluate_true(const Row& row, const AnswerAudit& result) const;
  /// The least score that models of the true set were found to give a row.
  [[nodiscard]] double attained_by_true(const Row& row, const AnswerAudit& result) const;
  /// Whether a number is a bound on it as good as searches are content with.
  [[nodiscard]] bool is_bound_of_true(double stated, const Row& row, const Evaluation& found,
                                      const AnswerAudit& result) const;
  /// What rounding the objective may take from the worst score: ρ of it moves that by ρ/τ, τ being
  /// about 2ε/penalty (theory.md, Result 27), once for L and once for L̂ and twice for its bounds.
  [[nodiscard]] double lost_by_true(const Evaluation& found, const AnswerAudit& result) const;

  /// The answer names one of the classes that were asked for.
  void check_target(JsonObject& answer, AnswerAudit& result) const;
  [[nodiscard]] RawRow row(JsonObject& answer, const char* key) const;
  [[nodiscard]] double attained_epsilon(JsonObject& answer, AnswerAudit& result) const;
  void check_with_query(JsonObject& answer, std::span<const AnswerAudit> earlier,
                        AnswerAudit& result) const;
  void check_row(JsonObject& answer, const RawRow& query, const audit::RowConstraints& constraints,
                 std::span<const AnswerAudit> earlier, AnswerAudit& result) const;
  /// Whether a certificate is about such models as were asked for, so that they can be read.
  [[nodiscard]] bool fits(const Certificate& certificate) const;
  [[nodiscard]] std::vector<std::vector<std::size_t>> changed_by(
      std::span<const AnswerAudit> plans) const;
  /// How many features differ.
  [[nodiscard]] std::size_t check_changes(JsonObject& answer, const RawRow& query, const Row& row,
                                          AnswerAudit& result) const;
  void check_distance(JsonObject distance, const Row& row, const audit::RowConstraints& constraints,
                      std::size_t differing, AnswerAudit& result) const;
  void check_logits(JsonObject& answer, const Row& row, const Evaluation& found,
                    AnswerAudit& result) const;
  /// Up to which ε a row is robust, between two numbers; of ellipsoids they are one.
  struct Radius {
    double least = std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
  };
  [[nodiscard]] Radius radius_of(const Row& row, const AnswerAudit& result) const;
  /// What it may be found to be in double precision.
  [[nodiscard]] Radius radius_in_doubles(const Row& row, const AnswerAudit& result) const;
  /// What is lost of the true set's radius with the digits of hidden units: it is the least excess
  /// of a model θ with cᵀθ ≤ t, whose slope along c is τ·θ, and τ is about 2·radius/margin.
  [[nodiscard]] double lost_by_features(const Row& row, double radius,
                                        const AnswerAudit& result) const;
  [[nodiscard]] const SurvivalCurvature& survival_curvature() const;
  /// What the cone of that number solves for the point, once for each row.
  [[nodiscard]] static const audit::LongVector& image(const Row& row, std::size_t number,
                                                      const audit::Cone& cone,
                                                      const audit::LongVector& x_tilde);
  void check_radius(JsonObject& answer, const Row& row, AnswerAudit& result) const;
  [[nodiscard]] double ellipsoid_radius(const Row& row, const AnswerAudit& result) const;
  /// The certificate by itself, and that it is about this row and what was asked for.
  [[nodiscard]] Evaluation check_certificate(const Row& row, AnswerAudit& result) const;
  /// The certificate is for the answer's class and against all that are not acceptable.
  void check_contest(const Certificate& certificate, AnswerAudit& result) const;

  /// No robust row may cost less than the stated gap admits (theory.md, Result 9).
  void check_gap(double gap, const Row& row, const audit::RowConstraints& constraints,
                 AnswerAudit& result) const;
  /// By deciding all that is discrete, where that does not take too long.
  [[nodiscard]] audit::Enumerated check_by_cases(double gap, const Row& row,
                                                 const audit::RowConstraints& constraints,
                                                 const AnswerAudit& result,
                                                 int most_points = points_of_verify,
                                                 Json* record = nullptr) const;
  [[nodiscard]] bool is_enumerable(const AnswerAudit& result) const;
  /// Whether the answer says that fewer changes do not suffice.
  [[nodiscard]] bool claims_fewest(const AnswerAudit& result) const;
  void check_fewest(const Row& row, const audit::RowConstraints& constraints,
                    AnswerAudit& result) const;
  [[nodiscard]] audit::Enumerated check_fewer(const Row& row,
                                              const audit::RowConstraints& constraints,
                                              const AnswerAudit& result, int most_points,
                                              Json* record) const;
  [[nodiscard]] std::string advice(const Row& row) const;
  struct ProofEffort {
    const char* key = "";  // of the log
    int most_points = 0;
    Json* record = nullptr;
    std::optional<double> threshold = {};  // instead of the one that answers need
  };
  /// Whether it is proved, with models that are worst near a row among others, that no allowed row
  /// with so few changes has a robust logit of so much.
  [[nodiscard]] bool is_empty(double threshold, const Row& near,
                              const audit::RowConstraints& constraints, const AnswerAudit& result,
                              std::optional<std::int64_t> most_changes) const;
  /// What a solve with H in extended precision may lose, relatively.
  [[nodiscard]] double extended_rounding(const AnswerAudit& result) const;
  /// An ε at which the worst models of ellipsoids, rounding included, belong to those asked for.
  [[nodiscard]] double surely_inside(const AnswerAudit& result) const;
  [[nodiscard]] audit::Enumerated enumerate(const Row& row,
                                            const audit::RowConstraints& constraints,
                                            const AnswerAudit& result,
                                            std::optional<double> claimed,
                                            std::optional<std::int64_t> most_changes,
                                            const ProofEffort& effort) const;
  /// Models that are worst at a row, and what certified rows near it keep from the threshold.
  struct WorstThere {
    std::vector<audit::LongVector> models = {};
    std::vector<audit::LongVector> heads = {};  // of the true set: the same, of all classes
    double needed = 0;
    double clear = 0;  // beyond it, so that rounding does not decide
  };
  /// Of the true set, for each rival: an ellipsoid like it around the model that is worst at the
  /// row, and models of it nearby.
  void add_guides(const Row& row, const WorstThere& worst, const AnswerAudit& result,
                  std::vector<audit::Cone>& guides, std::vector<audit::NearlyWorst>& nearly) const;
  [[nodiscard]] Json prove(const Row& row, double gap, const audit::RowConstraints& constraints,
                           const AnswerAudit& result) const;
  /// Whether other numbers, with all that is discrete as it is, may leave the gap as stated; where
  /// nothing is discrete, that is all there is to it.
  [[nodiscard]] bool check_numbers(double gap, const Row& row,
                                   const audit::RowConstraints& constraints,
                                   AnswerAudit& result) const;
  /// What a gap says that no robust row undercuts; squared where the cost is a root.
  [[nodiscard]] double claimed_cost(double gap, const AnswerAudit& result) const;
  [[nodiscard]] WorstThere worst_at(const Row& row, const AnswerAudit& result) const;
  /// The cost of what is not discrete; adds what the rest of the row costs to `spent`.
  [[nodiscard]] audit::ColumnCost cost_of_numbers(const Row& row,
                                                  const audit::RowConstraints& constraints,
                                                  double& spent) const;
  [[nodiscard]] audit::CostBounds least_cost(double claimed, const audit::ColumnCost& cost,
                                             const Row& row,
                                             const audit::RowConstraints& constraints,
                                             const AnswerAudit& result) const;
  /// `worst` are models of the set that are worst at `start`.
  [[nodiscard]] audit::CostBounds least_cost(const audit::CostQuestion& question,
                                             const std::vector<audit::LongVector>& worst,
                                             const Vector& start) const;
  /// What is discrete was searched, and no short proof shows that nothing cheaper exists; but
  /// nothing near may contradict the gap.
  void check_not_beaten(double gap, const Row& row, const audit::RowConstraints& constraints,
                        AnswerAudit& result) const;
  [[nodiscard]] bool is_robust(const RawRow& row, const Vector& z, const Certificate& known,
                               const AnswerAudit& result) const;
  [[nodiscard]] bool has_rules() const;
  void check_proof(JsonObject infeasible, const audit::RowConstraints& constraints,
                   AnswerAudit& result) const;
  /// Proofs that there is no answer at an ε, one for each case; gives what no row scores more than.
  double check_cases(std::vector<JsonObject> proofs, const audit::RowConstraints& constraints,
                     double epsilon, std::string_view about, AnswerAudit& result) const;
  /// That every row was searched, which is not done again; gives no bound.
  double check_enumeration(JsonObject proof, const Row& near,
                           const audit::RowConstraints& constraints, AnswerAudit& result) const;
  /// An allowed row, its score, and `bound`, which the proof shows that no row exceeds.
  void check_best(JsonObject best, double bound, const audit::RowConstraints& constraints,
                  AnswerAudit& result) const;
  /// A row that is robust up to the lower one and no farther, and that the upper one has no answer.
  void check_epsilon_bounds(JsonObject bounds, double stated, const Row& near,
                            const audit::RowConstraints& constraints, AnswerAudit& result) const;
  /// That these constraints alone leave no answer, and that without any one of them there is one.
  void check_blocking(JsonObject& infeasible, const Row& near,
                      const audit::RowConstraints& constraints, AnswerAudit& result) const;
  [[nodiscard]] bool is_witness(const Row& row, const std::vector<std::string>& kept,
                                const audit::RowConstraints& constraints,
                                const AnswerAudit& result) const;
  [[nodiscard]] Row row_of(RawRow values) const;
  [[nodiscard]] bool changes_at_most(std::int64_t most, const RawRow& row,
                                     const audit::RowConstraints& constraints) const;
  /// Of the sets of a record, which must outlive it.
  [[nodiscard]] audit::ReachIn reach_near(double near, const AnswerAudit& result) const;
  /// Whether it is proved that no allowed row with so few changes is robust beyond `most`.
  [[nodiscard]] bool refuses_every_row(double most, const Row& near,
                                       const audit::RowConstraints& constraints,
                                       const AnswerAudit& result,
                                       std::optional<std::int64_t> most_changes) const;
  /// Of files without bounds: below the ε asked for, no less than a point of the relaxation
  /// attains, no more than models admit.
  void check_max_epsilon(double stated, const audit::RowConstraints& constraints,
                         AnswerAudit& result) const;

  const Model* model_;
  AuditRequest asked_;
  std::string source_;
  bool is_exact_;  // gaps and infeasibility can be proved
  Verifier verifier_;
  ReasonAudit reasons_;
  std::optional<audit::TrueModels> true_models_;
  std::unique_ptr<std::mutex> making_ = std::make_unique<std::mutex>();  // guards what follows
  mutable std::map<Index, std::vector<audit::Cone>> cones_;  // by the class that wins, as needed
  mutable std::map<Index, double> roundings_;                // likewise
  mutable std::optional<SurvivalCurvature> survival_curvature_ = {};  // as needed
};

}  // namespace ellice

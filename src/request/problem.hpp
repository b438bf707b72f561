#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "certificate/certifier.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "ellice/request/constraints.hpp"
#include "ellice/request/cost.hpp"
#include "ellice/request/query.hpp"
#include "ellice/sets/retraining.hpp"
#include "request/feasible_set.hpp"
#include "sets/question.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

/// What is asked of every query: a row that every model of the set accepts, at the least cost.
struct Problem {
  const Model* model = nullptr;
  SetChoice set = {};
  double epsilon = 0;
  double threshold = 0;
  Cost cost = {};
  Constraints constraints = {};
  Retraining retraining = {};          // for which the survival of answers is predicted
  const StoredRows* fitted = nullptr;  // the rows of the model, for that, where they are at hand
  /// Answers are rounded to these steps (per feature) where the schema has no grid: for tables and
  /// pages.
  std::vector<std::optional<double>> display_steps = {};
};

/// Beyond this the squares of penalties overflow; no model is that much worse than another.
inline constexpr double largest_epsilon = 1e100;

/// Throws Error{argument} for a set of models, ε, threshold, cost or constraint that cannot be.
void validate(const Problem& problem);

/// The largest ε for which the point (model space) is robust, and what that means for retraining.
struct Endurance {
  double robustness_radius = 0;
  /// Of linear models, for rows drawn again (theory.md, Result 33); what fresh rows do depends on
  /// how the answer was found, and is stated later.
  std::optional<Survival> survival = {};
};

/// Nothing for sets of which no radius is stated (see no_radius_reason). `retrained` may be absent:
/// then no survival is predicted. The worst head at the point saves work.
[[nodiscard]] std::optional<Endurance> endurance(const Problem& problem, const Question& question,
                                                 const RetrainedHead* retrained, VectorArg z,
                                                 const Vector* worst = nullptr);

/// Why answers have no robustness radius, and why none have a predicted survival; empty where they
/// do.
[[nodiscard]] std::string no_radius_reason(const Problem& problem);
[[nodiscard]] std::string no_survival_reason(const Problem& problem);

/// Steps that round each numeric feature to some three digits of its training range.
[[nodiscard]] std::vector<std::optional<double>> sensible_steps(const Encoder& encoder);

/// Makes answers out of candidates, the same way for every method: decodes, checks the constraints
/// on the row as written, certifies it, measures it. Nothing becomes a Answer with a certificate
/// in any other way.
class Assembler {
 public:
  explicit Assembler(const Problem& problem);

  /// The set of models as searches see it.
  [[nodiscard]] const UncertaintySet& set() const { return *set_; }
  /// What is asked of rows; none for first-order sets.
  [[nodiscard]] const Question* question() const { return certifier_.question(); }
  /// An answer without counterfactual: query, index, violations.
  [[nodiscard]] Answer begin(const Query& query, const FeasibleSet& feasible) const;
  /// Whether the query itself is robust; fills the answer if so (status already_robust).
  [[nodiscard]] bool already_robust(Answer& answer, const FeasibleSet& feasible) const;
  /// Fills in a candidate (raw numbers). True if it satisfies every constraint and is certified;
  /// otherwise the answer is unchanged. The worst head at a point nearby saves work.
  [[nodiscard]] bool accept(Answer& answer, VectorArg raw, const FeasibleSet& feasible,
                            const WorstHead* nearby = nullptr) const;
  /// The same for an ε below the problem's (status reduced).
  [[nodiscard]] bool accept_reduced(Answer& answer, VectorArg raw, const FeasibleSet& feasible,
                                    double epsilon) const;
  /// Whether a row (raw numbers) is certified, whatever the constraints say of it.
  [[nodiscard]] bool certifies(VectorArg raw) const;
  /// Fills in a row that need not pass (methods that promise nothing): status certified or
  /// uncertified.
  void take(Answer& answer, VectorArg raw, const FeasibleSet& feasible) const;

 private:
  [[nodiscard]] bool accept(Answer& answer, VectorArg raw, const FeasibleSet& feasible,
                            const Certifier& certifier, const WorstHead* nearby) const;
  /// A row as searches, people and models see it.
  struct Candidate {
    Vector raw = {};
    RawRow values = {};
    Vector z = {};
  };
  [[nodiscard]] Candidate candidate(VectorArg raw) const;
  /// `found` is what an answer without a certificate states.
  void measure(Answer& answer, Candidate row, const FeasibleSet& feasible,
               const Evaluation& found = {}) const;

  const Problem* problem_;
  Certifier certifier_;
  std::unique_ptr<UncertaintySet> set_;
  std::optional<RetrainedHead> retrained_;  // where survival is predicted here
};

}  // namespace ellice

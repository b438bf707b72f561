#pragma once

// The answer to one query, and its JSON form (docs/reference/formats.md).

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/certificate/certificate.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/reasons.hpp"
#include "ellice/sets/attack.hpp"
#include "ellice/sets/retraining.hpp"

namespace ellice {

/// The envelope of a file of answers.
inline constexpr std::string_view recourse_format = "ellice.recourse";

enum class Status {
  optimal,         // certified, and no certified point is cheaper (to 1e-9)
  certified,       // certified; optimality not proved
  already_robust,  // the query itself is certified
  reduced,         // certified for a smaller ε
  infeasible,      // proved that nothing satisfies the constraints and the set
  not_found,       // the search ended without an answer and without a proof
  uncertified,     // of a method that promises nothing: the row does not pass the check
  invalid,         // the query could not be read
};
template <>
struct EnumNames<Status> {
  static constexpr std::array<std::string_view, 8> names = {
      "optimal",    "certified", "already_robust", "reduced",
      "infeasible", "not_found", "uncertified",    "invalid"};
};

struct Change {
  std::string feature = {};
  Value from = {};
  Value to = {};
  std::optional<double> points = {};  // of a scorecard: what it adds to the score
};

/// What a person has in the points of a scorecard.
struct Score {
  double now = 0;
  std::optional<double> after = {};  // with the changes, where there is a row
  double needed = 0;                 // by the scorecard itself; plans hold for other models, too
  bool is_upper = false;             // at most so many: more points are worse
};

struct Distance {
  double l2 = 0;  // norms of the move in model space, all encoded columns
  double l1 = 0;
  double weighted = 0;  // the cost that was minimised
  int changed = 0;      // original features
};

/// A model of one of several sets, and its share.
struct WeightedModel {
  std::size_t member = 0;
  double weight = 0;
  Vector model = {};
};

/// What a rule's slack counts in a proof: > 0 for the side «at most», < 0 for «at least».
struct WeightedRule {
  std::string rule = {};
  double multiplier = 0;
};

/// No point that the constraints allow gets a weighted sum of models and of the rules' slacks that
/// is more than upper_bound < t, although one with an answer would get t at least: anyone can check
/// that by maximising one linear function over a box (theory.md, Result 16). Without models the
/// rules alone leave nothing, and upper_bound < 0.
struct InfeasibilityProof {
  double upper_bound = 0;
  Vector model = {};  // Σ weight·θ, a model where there is one set; empty if the rules suffice
  std::vector<WeightedModel> models = {};  // where there are several sets; weights add up to 1
  std::vector<WeightedRule> rules = {};    // that take part
  std::vector<std::string> supposes = {};  // the case it is about, where implications make several
};

/// Between which two numbers the largest ε with an answer lies.
struct EpsilonBounds {
  std::optional<double> lower = {};  // the point is an answer there; nothing: none was found
  RawRow point = {};
  double upper = 0;  // proved: no answer at this ε, nor at a larger one
  /// What proves it, one for each case; empty where it took a search of all that is discrete.
  std::vector<InfeasibilityProof> proofs = {};
};

/// A minimal set of constraints that rules out every answer: with these alone there is none, and
/// without any one of them there is (theory.md, Result 48).
struct Blocking {
  std::vector<std::string> constraints = {};  // none: there is no answer whatever changes
  std::vector<RawRow> witnesses = {};         // an answer without the constraint of the same place
  bool is_proved = false;                     // otherwise likely: a search ended at its limit
  /// That these alone leave no answer, by case; empty where it took a search.
  std::vector<InfeasibilityProof> proofs = {};
};

/// Why there is no answer.
struct Infeasibility {
  double upper_bound = 0;  // of the proof, or the largest of its cases
  Vector model = {};
  std::vector<WeightedModel> models = {};
  std::vector<WeightedRule> rules = {};
  std::vector<InfeasibilityProof> cases = {};  // instead of model, models and rules
  EpsilonBounds max_epsilon = {};              // under these constraints
  Blocking blocking = {};
  RawRow best = {};  // the allowed row with the largest robust logit, if any was found
  double best_robust_logit = 0;
  /// No allowed row has a larger one; that of the best, but for rounding, where the search for it
  /// came to its end.
  double best_bound = 0;
};

struct Answer {
  std::size_t query_index = 0;
  int plan = 0;
  Status status = Status::not_found;
  std::optional<std::string> id = {};
  std::string target = {};  // many classes: the one that the row is to get
  RawRow query = {};        // as given
  std::vector<std::string> query_violations = {};
  /// Why the base model declines the query, where it does and where that was asked for.
  std::optional<Reasons> reasons = {};
  /// Features that could change but kept the query's value, because their kind is not searched.
  std::vector<std::string> held = {};
  std::optional<RawRow> counterfactual = {};
  std::vector<Change> changes = {};
  std::optional<Score> score = {};  // of scorecards
  Distance distance = {};
  double logit = 0;         // of the counterfactual: base model; many classes: smallest margin
  double robust_logit = 0;  // worst model
  /// Of the counterfactual, for the last-layer set: the largest ε for which it is robust, and for
  /// linear models the probability that the retrained model accepts it (theory.md, Result 33).
  std::optional<double> robustness_radius = {};
  std::optional<double> predicted_survival = {};
  /// What predicted_survival takes into account: of fresh rows the selection effect (Result 35), as
  /// a fall of the logit; of few rows drawn again what refitted models show beyond the sandwich.
  std::optional<double> selection_shift = {};
  std::optional<RefitCorrection> refits = {};
  /// Of fresh rows: how sure the mean over models is, and where nine of ten training samples put
  /// this answer's own probability.
  std::optional<Interval> survival_interval = {};
  std::optional<Interval> survival_spread = {};
  std::optional<double> gap = {};  // relative optimality gap, where known
  std::optional<Certificate> certificate = {};
  std::optional<Infeasibility> infeasible = {};
  std::optional<double> attained_epsilon = {};
  std::optional<Attack> attack = {};  // where asked for: what was found against it
  std::optional<double> seconds = {};
  std::string message =
      {};  // what a person should know: why nothing was found, what could not be read
  /// Of one plan among several: how it differs from those before it.
  std::string reason = {};
  std::shared_ptr<const Schema> schema = {};  // what its rows mean, in answers of an Explainer
};

[[nodiscard]] bool is_certified(Status status);

/// Writes a prediction, or that there is none, into the fields of an answer.
void state_survival(Answer& answer, const std::optional<Survival>& survival);

[[nodiscard]] Json to_json(const Answer& recourse, const Schema& schema);

}  // namespace ellice

#pragma once

// Sets of models that are held against answers, whoever made these: prepared once from a base model
// and its rows, then shared by all methods that are compared.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "sets/stress.hpp"

namespace ellice {

/// Which models judge. «Filtered» ones have L(Θ) ≤ L(Θ̂) + ε, L the training objective on the rows
/// that the base Θ̂ was fitted on.
enum class EvaluatorKind {
  retrain,       // filtered: trained like the base, from other initial weights
  dropout,       // filtered: the base with multiplicative weight noise
  awp,           // filtered: the base, moved against its answer for one training row each
  awp_targeted,  // filtered: the base, moved against the very answer that is judged
  ellipsoid,     // the worst model of the last-layer ellipsoid at ε
  true_set,      // filtered: the worst head at the answer, hidden layers fixed
  bootstrap,     // trained on rows drawn with replacement
  shift,         // trained on other rows, in the base's scale
};
template <>
struct EnumNames<EvaluatorKind> {
  static constexpr std::array<std::string_view, 8> names = {
      "retrain", "dropout", "awp", "awp-targeted", "ellipsoid", "true", "bootstrap", "shift"};
};

/// Whether a model is sought for each answer, rather than a set made once.
[[nodiscard]] constexpr bool is_per_answer(EvaluatorKind kind) {
  return kind == EvaluatorKind::awp_targeted || kind == EvaluatorKind::ellipsoid ||
         kind == EvaluatorKind::true_set;
}

/// «retrain,awp»: each once, in the order given. Throws Error{argument} with a suggestion.
[[nodiscard]] std::vector<EvaluatorKind> parse_evaluators(const std::vector<std::string>& names);

struct EvaluatorOptions {
  Variant variant = Variant::corrected;
  int retrain_models = 200;
  int dropout_models = 600;
  int awp_models = 600;
  int bootstrap_models = 200;
  int shift_models = 200;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(),
          "sets and averages as the paper's authors ran them, or corrected");
    visit("retrain_models", self.retrain_models, at_least(1),
          "networks wanted of evaluator retrain; at most twice as many are trained");
    visit("dropout_models", self.dropout_models, at_least(1), "models wanted of dropout");
    visit("awp_models", self.awp_models, at_least(1),
          "models wanted of awp; no more than there are training rows");
    visit("bootstrap_models", self.bootstrap_models, at_least(1), "models of bootstrap");
    visit("shift_models", self.shift_models, at_least(1),
          "networks of shift; a linear model has one");
  }
  bool operator==(const EvaluatorOptions&) const = default;
};

/// The base and its rows, in model space. All of it must outlive the evaluators.
struct EvaluationSource {
  const Model* model = nullptr;
  const StoredRows* fitted = nullptr;
  const StoredRows* validation = nullptr;  // of a network's early stopping, where there are any
  const StoredRows* other = nullptr;       // of shift: rows that the base has not seen
  double threshold = 0;                    // the target class is given from this logit on
};

/// What a set consists of.
struct EvaluatorSummary {
  EvaluatorKind kind = EvaluatorKind::retrain;
  std::optional<double> epsilon = {};   // nothing for kinds that do not depend on it
  std::optional<double> bound = {};     // on L(Θ); nothing for kinds that are not filtered
  bool is_per_answer = false;           // one model is sought for each answer
  std::size_t models = 0;               // in the set; 0 if per answer
  std::size_t tried = 0;                // made to get them
  double noise = 0;                     // σ of dropout
  std::vector<double> objectives = {};  // L(Θ) of each model; for shift on its own rows

  /// An empty set says nothing about any answer.
  [[nodiscard]] bool is_defined() const { return is_per_answer || models > 0; }
};

/// Of each answer.
struct WorstScores {
  /// The smallest that a model of the set gives. awp-targeted: of the first model below the
  /// threshold, if one was found; true: a proved lower bound.
  Vector logits = {};
  Vector objectives = {};  // per answer: L(Θ) of the model that gives it; else empty
};

/// Const and shared between threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  [[nodiscard]] const EvaluatorSummary& summary() const { return summary_; }
  /// The models of a set that was made once, to be kept; none for kinds that work per answer.
  [[nodiscard]] virtual const StressSet* models() const { return nullptr; }
  /// For a batch of points in model space; the same for any number of threads. Nothing where the
  /// set is empty.
  [[nodiscard]] virtual std::optional<WorstScores> worst(RowMatrixArg points,
                                                         const Execution& execution = {}) const = 0;

 protected:
  explicit Evaluator(EvaluatorSummary summary) : summary_(std::move(summary)) {}

 private:
  EvaluatorSummary summary_;
};

using EvaluatorPointer = std::shared_ptr<const Evaluator>;

/// Every kind at every ε, by kind and then ε; kinds that do not depend on ε once. Networks are
/// retrained once, for the largest ε, and filtered for the others. Where the published variant
/// differs: the sets of rashomon/stress; the ellipsoid, whose axes were scaled by 0.99 and whose
/// matrix H/(2ε) gained 1e-6·I; shift, which was filtered to ε of a base trained on the other rows.
/// Throws Error{argument} for a model with several outputs, ε ≤ 0, or rows that are missing.
[[nodiscard]] std::vector<EvaluatorPointer> make_evaluators(const EvaluationSource& source,
                                                            const std::vector<EvaluatorKind>& kinds,
                                                            const std::vector<double>& epsilons,
                                                            const EvaluatorOptions& options,
                                                            const Random& seeds,
                                                            const Execution& execution = {});

/// Models that were made earlier.
[[nodiscard]] EvaluatorPointer evaluator_of(EvaluatorKind kind, std::optional<double> epsilon,
                                            StressSet models);

/// L(Θ̂) of the base on the rows that it was fitted on: what a bound is counted from.
[[nodiscard]] double base_objective(const EvaluationSource& source);

}  // namespace ellice

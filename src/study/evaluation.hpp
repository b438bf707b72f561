#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/model/model.hpp"
#include "study/evaluator.hpp"
#include "study/metrics.hpp"
#include "study/outlier_factor.hpp"
#include "study/statistics.hpp"

namespace ellice {

/// By what answers are judged: made once, and shared by all methods that are compared.
struct EvaluationSetup {
  const Model* model = nullptr;
  double threshold = 0;
  Variant variant = Variant::corrected;
  std::vector<EvaluatorPointer> evaluators = {};
  std::vector<Measure> measures = all_measures();
  const OutlierFactor* plausibility = nullptr;  // for lof, which is not measured without
  IntervalOptions intervals = {};
  Random seeds = Random(0);  // of the intervals
};

/// One answer, and what each evaluator made of it.
struct EvaluatedAnswer {
  MeasuredAnswer measured = {};
  /// By evaluator; nothing where its set is empty or there is no answer.
  std::vector<std::optional<double>> worst_logits = {};
  std::vector<std::optional<double>> objectives = {};  // of models sought per answer
};

struct EvaluatorResult {
  EvaluatorSummary summary = {};
  std::size_t robust = 0;  // answers that the base and every model of the set accept
  /// Of all explained rows: what was not found is not robust. Nothing where the set is empty.
  std::optional<double> robustness = {};
  std::optional<Interval> interval = {};  // of it
  /// Of valid answers. Nothing where there are none; 0 then in the published variant.
  std::optional<double> robustness_valid_only = {};
  std::optional<Summary> l2 = {};  // of robust answers
};

struct MeasureResult {
  Measure measure = Measure::validity;
  std::optional<Summary> summary = {};
};

struct EvaluationResult {
  std::size_t rows = 0;  // explained
  std::size_t found = 0;
  std::size_t valid = 0;
  double threshold = 0;
  Variant variant = Variant::corrected;
  std::vector<MeasureResult> measures = {};
  std::vector<EvaluatorResult> evaluators = {};
  std::vector<EvaluatedAnswer> answers = {};
  std::optional<double> preparation_seconds = {};

  /// Whether every model of an evaluator's set gives the answer the target class.
  [[nodiscard]] std::optional<bool> holds(std::size_t answer, std::size_t evaluator) const;
  /// The same and valid; false where nothing was found, nothing where the set is empty.
  [[nodiscard]] std::optional<bool> is_robust(std::size_t answer, std::size_t evaluator) const;
  /// How many answers are robust for every evaluator whose set is not empty; nothing where all are.
  [[nodiscard]] std::optional<std::size_t> survive_all() const;
};

/// The same for any number of threads.
[[nodiscard]] EvaluationResult evaluate(const AnswerBatch& batch, const EvaluationSetup& setup,
                                        const Execution& execution = {});

/// One metric or one evaluator's robustness of two methods, on rows that both explained: of the
/// metrics of valid answers those that are valid in both.
struct Comparison {
  std::string name = {};  // of the metric, or of the evaluator
  std::optional<Measure> measure = {};
  std::optional<PairedDifference> result = {};  // nothing where there are no such rows
};

/// a against b, which must have been judged by the same setup.
[[nodiscard]] std::vector<Comparison> compare(const EvaluationResult& a, const EvaluationResult& b,
                                              const IntervalOptions& options, const Random& random);

}  // namespace ellice

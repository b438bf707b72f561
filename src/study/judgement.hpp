#pragma once

// One evaluation from beginning to end: which models and metrics judge answers, and what they say.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ellice/request/training_rows.hpp"
#include "study/evaluation.hpp"
#include "study/evaluation_file.hpp"

namespace ellice {

/// What is asked of answers.
struct JudgementQuestion {
  std::vector<std::string> evaluators = {"retrain", "bootstrap", "dropout", "awp", "ellipsoid"};
  std::vector<std::string> metrics = {};  // none: all
  std::string epsilon = {};               // a rule; empty: that of the answers
  double threshold = 0;
  EvaluatorOptions options = {};
  PlausibilityOptions plausibility = {};
  IntervalOptions intervals = {};
  ExplainedRows explained = ExplainedRows::declined;
  std::uint64_t seed = 0;
};

/// Answers with the ε for which they are certified.
struct JudgedAnswers {
  AnswerBatch batch = {};              // one for every query
  std::optional<double> epsilon = {};  // nothing, or 0: judged at usual_epsilon
};

/// Where answers are not certified for any: that of the paper's tables.
inline constexpr const char* usual_epsilon = "10%";

/// By which rows: those that the model was fitted to and, for the evaluator shift, others. Both
/// must outlive the call.
struct JudgementRows {
  const TrainingRows* known = nullptr;
  const StoredRows* other = nullptr;
};

struct Judgement {
  EvaluationResult result = {};
  EvaluationRequest request = {};
  std::vector<Comparison> comparisons = {};  // with `against`: differences by row

  [[nodiscard]] Json to_json() const;
};

/// Whether the evaluator shift is asked for, which needs other rows.
[[nodiscard]] bool asks_for_other_rows(const JudgementQuestion& question);

/// Answers, and where there are any others to the same people beside them. Throws Error{argument}
/// for an evaluator or a metric that nobody knows, and for rows that are missing.
[[nodiscard]] Judgement judge(const Model& model, const JudgementRows& rows,
                              const JudgedAnswers& answers, const AnswerBatch* against,
                              const JudgementQuestion& question, const Execution& execution = {});

}  // namespace ellice

#include "study/evaluation.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// Streams of the seed: a measure's number, and an evaluator's after them.
constexpr std::uint64_t evaluator_streams = 100;

/// The rows with an answer, and where each of them stands.
struct FoundPoints {
  RowMatrix points = {};
  std::vector<std::size_t> places = {};
};

FoundPoints found_points(const AnswerBatch& batch) {
  FoundPoints result;
  std::vector<Index> rows;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!batch.found[i]) continue;
    result.places.push_back(i);
    rows.push_back(static_cast<Index>(i));
  }
  result.points = batch.points(rows, Eigen::all);
  return result;
}

void score(const Evaluator& evaluator, std::size_t place, const FoundPoints& found,
           const Execution& execution, std::vector<EvaluatedAnswer>& answers) {
  if (found.places.empty()) return;
  const std::optional<WorstScores> scores = evaluator.worst(found.points, execution);
  if (!scores) return;
  for (std::size_t k = 0; k < found.places.size(); ++k) {
    EvaluatedAnswer& answer = answers[found.places[k]];
    answer.worst_logits[place] = scores->logits(static_cast<Index>(k));
    if (scores->objectives.size() > 0)
      answer.objectives[place] = scores->objectives(static_cast<Index>(k));
  }
}

void sum_up(std::size_t place, const EvaluationSetup& setup, EvaluationResult& evaluation) {
  EvaluatorResult& result = evaluation.evaluators[place];
  if (!result.summary.is_defined() || evaluation.rows == 0) return;
  std::vector<double> distances;
  for (std::size_t i = 0; i < evaluation.rows; ++i) {
    if (*evaluation.is_robust(i, place)) {
      distances.push_back(evaluation.answers[i].measured.l2);
    }
  }
  result.robust = distances.size();
  const auto robust = static_cast<double>(result.robust);
  result.robustness = robust / static_cast<double>(evaluation.rows);
  result.interval = wilson_interval(result.robust, evaluation.rows, setup.intervals.confidence);
  if (evaluation.valid > 0) {
    result.robustness_valid_only = robust / static_cast<double>(evaluation.valid);
  } else if (setup.variant == Variant::published) {
    result.robustness_valid_only = 0;
  }
  result.l2 = summarise(distances, setup.intervals, setup.seeds.split(evaluator_streams + place));
}

/// Both values of the rows that both methods explained.
struct Pairs {
  std::vector<double> a = {};
  std::vector<double> b = {};
};

std::vector<std::pair<std::size_t, std::size_t>> common_rows(const EvaluationResult& a,
                                                             const EvaluationResult& b) {
  std::unordered_map<std::size_t, std::size_t> places;
  for (std::size_t j = 0; j < b.rows; ++j) places[b.answers[j].measured.query_index] = j;
  std::vector<std::pair<std::size_t, std::size_t>> rows;
  for (std::size_t i = 0; i < a.rows; ++i) {
    const auto found = places.find(a.answers[i].measured.query_index);
    if (found != places.end()) rows.emplace_back(i, found->second);
  }
  return rows;
}

}  // namespace

std::optional<bool> EvaluationResult::holds(std::size_t answer, std::size_t evaluator) const {
  const std::optional<double>& worst = answers[answer].worst_logits[evaluator];
  return worst ? std::optional(*worst >= threshold) : std::nullopt;
}

std::optional<bool> EvaluationResult::is_robust(std::size_t answer, std::size_t evaluator) const {
  if (!evaluators[evaluator].summary.is_defined()) return std::nullopt;
  const MeasuredAnswer& measured = answers[answer].measured;
  return measured.is_found && measured.is_valid && holds(answer, evaluator).value_or(false);
}

std::optional<std::size_t> EvaluationResult::survive_all() const {
  const bool is_judged =
      std::any_of(evaluators.begin(), evaluators.end(),
                  [](const EvaluatorResult& one) { return one.summary.is_defined(); });
  if (!is_judged) return std::nullopt;
  std::size_t count = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    bool survives = true;
    for (std::size_t k = 0; k < evaluators.size(); ++k)
      survives = survives && is_robust(i, k).value_or(true);
    count += survives ? 1 : 0;
  }
  return count;
}

EvaluationResult evaluate(const AnswerBatch& batch, const EvaluationSetup& setup,
                          const Execution& execution) {
  require(setup.model != nullptr, "an evaluation needs the model that was explained");
  require(batch.queries.cols() == setup.model->encoder.columns() &&
              batch.points.cols() == batch.queries.cols(),
          "answers have {} columns, the model {}", batch.points.cols(),
          setup.model->encoder.columns());
  const bool wants_lof =
      std::find(setup.measures.begin(), setup.measures.end(), Measure::lof) != setup.measures.end();
  EvaluationResult result{.rows = batch.size(),
                          .threshold = setup.threshold,
                          .variant = setup.variant,
                          .preparation_seconds = batch.preparation_seconds};
  const std::vector<MeasuredAnswer> measured = measure_answers(
      batch, *setup.model, setup.threshold, wants_lof ? setup.plausibility : nullptr, execution);
  for (const MeasuredAnswer& answer : measured) {
    result.found += answer.is_found ? 1 : 0;
    result.valid += answer.is_valid ? 1 : 0;
    EvaluatedAnswer evaluated{.measured = answer};
    evaluated.worst_logits.resize(setup.evaluators.size());
    evaluated.objectives.resize(setup.evaluators.size());
    result.answers.push_back(std::move(evaluated));
  }
  for (const Measure measure : setup.measures) {
    if (measure == Measure::lof && setup.plausibility == nullptr) continue;
    result.measures.push_back(
        {.measure = measure,
         .summary = average(measure, measured, setup.variant, setup.intervals,
                            setup.seeds.split(static_cast<std::uint64_t>(measure)))});
  }
  const FoundPoints found = found_points(batch);
  for (const EvaluatorPointer& evaluator : setup.evaluators) {
    result.evaluators.push_back({.summary = evaluator->summary()});
  }
  for (std::size_t place = 0; place < setup.evaluators.size(); ++place) {
    score(*setup.evaluators[place], place, found, execution, result.answers);
    sum_up(place, setup, result);
  }
  return result;
}

std::vector<Comparison> compare(const EvaluationResult& a, const EvaluationResult& b,
                                const IntervalOptions& options, const Random& random) {
  require(a.measures.size() == b.measures.size() && a.evaluators.size() == b.evaluators.size() &&
              a.variant == b.variant,
          "two evaluations can be compared only if they were judged in the same way");
  const std::vector<std::pair<std::size_t, std::size_t>> rows = common_rows(a, b);
  std::vector<Comparison> result;
  for (const MeasureResult& wanted : a.measures) {
    Pairs pairs;
    const bool of_all = wanted.measure == Measure::validity || wanted.measure == Measure::seconds;
    for (const auto& [i, j] : rows) {
      const MeasuredAnswer& left = a.answers[i].measured;
      const MeasuredAnswer& right = b.answers[j].measured;
      if (!of_all && !(left.is_valid && right.is_valid)) continue;
      const std::optional<double> x = left.value(wanted.measure);
      const std::optional<double> y = right.value(wanted.measure);
      if (!x || !y) continue;
      pairs.a.push_back(*x);
      pairs.b.push_back(*y);
    }
    result.push_back(
        {.name = std::string(enum_name(wanted.measure)),
         .measure = wanted.measure,
         .result = compare_pairs(pairs.a, pairs.b, options, random.split(result.size()))});
  }
  for (std::size_t e = 0; e < a.evaluators.size(); ++e) {
    require(a.evaluators[e].summary.kind == b.evaluators[e].summary.kind &&
                a.evaluators[e].summary.epsilon == b.evaluators[e].summary.epsilon,
            "two evaluations can be compared only if they were judged in the same way");
    Pairs pairs;
    for (const auto& [i, j] : rows) {
      const std::optional<bool> x = a.is_robust(i, e);
      const std::optional<bool> y = b.is_robust(j, e);
      if (!x || !y) continue;
      pairs.a.push_back(*x ? 1 : 0);
      pairs.b.push_back(*y ? 1 : 0);
    }
    result.push_back(
        {.name = std::string(enum_name(a.evaluators[e].summary.kind)),
         .result = compare_pairs(pairs.a, pairs.b, options, random.split(result.size()))});
  }
  return result;
}

}  // namespace ellice

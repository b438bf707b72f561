#pragma once

// What is measured of answers, whoever gave them.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "sets/stress.hpp"
#include "study/outlier_factor.hpp"
#include "study/statistics.hpp"

namespace ellice {

/// Moves Δz are in model space; a column has changed if |Δz| > 1e-6.
enum class Measure {
  validity,     // the base model gives the target class
  l2,           // ‖Δz‖₂
  l1,           // ‖Δz‖₁
  l0,           // columns changed
  l2_features,  // the same by features: a category that changes counts 1, whatever its columns
  l1_features,
  changed,  // features changed
  lof,      // local outlier factor among the training rows
  seconds,  // for one answer, preparation apart
};
template <>
struct EnumNames<Measure> {
  static constexpr std::array<std::string_view, 9> names = {
      "validity", "l2", "l1", "l0", "l2_features", "l1_features", "changed", "lof", "seconds"};
};

/// All of them, in order.
[[nodiscard]] std::vector<Measure> all_measures();
/// Each once, in the order given. Throws Error{argument} with a suggestion.
[[nodiscard]] std::vector<Measure> parse_measures(const std::vector<std::string>& names);

/// Whose answers count.
enum class ExplainedRows {
  declined,  // those of people whom the base model does not accept as they are
  all,
};
template <>
struct EnumNames<ExplainedRows> {
  static constexpr std::array<std::string_view, 2> names = {"declined", "all"};
};

/// What a method answered, one entry per explained row, in model space.
struct AnswerBatch {
  std::vector<std::size_t> query_index = {};  // increasing
  RowMatrix queries = {};
  RowMatrix points = {};  // rows without an answer are those of the queries
  std::vector<bool> found = {};
  std::vector<std::optional<double>> seconds = {};
  /// What an answer breaks of the schema: ranges, fixed features, whole numbers and grids, rules.
  std::vector<std::vector<std::string>> violations = {};
  std::optional<double> preparation_seconds = {};
  // Left out:
  std::size_t accepted = 0;       // queries that the base model accepts
  std::size_t unreadable = 0;     // queries of status invalid
  std::size_t further_plans = 0;  // beyond the first of a query

  [[nodiscard]] std::size_t size() const { return query_index.size(); }
};

/// Of each answer its query, its counterfactual if any, and its seconds are read. An answer that no
/// person could have, such as 1.5 children, is judged, and its violations are noted. Throws
/// Error{argument} where a query has two first plans.
[[nodiscard]] AnswerBatch answer_batch(const std::vector<Answer>& answers, const Model& model,
                                       double threshold,
                                       ExplainedRows rows = ExplainedRows::declined);

struct MeasuredAnswer {
  std::size_t query_index = 0;
  bool is_found = false;
  bool is_valid = false;
  double logit = 0;  // of the base model, where found; so are the following
  double l2 = 0;
  double l1 = 0;
  int l0 = 0;
  double l2_features = 0;
  double l1_features = 0;
  int changed = 0;
  std::optional<double> lof = {};  // where asked for
  std::optional<double> seconds = {};
  std::vector<std::string> violations = {};  // of the schema

  /// Nothing where there is no such number.
  [[nodiscard]] std::optional<double> value(Measure measure) const;
};

/// `plausibility` may be null: then there is no LOF.
[[nodiscard]] std::vector<MeasuredAnswer> measure_answers(const AnswerBatch& batch,
                                                          const Model& model, double threshold,
                                                          const OutlierFactor* plausibility,
                                                          const Execution& execution = {});

/// Validity and seconds over all answers, the rest over the valid ones; nothing where there are
/// none. The published variant leaves out moves of at most 1e-6 from l2 and l1, and says 1000 for
/// l2, l1 and lof where no answer is left.
[[nodiscard]] std::optional<Summary> average(Measure measure,
                                             const std::vector<MeasuredAnswer>& answers,
                                             Variant variant, const IntervalOptions& options,
                                             const Random& random);

}  // namespace ellice

#pragma once

// An evaluation for programs and for people (docs/reference/formats.md).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "study/evaluation.hpp"

namespace ellice {

/// Where the rows of LOF come from.
enum class OutlierReference {
  all,         // both classes
  favourable,  // the target class alone
};
template <>
struct EnumNames<OutlierReference> {
  static constexpr std::array<std::string_view, 2> names = {"all", "favourable"};
};

struct PlausibilityOptions {
  int lof_neighbours = 20;
  OutlierReference lof_reference = OutlierReference::all;

  static void fields(auto& self, auto&& visit) {
    visit("lof_neighbours", self.lof_neighbours, at_least(1), "k of the local outlier factor");
    visit("lof_reference", self.lof_reference, any_value(),
          "training rows that it compares with: both classes, or the favourable one");
  }
  bool operator==(const PlausibilityOptions&) const = default;
};

/// What was asked, and of which answers.
struct EvaluationRequest {
  std::string model_sha256 = {};
  double epsilon = 0;
  std::string epsilon_rule = {};
  double base_objective = 0;  // L(Θ̂), from which bounds are counted
  Index columns = 0;          // of model space
  std::size_t features = 0;
  EvaluatorOptions evaluators = {};
  PlausibilityOptions plausibility = {};         // as used
  std::optional<int> lof_neighbours_asked = {};  // where there are too few rows for so many
  IntervalOptions intervals = {};
  ExplainedRows explained = ExplainedRows::declined;
  std::uint64_t seed = 0;
  // Left out of the evaluation:
  std::size_t accepted = 0;
  std::size_t unreadable = 0;
  std::size_t further_plans = 0;
};

/// `"format": "ellice.evaluation"`; the same bytes for the same answers, unless they carry times.
[[nodiscard]] Json to_json(const EvaluationResult& evaluation, const EvaluationRequest& request);
[[nodiscard]] Json to_json(const std::vector<Comparison>& comparisons);

/// One table of metrics and one of evaluators.
[[nodiscard]] std::string evaluation_text(const EvaluationResult& evaluation,
                                          const EvaluationRequest& request);
/// Differences «this − other».
[[nodiscard]] std::string comparison_text(const std::vector<Comparison>& comparisons,
                                          double confidence);

}  // namespace ellice

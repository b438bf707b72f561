#pragma once

// How far one model is from another, and what becomes of the plans that were made for the first.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"
#include "study/answer_file.hpp"

namespace ellice {

/// Decisions about the rows that the old model was fitted on.
struct TurnedRows {
  std::size_t rows = 0;
  std::size_t to_yes = 0;  // of many classes: to another class
  std::size_t to_no = 0;
};

struct ModelChange {
  /// ½ΔᵀHΔ, with the new head in the old model's coordinates (theory.md, Result 49).
  std::optional<double> distance = {};
  std::string without_distance = {};  // why there is none
  std::optional<Vector> move = {};    // Δ, where there is a distance
  std::optional<double> excess = {};  // L(new) − L(old) on the old rows, where they are known
  std::optional<TurnedRows> turned = {};
};

/// What the new model says to one plan.
struct PlanOutcome {
  std::size_t query_index = 0;
  int plan = 0;
  std::optional<Promise> promise = {};
  bool is_promised = false;  // whether the new model is one of those the certificate speaks for
  bool holds = false;
  double old_margin = 0;  // logit − threshold; of many classes the lead of the one that won
  double new_margin = 0;
  std::string reason = {};  // why the new model cannot be asked, if it cannot
};

struct ModelComparison {
  ModelChange change = {};
  std::vector<PlanOutcome> plans = {};
  [[nodiscard]] std::size_t broken() const;
};

/// Throws Error{input} naming a feature that only one of them has.
[[nodiscard]] ModelComparison compare_models(const Model& before, const Model& now,
                                             const StoredRows* rows, const AnswerFile* plans);

[[nodiscard]] std::string comparison_text(const ModelComparison& comparison, const Model& before,
                                          const Model& now);
[[nodiscard]] Json to_json(const ModelComparison& comparison, const Model& before,
                           const Model& now);

}  // namespace ellice

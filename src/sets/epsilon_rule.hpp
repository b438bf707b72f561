#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/parallel.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/retraining.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// What a rule may need beside the model.
struct EpsilonContext {
  const StoredRows* rows = nullptr;  // that the model was fitted on
  Retraining retraining = {};
  Execution execution = {};
};

/// How ε is given:
///   0.01          as it is;
///   10%           that share of the training objective;
///   target:0.02   the target plus 0.01, as the paper recommends;
///   survival:95%  what an answer needs to survive a retraining with this probability;
///   accuracy:5%   the largest at which no sampled boundary model loses more accuracy than this;
///   auto          what calibration stored in the model file for the set; survival:95% for the
///                 last-layer and the true set where it stored nothing.
struct EpsilonRule {
  enum class Kind { value, share, target, survival, accuracy, automatic };
  Kind kind = Kind::value;
  double number = 0;      // shares in percent
  std::string text = {};  // as written

  [[nodiscard]] bool needs_rows() const { return kind == Kind::accuracy; }
  /// The survival that the rule asks for, if that is what it asks for here.
  [[nodiscard]] std::optional<double> asked_survival(const Model& model,
                                                     const SetChoice& set) const;

  /// ε for this model and set, counted from the minimum of the objective: of a model that is
  /// deployed elsewhere with what its parameters are above it. Throws Error{argument} where the
  /// rule is not defined for the set or lacks its rows, Error{input} when «auto» finds nothing,
  /// saying what to do.
  [[nodiscard]] double resolve(const Model& model, const SetChoice& set = {},
                               const EpsilonContext& context = {}) const;

 private:
  [[nodiscard]] double from_minimum(const Model& model, const SetChoice& set,
                                    const EpsilonContext& context) const;
};

/// The level of a set around the minimiser whose models are within ε of what is deployed
/// (docs/theory.md, Result 56): ε itself where the minimiser is.
[[nodiscard]] double beyond_deployed(const Model& model, double epsilon);

/// Throws Error{argument} saying what is understood.
[[nodiscard]] EpsilonRule parse_epsilon_rule(std::string_view text);

/// Whether the model file holds a calibrated ε for the set.
[[nodiscard]] bool has_recommendation(const Model& model, const SetChoice& set);

}  // namespace ellice

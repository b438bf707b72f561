#pragma once

#include <string>
#include <string_view>

#include "ellice/model/model.hpp"
#include "ellice/rashomon/uncertainty_set.hpp"

namespace ellice {

/// How ε is given: «0.01» as it is, «10%» of the training objective, «target:0.02» the target plus
/// 0.01, as the paper recommends, «auto» what calibration stored in the model file for the set.
struct EpsilonRule {
  enum class Kind { value, share, target, automatic };
  Kind kind = Kind::value;
  double number = 0;
  std::string text = {};  // as written

  /// ε for this model and set. Throws Error{input} when «auto» finds no recommendation for it,
  /// saying how to get one.
  [[nodiscard]] double resolve(const Model& model, const SetChoice& set = {}) const;
};

/// Throws Error{argument} saying what is understood.
[[nodiscard]] EpsilonRule parse_epsilon_rule(std::string_view text);

}  // namespace ellice

#pragma once

#include <array>
#include <string_view>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// Where an attack found its network.
enum class AttackDirection {
  none,        // nowhere: the model itself has the smallest logit that was found
  full,        // on the line along which the linearised network loses most
  last_layer,  // on that of the head alone
  descent,     // by steps from there along the bound
};
template <>
struct EnumNames<AttackDirection> {
  static constexpr std::array<std::string_view, 4> names = {"none", "full", "last-layer",
                                                            "descent"};
};

struct AttackOptions {
  int bisections = 20;     // per line
  int descent_steps = 25;  // after the lines
};

struct Attack {
  bool broken = false;     // a network within the bound stays below the threshold
  double logit = 0;        // the smallest that was found
  double excess = 0;       // L(Θ) − L(Θ̂) of that network
  Vector parameters = {};  // Θ, in the order of parameter_vector()
  AttackDirection direction = AttackDirection::none;
};

/// Looks for a real network with L(Θ) ≤ L(Θ̂) + ε that gives x, a point of model space, a logit
/// below the threshold: L is the training objective on these rows and Θ all parameters, so that
/// this is no longer the picture of the set that a certificate is about but the set itself. First
/// along the directions in which the full and the last-layer set are worst, as far as the bound
/// allows; then by gradient steps on the logit that follow the bound. Ends with the first stage
/// that breaks the answer. Finding nothing proves nothing.
[[nodiscard]] Attack attack(const Model& model, LabelledRows rows, double epsilon, VectorArg x,
                            double threshold, const AttackOptions& options = {});

}  // namespace ellice

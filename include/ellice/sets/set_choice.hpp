#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// For which models an answer is robust.
enum class SetKind {
  last_layer,  // the ellipsoid over the head's parameters, hidden layers fixed
  full,        // all parameters of a network: damped Gauss–Newton ellipsoid, to first order
  isotropic,   // all parameters, ½‖θ−θ̂‖² ≤ ε, to first order
  ensemble,    // the last-layer ellipsoids of several models at once
  true_set,  // every head whose training objective is within ε of the optimum, hidden layers fixed
};
template <>
struct EnumNames<SetKind> {
  static constexpr std::array<std::string_view, 5> names = {"last-layer", "full", "isotropic",
                                                            "ensemble", "true"};
};

/// Whether the set's worst logit is that of the network linearised in its parameters.
[[nodiscard]] constexpr bool is_first_order(SetKind kind) {
  return kind == SetKind::full || kind == SetKind::isotropic;
}

/// Whether the set is one of ellipsoids over heads, so that worst scores have a closed form.
[[nodiscard]] constexpr bool is_ellipsoidal(SetKind kind) {
  return kind == SetKind::last_layer || kind == SetKind::ensemble;
}

/// Throws Error{argument} for sets whose worst scores are searched for: methods that ask for one at
/// every small step do not take them.
void require_closed_form(SetKind kind);

/// What is asked of a model with many classes: that one class beats all those that are not
/// acceptable. Classes that are acceptable as well are no rivals: whichever of them wins, the
/// answer is one of those wanted (theory.md, Result 40).
struct Contest {
  Index winner = 0;
  std::vector<Index> rivals = {};  // increasing
  bool operator==(const Contest&) const = default;
};

/// Which set of which models. The models and the rows must outlive it.
struct SetChoice {
  SetKind kind = SetKind::last_layer;
  /// λ. full: the damping (default: the model file's). last-layer and ensemble: what stands in H in
  /// place of the objective's own l2 (default: that l2; 0.1 is the paper's ElliCE+R).
  std::optional<double> damping = {};
  std::vector<const Model*> members = {};  // of an ensemble, beside the model itself
  const StoredRows* rows = nullptr;        // of the true set, where the model file holds none
  /// Of a model with many classes, and only of such a one: what is asked of it. f(x) is then the
  /// difference of two scores, one for each rival.
  std::optional<Contest> contest = {};
};

/// Throws Error{argument} for a choice that this model does not allow, saying what to do: full
/// without hidden layers or without stored curvature, members without ensemble or of another
/// schema, a damping that is not positive, or that makes H indefinite, the true set without
/// training rows, another set than the true one for a model with an l1 penalty; a model with many
/// classes without a contest, or with another set than last-layer, and a contest for a model with
/// one logit.
void validate(const SetChoice& choice, const Model& model);

/// Throws Error{argument} for another set than the true one of a model with an l1 penalty, whose
/// objective has corners (theory.md, Result 58).
void require_known_set(SetKind kind, const Model& model);

/// The training rows that a true set is about: those of the choice, else the model file's. Throws
/// Error{argument} where there are none.
[[nodiscard]] const StoredRows& training_rows(const SetChoice& choice, const Model& model);

/// The same choice with the ellipsoid in place of the true set, which it is to second order.
[[nodiscard]] SetChoice second_order(const SetChoice& choice);

/// The Hessian of a last-layer set: the model's, with `damping` in place of its l2 if given.
/// Without the gauge term of many classes.
[[nodiscard]] Matrix damped_hessian(const Model& model, std::optional<double> damping);

}  // namespace ellice

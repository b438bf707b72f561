#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// The contest of `winner` against all classes but it and the other acceptable ones.
[[nodiscard]] Contest make_contest(const Model& model, Index winner,
                                   const std::vector<Index>& acceptable = {});

/// The classes that are no rivals, in their order: the winner and what is acceptable beside it.
[[nodiscard]] std::vector<Index> acceptable_classes(const Model& model, const Contest& contest);

/// «setosa, virginica».
[[nodiscard]] std::string class_names(const Model& model, const std::vector<Index>& classes);
/// «virginica», or «one of setosa, virginica».
[[nodiscard]] std::string class_text(const Model& model, const std::vector<Index>& classes);

/// The index of a class by its name. Throws Error{argument} with a suggestion.
[[nodiscard]] Index find_class(const Model& model, const std::string& name);

/// Throws Error{argument} for a contest that cannot be held.
void validate(const Contest& contest, const Model& model);

/// For each rival a model of one logit f_y − f_c with the same hidden layers, whose last-layer
/// ellipsoid has H = G_c⁻¹, the curvature of that difference when all other parameters adapt: its
/// worst logit at a point is the worst difference over the ellipsoid of all classes (theory.md,
/// Result 38). `damping` replaces the objective's l2 as in damped_hessian().
[[nodiscard]] std::vector<Model> pair_models(const Model& model, const Contest& contest,
                                             std::optional<double> damping);

}  // namespace ellice

#pragma once

// Sets of models around a fitted one, behind one interface: for each of them the worst score of a
// point is g(x) = f(x) − κ·s(x) with κ = √(2ε), exactly or to first order (theory.md, Result 12 and
// Result 13).

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/rashomon/contest.hpp"

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
/// training rows; a model with many classes without a contest, or with another set than last-layer,
/// and a contest for a model with one logit.
void validate(const SetChoice& choice, const Model& model);

/// The training rows that a true set is about: those of the choice, else the model file's. Throws
/// Error{argument} where there are none.
[[nodiscard]] const StoredRows& training_rows(const SetChoice& choice, const Model& model);

/// A point's logit and how far the set moves it, per unit of κ.
struct RobustScore {
  double logit = 0;   // f(x)
  double spread = 0;  // s(x) ≥ 0
  [[nodiscard]] double robust(double kappa) const { return logit - kappa * spread; }
};

/// The functions f and s of a set, with derivatives. Keeps its storage: no call allocates after the
/// first, and each thread has its own.
class RobustFunction {
 public:
  virtual ~RobustFunction() = default;
  /// Models of an ensemble, or rivals of a contest; g is the smallest of theirs. 1 for every other
  /// set.
  [[nodiscard]] virtual Index members() const { return 1; }
  [[nodiscard]] virtual RobustScore value(Index member, VectorArg x) = 0;
  /// ∇f and ∇s as well, at fixed activation pattern; ∇s = 0 where s = 0.
  virtual RobustScore gradient(Index member, VectorArg x, Vector& logit_gradient,
                               Vector& spread_gradient) = 0;
  /// ∇²s at the point of the last gradient(), positive semidefinite; false where a set has none.
  /// Without the part that comes from the curvature of tanh and sigmoid, which may be indefinite.
  [[nodiscard]] virtual bool spread_hessian(Index /*member*/, Matrix& /*hessian*/) { return false; }

  /// The smallest g over the members.
  [[nodiscard]] double robust_logit(double kappa, VectorArg x);
};

/// A set of models, const and shared between threads; `function()` makes what one thread works
/// with. The set must outlive its functions.
class UncertaintySet {
 public:
  virtual ~UncertaintySet() = default;
  [[nodiscard]] virtual std::unique_ptr<RobustFunction> function() const = 0;
};

/// The model must outlive the set. Throws like validate(), and for the true set, whose worst score
/// is not of the form f − κ·s: see TrueSet.
[[nodiscard]] std::unique_ptr<UncertaintySet> make_set(const Model& model, const SetChoice& choice);

/// g for each row, the same for any number of threads.
[[nodiscard]] Vector robust_logits(const UncertaintySet& set, double epsilon, RowMatrixArg rows,
                                   const Execution& execution = {});

/// The Hessian of a last-layer set: the model's, with `damping` in place of its l2 if given.
/// Without the gauge term of many classes.
[[nodiscard]] Matrix damped_hessian(const Model& model, std::optional<double> damping);

}  // namespace ellice

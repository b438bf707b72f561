#pragma once

// Sets of models around a fitted one, behind one interface: for each of them the worst score of a
// point is g(x) = f(x) − κ·s(x) with κ = √(2ε), exactly or to first order (theory.md, Result 24 and
// Result 25); for the true set s depends on ε (Result 30).

#include <memory>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"
#include "sets/head_set.hpp"
#include "sets/question.hpp"

namespace ellice {

/// A point's logit and how far the set moves it, per unit of κ.
struct RobustScore {
  double logit = 0;   // f(x)
  double spread = 0;  // s(x) ≥ 0
  [[nodiscard]] double robust(double kappa) const { return logit - kappa * spread; }
};

/// The functions f and s of a set, with derivatives. Keeps its storage, so that calls allocate
/// little after the first, and begins where the last call ended: each thread has its own.
class RobustFunction {
 public:
  virtual ~RobustFunction() = default;
  /// Parts of the question; g is the smallest of theirs.
  [[nodiscard]] virtual Index parts() const { return 1; }
  [[nodiscard]] virtual RobustScore value(Index part, VectorArg x) = 0;
  /// ∇f and ∇s as well, at fixed activation pattern; ∇s = 0 where s = 0.
  virtual RobustScore gradient(Index part, VectorArg x, Vector& logit_gradient,
                               Vector& spread_gradient) = 0;
  /// f and s, and ∇(f − κ·s).
  virtual RobustScore robust_gradient(Index part, double kappa, VectorArg x, Vector& gradient);
  /// R with RᵀR = ∇²s at the point of the last gradient(); false where a set has none. Without the
  /// part that comes from the curvature of tanh and sigmoid, which may be indefinite.
  [[nodiscard]] virtual bool spread_root(Index /*part*/, Matrix& /*root*/) { return false; }

  // Kinks of g = f − κ·s, after robust_gradient() (theory.md, Result 75).

  /// Adds the units that switch on the way from x to x + step, to first order.
  virtual void crossed_units(Index /*part*/, VectorArg /*step*/, std::vector<Index>& /*units*/) {}
  /// The kink of a unit: beyond it, where h = distance + normalᵀ(step) < 0, g falls behind its
  /// linearisation by weight·(−h), to first order. A weight of 0 or less: it does not fall behind.
  struct UnitKink {
    double weight = 0;
    double distance = 0;  // ≥ 0
  };
  [[nodiscard]] virtual UnitKink unit_kink(Index /*part*/, Index /*unit*/, Vector& /*normal*/) {
    return {};
  }

  /// The largest ε at which g ≥ t, from below.
  [[nodiscard]] virtual double radius(Index part, VectorArg x, double threshold);
  /// The worst head at x, where sets are searched for it; null for closed forms.
  [[nodiscard]] virtual const WorstHead* worst_head(Index /*part*/, VectorArg /*x*/) {
    return nullptr;
  }

  /// The smallest g over the parts.
  [[nodiscard]] double robust_logit(double kappa, VectorArg x);
  /// The smallest radius of the parts.
  [[nodiscard]] double radius(VectorArg x, double threshold);
};

/// A set of models, const and shared between threads; `function()` makes what one thread works
/// with. The set must outlive its functions.
class UncertaintySet {
 public:
  virtual ~UncertaintySet() = default;
  [[nodiscard]] virtual std::unique_ptr<RobustFunction> function() const = 0;
};

/// The model must outlive the set. ε matters for the true set alone, whose functions are about it;
/// those of other sets take any κ. Throws like validate().
[[nodiscard]] std::unique_ptr<UncertaintySet> make_set(const Model& model, const SetChoice& choice,
                                                       double epsilon = 0);

/// The functions of a question.
[[nodiscard]] std::unique_ptr<UncertaintySet> make_set(const Question& question);

/// g for each row, the same for any number of threads.
[[nodiscard]] Vector robust_logits(const UncertaintySet& set, double epsilon, RowMatrixArg rows,
                                   const Execution& execution = {});

}  // namespace ellice

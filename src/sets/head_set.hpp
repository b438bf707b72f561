#pragma once

#include <memory>
#include <optional>

#include "ellice/core/types.hpp"
#include "solver/worst_head.hpp"

namespace ellice {

/// A worst head in extended precision, for the few numbers that go into certificates.
struct ExtendedWorst {
  long double robust = 0;  // proved
  LongVector model = {};
};

/// {½(θ − c)ᵀH(θ − c) ≤ ε} at the ε of the set that it lies in, by H⁻¹, which may be singular: then
/// it is flat.
struct InnerEllipsoid {
  Vector center = {};
  Matrix inverse = {};
};

/// A convex set of head parameters around a fitted head, whatever its shape: θ = [w; b] of one
/// output, or those of all classes one after the other. Const; threads share it.
class HeadSet {
 public:
  virtual ~HeadSet() = default;

  [[nodiscard]] virtual const Vector& center() const = 0;
  [[nodiscard]] virtual double epsilon() const = 0;
  /// As small as ε may be for a set of this kind.
  [[nodiscard]] virtual double smallest_epsilon() const { return 0; }
  /// The curvature of the set's second-order picture at the centre: it is {½ΔᵀHΔ ≤ ε} near there,
  /// and everywhere if it is_ellipsoid().
  [[nodiscard]] virtual const Matrix& hessian() const = 0;
  [[nodiscard]] virtual bool is_ellipsoid() const { return false; }

  /// min aᵀθ over the set. What was found at a point nearby saves work, as does leave to stop about
  /// that share of aᵀ(center − θ) away from it.
  [[nodiscard]] virtual WorstHead worst(VectorArg a, const WorstHead* nearby = nullptr,
                                        double share = 0) const = 0;
  [[nodiscard]] virtual ExtendedWorst worst_extended(const LongVector& a,
                                                     const WorstHead* nearby) const = 0;
  /// The largest ε at which every head of the set around the same centre gives aᵀθ ≥ t, from below;
  /// 0 where the centre does not. The worst head nearby saves work.
  [[nodiscard]] virtual double radius(VectorArg a, double threshold,
                                      const Vector* nearby = nullptr) const = 0;
  /// The Hessian whose ellipsoid has the curvature of the set's border at a worst head.
  [[nodiscard]] virtual Matrix curvature(const WorstHead& worst) const = 0;
  /// An ellipsoid that lies inside the set and touches its border at a worst head (theory.md,
  /// Result 73); none where no such is known.
  [[nodiscard]] virtual std::optional<InnerEllipsoid> touching(const WorstHead& /*worst*/) const {
    return {};
  }
  /// The same centre and shape at another ε.
  [[nodiscard]] virtual std::shared_ptr<const HeadSet> with_epsilon(double epsilon) const = 0;
};

}  // namespace ellice

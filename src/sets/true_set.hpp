#pragma once

#include <memory>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "model/head_objective.hpp"
#include "sets/head_set.hpp"
#include "sets/true_corners.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

/// {θ : L(θ) ≤ L̂ + ε}: every head whose training objective on given rows is within ε of the
/// optimum, not its second-order picture (theory.md, Definition 4); of one output or of several
/// classes (Result 32). L̂ is the objective of the given minimiser; were that a little above the
/// true minimum, the set would be a little larger than it claims to be. Functionals aᵀθ add up to 0
/// over the classes, as differences of their scores do. With an l1 penalty it has corners (Result
/// 58), and functionals have an entry for the intercept. Cheap to copy.
class TrueSet final : public HeadSet {
 public:
  /// Of features without the constant 1. Throws Error{argument} unless ε is above the rounding of
  /// the objective, and unless `minimiser` is one: ½gᵀH⁻¹g ≤ ε/100.
  TrueSet(RowMatrix features, std::vector<int> labels, LossKind kind, Index outputs,
          const Penalty& penalty, Vector minimiser, double epsilon, int threads = 1,
          Vector weights = {});

  [[nodiscard]] const Vector& center() const override { return rows_->minimiser; }
  [[nodiscard]] double epsilon() const override { return epsilon_; }
  /// Above the rounding of L and what the minimiser misses of the minimum.
  [[nodiscard]] double smallest_epsilon() const override;
  /// At the centre, with the gauge term of several classes; without what an l1 penalty adds.
  [[nodiscard]] const Matrix& hessian() const override { return rows_->hessian; }
  [[nodiscard]] Matrix curvature(const WorstHead& worst) const override;
  /// Of one output.
  [[nodiscard]] std::optional<InnerEllipsoid> touching(const WorstHead& worst) const override;
  /// What was added to its diagonal.
  [[nodiscard]] double shift() const { return rows_->shift; }
  [[nodiscard]] double optimum() const { return rows_->optimum; }  // L̂
  [[nodiscard]] double level() const { return rows_->optimum + epsilon_; }
  [[nodiscard]] double objective(VectorArg theta) const { return rows_->objective.value(theta); }

  /// By Newton's method on the optimality conditions in (θ, τ), from the ellipsoid's answer or from
  /// that at a point nearby; where it gets lost, from a model that a line search found. Both bounds
  /// hold wherever it stops.
  [[nodiscard]] WorstHead worst(VectorArg a, const WorstHead* nearby = nullptr,
                                double share = 0) const override;
  [[nodiscard]] ExtendedWorst worst_extended(const LongVector& a,
                                             const WorstHead* nearby = nullptr) const override;
  /// min L(θ) − L̂ over aᵀθ = t, from below.
  [[nodiscard]] double radius(VectorArg a, double threshold,
                              const Vector* nearby = nullptr) const override;
  [[nodiscard]] std::shared_ptr<const HeadSet> with_epsilon(double epsilon) const override;
  /// with_epsilon() as a value.
  [[nodiscard]] TrueSet at(double epsilon) const { return {rows_, epsilon}; }

 private:
  struct Rows {
    Rows(RowMatrix given, std::vector<int> given_labels, Vector given_weights, LossKind kind,
         Index outputs, const Penalty& penalty, Vector given_minimiser, int threads);
    RowMatrix features;
    std::vector<int> labels;
    Vector weights;
    HeadObjective objective;
    Vector minimiser;
    double optimum = 0;
    double decrement = 0;  // ½gᵀH⁻¹g at the minimiser
    double rounding = 0;   // of a difference of objectives
    double shift = 0;      // of the Hessian, in directions that only corners hold
    double longest = 0;  // of the rows with their constant 1: by how much a head can change a score
    Matrix hessian;
    CholeskyFactor factor;
    /// What ε must be at least so that rounding is small against it.
    [[nodiscard]] double known_epsilon() const;
    [[nodiscard]] bool has_corners() const { return objective.corners().size() > 0; }
    [[nodiscard]] CorneredSet cornered() const {
      return {.objective = &objective,
              .minimiser = &minimiser,
              .optimum = optimum,
              .rounding = rounding,
              .hessian = &hessian};
    }
  };
  TrueSet(std::shared_ptr<const Rows> rows, double epsilon);

  /// A point (θ, τ) of Newton's method, with what is known of it.
  struct Iterate;
  template <typename Rule>
  [[nodiscard]] Iterate newton(const Vector& a, Iterate at, const Rule& rule,
                               double share = 0) const;
  [[nodiscard]] WorstHead worst_from(const Vector& a, Iterate start, double share = 0) const;
  /// The model of least L with the score aᵀθ = s, from wherever: L falls with every step.
  [[nodiscard]] Iterate cheapest(const Vector& a, double score, Iterate at) const;
  /// That of the score at which it is at the border of the set.
  [[nodiscard]] Iterate lowest(const Vector& a) const;
  /// What min L − L̂ over aᵀθ ≤ t is at least.
  [[nodiscard]] double proved_excess(const Vector& a, double threshold, const Iterate& at) const;
  [[nodiscard]] double suboptimality(const Iterate& at) const;

  std::shared_ptr<const Rows> rows_;
  double epsilon_;
};

/// The true set of a model's head on the rows that it was fitted on, its hidden layers fixed.
/// Throws Error{argument} for a head that is not at its optimum, Error{input} where the rows are
/// not the model's: as many as it was fitted on, and with the same loss, objective and Hessian to
/// 1e-9.
[[nodiscard]] TrueSet true_set(const Model& model, const StoredRows& rows, double epsilon);

}  // namespace ellice

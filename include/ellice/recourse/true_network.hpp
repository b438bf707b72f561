#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ellice/rashomon/true_set.hpp"
#include "ellice/rashomon/true_softmax.hpp"
#include "ellice/recourse/network_search.hpp"

namespace ellice {

class TrueFunction;

/// Near points that every head of the true set accepts (of several classes: at which one beats all
/// its rivals), the hidden layers fixed: for networks, and for linear models as well. The
/// ellipsoid's search, with its radius corrected to what the true set is at its answer, gives
/// starts and chooses whole numbers and levels; quadratic steps with the true set's own worst heads
/// bring the numbers to the border of the true set (theory.md, Result 33). Rounded, checked and
/// certified like every other answer.
///
/// Statuses: certified, without a gap, since the problem is not convex; already_robust; reduced,
/// with the largest ε that a point which was met attains; not_found.
class TrueNetwork final : public Generator {
 public:
  /// `problem` must outlive the generator. Throws Error{argument} for another set, for a head that
  /// is not at its optimum and for a cost other than l2 and mixed, Error{input} where the rows are
  /// not those of the model.
  explicit TrueNetwork(const Problem& problem, const NetworkSearchOptions& options = {},
                       const Execution& execution = {});
  ~TrueNetwork() override;

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  /// The ellipsoid's search at a multiple of its radius.
  struct Level;
  [[nodiscard]] Recourse answer(const Query& query) const;
  /// Rows (raw numbers) that the ellipsoid's searches end at, different ones.
  [[nodiscard]] std::vector<Vector> candidates(const Query& query, TrueFunction& function,
                                               Recourse& blank) const;
  /// The nearest row around a candidate, with its whole numbers and levels.
  [[nodiscard]] bool polish(Recourse& offered, const Vector& row, const FeasibleSet& feasible,
                            TrueFunction& function) const;
  /// The row with changes taken back, whole or by one step of a grid, one after another as long as
  /// the true set accepts it.
  [[nodiscard]] Vector retreat(Vector row, const FeasibleSet& feasible,
                               TrueFunction& function) const;
  void reduce(Recourse& result, const std::vector<Vector>& rows, const FeasibleSet& feasible,
              TrueFunction& function) const;
  [[nodiscard]] Vector encode(const Vector& row) const;
  [[nodiscard]] std::unique_ptr<TrueFunction> make_function() const;

  const Problem* problem_;
  NetworkSearchOptions options_;
  Assembler assembler_;
  std::optional<TrueSet> set_;  // of one logit
  std::optional<TrueSoftmax> classes_;
  Vector weights_;
  std::vector<std::unique_ptr<Level>> levels_;  // by rising factor
};

}  // namespace ellice

#pragma once

// Linear programs, some of whose variables are whole numbers: a thin coat over CBC, so that nothing
// else sees it, not even the linker of a program that needs none of this
// (docs/decisions/0016-cbc-and-variants.md).

#include <limits>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// min cᵀv  subject to  lower ≤ v ≤ upper,  rows lower ≤ Av ≤ upper,  some entries of v whole.
class MixedInteger {
 public:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct Term {
    Index variable = 0;
    double factor = 0;
  };
  struct Variable {
    double lower = 0;
    double upper = infinity;
    double cost = 0;
    bool whole = false;
  };
  struct Row {
    std::vector<Term> terms = {};
    double lower = -infinity;
    double upper = infinity;
  };

  /// Gives the variable's index.
  Index add_variable(const Variable& variable);
  /// A variable in {0, 1}.
  Index add_binary() { return add_variable({.upper = 1, .whole = true}); }
  /// Terms of one variable may occur more than once; they are added up. Terms with the factor 0 are
  /// dropped. A row without bounds or terms is allowed.
  void add_row(Row row);

  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Variable> variables_;
  std::vector<Row> rows_;
};

enum class MixedIntegerStatus {
  optimal,     // to a gap of 1e-9
  infeasible,  // proved; CBC says so of unbounded problems, too, which nobody here poses
  time_limit,
  failed,  // numerical difficulties
};

struct MixedIntegerSolution {
  MixedIntegerStatus status = MixedIntegerStatus::failed;
  double objective = 0;  // of the values
  Vector values = {};    // optimal only; whole ones to 1e-9
};

using MixedIntegerSolver = MixedIntegerSolution (*)(const MixedInteger& problem,
                                                    double time_limit_seconds);

/// Says who solves; see use_cbc().
void use_mixed_integer(MixedIntegerSolver solver);

/// Whether anybody does.
[[nodiscard]] bool has_mixed_integer();

/// Solves it; the same answer every time. Constraints hold to 1e-9. Calls from several threads wait
/// for each other, because CBC keeps state of its own. Throws Error{argument} without CBC.
[[nodiscard]] MixedIntegerSolution solve(const MixedInteger& problem, double time_limit_seconds);

}  // namespace ellice

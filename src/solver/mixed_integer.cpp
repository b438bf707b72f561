#include "solver/mixed_integer.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

std::atomic<MixedIntegerSolver> solver_in_use = nullptr;

}  // namespace

Index MixedInteger::add_variable(const Variable& variable) {
  require(variable.lower <= variable.upper, "a variable has the bounds [{}, {}]", variable.lower,
          variable.upper);
  variables_.push_back(variable);
  return static_cast<Index>(variables_.size()) - 1;
}

void MixedInteger::add_row(Row row) {
  std::stable_sort(row.terms.begin(), row.terms.end(),
                   [](const Term& a, const Term& b) { return a.variable < b.variable; });
  std::vector<Term> merged;
  for (const Term& term : row.terms) {
    require(term.variable >= 0 && term.variable < static_cast<Index>(variables_.size()),
            "a row names variable {} of {}", term.variable, variables_.size());
    if (!merged.empty() && merged.back().variable == term.variable) {
      merged.back().factor += term.factor;
    } else {
      merged.push_back(term);
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.factor == 0; });
  row.terms = std::move(merged);
  rows_.push_back(std::move(row));
}

void use_mixed_integer(MixedIntegerSolver solver) {
  solver_in_use = solver;
}

bool has_mixed_integer() {
  return solver_in_use != nullptr;
}

MixedIntegerSolution solve(const MixedInteger& problem, double time_limit_seconds) {
  const MixedIntegerSolver solver = solver_in_use;
  require(solver != nullptr,
          "this program was built without CBC, which this method needs: install coinor-libcbc-dev "
          "(scripts/setup does) and build again");
  return solver(problem, time_limit_seconds);
}

}  // namespace ellice

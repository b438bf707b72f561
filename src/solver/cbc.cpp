#include "ellice/solver/cbc.hpp"

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "solver/mixed_integer.hpp"

namespace ellice {

namespace {

constexpr std::ptrdiff_t few_whole = 16;

struct Release {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using CbcModel = std::unique_ptr<Cbc_Model, Release>;

/// CBC sets a handler of its own for Ctrl-C; ours comes back at the end.
class KeepInterrupt {
 public:
  KeepInterrupt() { ::sigaction(SIGINT, nullptr, &saved_); }
  ~KeepInterrupt() { ::sigaction(SIGINT, &saved_, nullptr); }
  KeepInterrupt(const KeepInterrupt&) = delete;
  KeepInterrupt& operator=(const KeepInterrupt&) = delete;
  KeepInterrupt(KeepInterrupt&&) = delete;
  KeepInterrupt& operator=(KeepInterrupt&&) = delete;

 private:
  struct sigaction saved_ = {};
};

/// The rows as CBC takes a matrix: by columns.
void load(Cbc_Model* model, const MixedInteger& problem) {
  const auto& variables = problem.variables();
  const auto& rows = problem.rows();
  std::vector<CoinBigIndex> starts(variables.size() + 1, 0);
  for (const MixedInteger::Row& row : rows) {
    for (const MixedInteger::Term& term : row.terms)
      ++starts[static_cast<std::size_t>(term.variable) + 1];
  }
  for (std::size_t j = 0; j < variables.size(); ++j) starts[j + 1] += starts[j];
  std::vector<CoinBigIndex> next(starts.begin(), starts.end() - 1);
  std::vector<int> indices(static_cast<std::size_t>(starts.back()));
  std::vector<double> factors(indices.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const MixedInteger::Term& term : rows[i].terms) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(term.variable)]++);
      indices[place] = static_cast<int>(i);
      factors[place] = term.factor;
    }
  }
  std::vector<double> lower, upper, cost, row_lower, row_upper;
  for (const MixedInteger::Variable& variable : variables) {
    lower.push_back(variable.lower);
    upper.push_back(variable.upper);
    cost.push_back(variable.cost);
  }
  for (const MixedInteger::Row& row : rows) {
    row_lower.push_back(row.lower);
    row_upper.push_back(row.upper);
  }
  Cbc_loadProblem(model, static_cast<int>(variables.size()), static_cast<int>(rows.size()),
                  starts.data(), indices.data(), factors.data(), lower.data(), upper.data(),
                  cost.data(), row_lower.data(), row_upper.data());
  for (std::size_t j = 0; j < variables.size(); ++j) {
    if (variables[j].whole) Cbc_setInteger(model, static_cast<int>(j));
  }
}

MixedIntegerStatus status_of(Cbc_Model* model) {
  if (Cbc_isProvenOptimal(model) != 0) return MixedIntegerStatus::optimal;
  if (Cbc_isProvenInfeasible(model) != 0) return MixedIntegerStatus::infeasible;
  if (Cbc_isSecondsLimitReached(model) != 0) return MixedIntegerStatus::time_limit;
  return MixedIntegerStatus::failed;
}

MixedIntegerSolution solve_with_cbc(const MixedInteger& problem, double time_limit_seconds) {
  require(time_limit_seconds > 0, "time_limit_seconds = {} must be > 0", time_limit_seconds);
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  check_stop();
  const KeepInterrupt keep;
  const CbcModel model(Cbc_newModel());
  Cbc_setLogLevel(model.get(), 0);
  load(model.get(), problem);
  Cbc_setParameter(model.get(), "primalT", "1e-9");
  Cbc_setParameter(model.get(), "dualT", "1e-9");
  Cbc_setParameter(model.get(), "integerT", "1e-9");
  // Programs here are small: to prove takes the time, not to find. Of the smallest, cuts cost more
  // than they save; of the larger ones they save three quarters.
  Cbc_setParameter(model.get(), "heuristicsOnOff", "off");
  const auto whole = std::count_if(problem.variables().begin(), problem.variables().end(),
                                   [](const MixedInteger::Variable& v) { return v.whole; });
  if (whole <= few_whole) Cbc_setParameter(model.get(), "cutsOnOff", "off");
  Cbc_setAllowableGap(model.get(), 1e-10);
  Cbc_setAllowableFractionGap(model.get(), 1e-9);
  Cbc_setMaximumSeconds(model.get(), time_limit_seconds);
  Cbc_solve(model.get());

  MixedIntegerSolution result{.status = status_of(model.get())};
  if (result.status != MixedIntegerStatus::optimal) return result;
  result.objective = Cbc_getObjValue(model.get());
  result.values = Eigen::Map<const Vector>(Cbc_getColSolution(model.get()),
                                           static_cast<Index>(problem.variables().size()));
  return result;
}

}  // namespace

void use_cbc() {
  use_mixed_integer(solve_with_cbc);
}

}  // namespace ellice

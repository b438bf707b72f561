#pragma once

// What robustness costs, for a request: its curves and their JSON form.

#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "explain/owned_problem.hpp"
#include "radius/frontier.hpp"

namespace ellice {

/// Traces one curve per query, at the same levels for all. Const from then on, shared by threads.
class FrontierTracer {
 public:
  /// Levels by rules of EpsilonRule; `owned` must outlive it. Throws Error{argument} naming the
  /// field.
  FrontierTracer(const OwnedProblem& owned, const std::vector<std::string>& epsilons,
                 const Execution& execution = {});

  [[nodiscard]] const std::vector<double>& epsilons() const { return epsilons_; }
  /// Whether the points are the nearest and missing ones do not exist.
  [[nodiscard]] bool is_proved() const { return frontier_.is_solved_at_once(); }
  /// In the order of the queries; stopped in a FinishedScope, those that are finished.
  [[nodiscard]] std::vector<FrontierCurve> trace(const std::vector<Query>& queries,
                                                 const Execution& execution = {}) const;

 private:
  std::vector<double> epsilons_;
  Frontier frontier_;
};

[[nodiscard]] Json to_json(const FrontierCurve& curve);
/// {"format": "ellice.frontier", …} with no results yet.
[[nodiscard]] Json frontier_document(const Problem& problem, const std::vector<double>& epsilons);

}  // namespace ellice

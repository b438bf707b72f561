#include "audit/audit_reach.hpp"

#include <algorithm>

#include "ellice/audit/audit.hpp"
#include "sets/question.hpp"
#include "solver/cone_intersection.hpp"

namespace ellice {

namespace {

constexpr double tolerance = 1e-3;   // relative, as of the stated number elsewhere
constexpr double negligible = 1e-6;  // of the ε asked for: as good as 0

}  // namespace

void check_largest_epsilon(double stated, const Model& model, const SetChoice& set,
                           const FeasibleSet& feasible, AnswerAudit& result) {
  if (stated < 0 || (stated >= result.epsilon && result.epsilon > 0)) {
    result.failures.emplace_back("max_epsilon is not below the epsilon that was asked for");
    return;
  }
  std::vector<BoxFactor> cones;
  const Question question(model, set, result.epsilon, result.threshold);
  for (const Part& part : question.parts()) {
    const Ellipsoid picture = part.linear_picture();
    cones.emplace_back(picture.center(), picture.hessian());
  }
  const std::vector<FeasibleSet> branches = feasible.branches();
  const auto status_in = [&](const FeasibleSet& branch, double epsilon) {
    IntersectionProblem whole{
        .query = branch.query(), .lower = branch.relaxed().lower, .upper = branch.relaxed().upper};
    for (const BoxFactor& cone : cones)
      whole.cones.push_back({.factor = &cone, .epsilon = epsilon, .threshold = result.threshold});
    for (const ModelRule& rule : branch.rules()) whole.rules.push_back(rule.rule);
    return find_common_point(whole).status;
  };
  const double above = std::max(stated * (1 + tolerance), negligible * result.epsilon);
  const bool is_reached = std::any_of(branches.begin(), branches.end(), [&](const auto& branch) {
    return status_in(branch, above) == CommonPoint::Status::found;
  });
  if (above < result.epsilon && is_reached) {
    result.failures.push_back(
        fmt::format("max_epsilon is {}, but a point is robust up to {}", stated, above));
  }
  const double below = stated * (1 - tolerance);
  const bool is_empty = std::all_of(branches.begin(), branches.end(), [&](const auto& branch) {
    return status_in(branch, below) == CommonPoint::Status::none;
  });
  if (stated > 0 && is_empty) {
    result.failures.push_back(
        fmt::format("max_epsilon is {}, but no point is robust up to {}", stated, below));
  }
}

}  // namespace ellice

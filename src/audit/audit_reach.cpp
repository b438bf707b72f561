#include "audit/audit_reach.hpp"

#include <algorithm>

namespace ellice::audit {

namespace {

// Of a case in parts, where a person's own values lie apart from the ranges.
constexpr int most_parts = 64;

class Parts {
 public:
  Parts(const RowConstraints& constraints, const ReachIn& reach, LargestEpsilon& result)
      : constraints_(&constraints), reach_(&reach), result_(&result) {}

  /// Looks at the box around the values, and follows its best point to where it is allowed.
  void visit(const std::vector<FeatureValues>& values) {
    ++count_;
    const Reach found =
        (*reach_)({.box = constraints_->around(values), .rules = constraints_->rules()});
    if (found.admitted <= result_->attained) return;
    const std::optional<Index> gap =
        found.point.size() > 0 ? constraints_->gap_at(values, found.point) : std::nullopt;
    if (gap && count_ < most_parts) {
      for (const bool stays : {true, false}) visit(constraints_->split(values, *gap, stays));
      return;
    }
    if (!gap) result_->attained = std::max(result_->attained, found.attained);
    result_->admitted = std::max(result_->admitted, found.admitted);
  }

 private:
  const RowConstraints* constraints_;
  const ReachIn* reach_;
  LargestEpsilon* result_;
  int count_ = 0;
};

}  // namespace

LargestEpsilon largest_epsilon(const RowConstraints& constraints, const ReachIn& reach) {
  LargestEpsilon result;
  for (const Case& one : constraints.cases()) Parts(constraints, reach, result).visit(one.values);
  return result;
}

}  // namespace ellice::audit

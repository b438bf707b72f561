#include "audit/audit_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ellice/audit/audit.hpp"

namespace ellice {

void check_plan(const AuditRequest& asked, std::span<const AnswerAudit> earlier,
                AnswerAudit& plan) {
  if (plan.changed.empty()) return;
  for (const AnswerAudit& before : earlier) {
    if (before.changed.empty()) continue;
    const bool contains = std::includes(plan.changed.begin(), plan.changed.end(),
                                        before.changed.begin(), before.changed.end());
    if (asked.plans_differ && contains) {
      plan.failures.push_back(fmt::format("changes: contain all those of plan {}", before.plan));
    }
    if (asked.trade_off &&
        !(plan.changed.size() > before.changed.size() && plan.cost < before.cost)) {
      plan.failures.push_back(
          fmt::format("trade-off: not more changes for less cost than plan {}", before.plan));
    }
  }
}

}  // namespace ellice

#include "audit/audit_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

/// «a, b and c».
std::string in_words(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::vector<std::string> less(const std::vector<std::string>& names,
                              const std::vector<std::string>& others) {
  std::vector<std::string> rest;
  std::copy_if(names.begin(), names.end(), std::back_inserter(rest), [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) == others.end();
  });
  return rest;
}

/// What a plan's reason says of it, in the words of those who write it.
std::string reason_of(const AuditRequest& asked, std::span<const AnswerAudit> earlier,
                      const AnswerAudit& plan) {
  const std::size_t count = plan.changed.size();
  const std::string changes = fmt::format("{} change{}", count, count == 1 ? "" : "s");
  if (asked.trade_off) {
    if (earlier.empty()) {
      const bool is_least = plan.status == Status::optimal;
      return fmt::format("{} at a cost of {:.4g}: the fewest {}", changes, plan.cost,
                         is_least ? "possible" : "that were found");
    }
    const AnswerAudit& last = earlier.back();
    return fmt::format("{} instead of {} lower the cost from {:.4g} to {:.4g}", changes,
                       last.changed.size(), last.cost, plan.cost);
  }
  if (earlier.empty()) return {};
  const std::vector<std::string> added = less(plan.changed, earlier.front().changed);
  return fmt::format(
      "leaves {} alone, unlike plan 1; {}", in_words(less(earlier.front().changed, plan.changed)),
      added.empty() ? "gets by with the rest" : fmt::format("changes {} instead", in_words(added)));
}

}  // namespace

void check_plan(const AuditRequest& asked, std::span<const AnswerAudit> earlier, const Json& record,
                AnswerAudit& plan) {
  const bool has_reason = record.contains("reason");
  std::string reason = record.value("reason", "");
  constexpr std::string_view last = "; further changes do not lower it";
  if (asked.trade_off && reason.ends_with(last)) reason.resize(reason.size() - last.size());
  if (has_reason && reason != reason_of(asked, earlier, plan))
    plan.failures.emplace_back("reason: it is not what the changes of the plans say");
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

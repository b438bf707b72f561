#include "audit/audit_attack.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/json.hpp"
#include "ellice/sets/attack.hpp"

namespace ellice {

namespace {

// Lines are halved twenty times, and rounding may decide the last of these.
constexpr double attack_tolerance = 1e-6;

bool agree_roughly(double stated, double found, double scale) {
  return std::abs(stated - found) <= attack_tolerance * (scale + std::abs(found));
}

}  // namespace

void check_attack(JsonObject stated, const Model& model, const AuditRequest& asked,
                  const Certificate& certificate, const StoredRows* rows,
                  std::vector<std::string>& failures) {
  const bool broken = stated.boolean("broken");
  const double logit = stated.number("logit");
  const double excess = stated.number("excess_objective");
  const auto direction = stated.choice<AttackDirection>("direction");
  stated.finish();
  const auto fault = [&](std::string text) { failures.push_back("attack: " + std::move(text)); };
  if (broken != (logit < asked.threshold)) fault("broken does not go with its logit");
  if (excess > certificate.epsilon * (1 + attack_tolerance) + 1e-12)
    fault(fmt::format("its network is {} above the optimum, but {} was the limit", excess,
                      certificate.epsilon));
  if (rows == nullptr) return;
  const Attack own =
      attack(model, labelled(*rows), certificate.epsilon, certificate.encoded, asked.threshold);
  const double scale = 1e-3 * std::abs(model.logit(certificate.encoded));
  if (!agree_roughly(logit, own.logit, scale))
    fault(fmt::format("logit is {}, found again {}", logit, own.logit));
  if (!agree_roughly(excess, own.excess, certificate.epsilon))
    fault(fmt::format("excess_objective is {}, found again {}", excess, own.excess));
  if (direction != own.direction)
    fault(fmt::format("direction is {}, found again {}", enum_name(direction),
                      enum_name(own.direction)));
}

}  // namespace ellice

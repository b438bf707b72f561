#include "search/plan_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ellice {

namespace {

constexpr std::string_view fewest_possible = ": the fewest possible";
constexpr std::string_view fewest_found = ": the fewest that were found";

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::vector<std::string> without(const std::vector<std::string>& names,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> rest;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return rest;
}

std::string counted(int changes) {
  return fmt::format("{} change{}", changes, changes == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> changed_names(const Answer& answer) {
  std::vector<std::string> names;
  for (const Change& change : answer.changes) names.push_back(change.feature);
  std::sort(names.begin(), names.end());
  return names;
}

bool contains_changes(const Answer& answer, const Answer& earlier) {
  return without(changed_names(earlier), changed_names(answer)).empty();
}

std::string plan_reason(const Answer& plan, const Answer& first) {
  const std::vector<std::string> own = changed_names(plan);
  const std::vector<std::string> other = changed_names(first);
  const std::vector<std::string> added = without(own, other);
  return fmt::format(
      "leaves {} alone, unlike plan 1; {}", listed(without(other, own)),
      added.empty() ? "gets by with the rest" : fmt::format("changes {} instead", listed(added)));
}

std::string no_more_reason() {
  return "; further changes do not lower it";
}

std::string weaker_reason(std::string reason) {
  const std::string last = no_more_reason();
  if (reason.ends_with(last)) reason.resize(reason.size() - last.size());
  if (reason.ends_with(fewest_possible)) {
    reason.resize(reason.size() - fewest_possible.size());
    reason += fewest_found;
  }
  return reason;
}

std::string trade_off_reason(const Answer& answer, const Answer* fewer) {
  const Distance& now = answer.distance;
  if (fewer == nullptr) {
    return fmt::format("{} at a cost of {:.4g}{}", counted(now.changed), now.weighted,
                       answer.status == Status::optimal ? fewest_possible : fewest_found);
  }
  return fmt::format("{} instead of {} lower the cost from {:.4g} to {:.4g}", counted(now.changed),
                     fewer->distance.changed, fewer->distance.weighted, now.weighted);
}

}  // namespace ellice

#include "report/trade_off.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/report/sentence.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

std::string cheaper_plan(const Answer& plan) {
  return fmt::format("{} changes would lower the cost to {}", plan.distance.changed,
                     rounded(plan.distance.weighted));
}

void add_message(Answer& answer, const std::string& text) {
  answer.message += (answer.message.empty() ? "" : "; ") + text;
}

}  // namespace

double parse_worth(const std::string& text) {
  const bool is_percent = text.ends_with('%');
  std::string number = is_percent ? text.substr(0, text.size() - 1) : text;
  while (number.ends_with(' ')) number.pop_back();
  double value = 0;
  const bool is_number = parse_number(number, value);
  if (is_percent) value /= 100;
  require(is_number && value >= 0 && value <= 1,
          "`worth`: found \"{}\", expected what another change must save, from 0% to 100%, as in "
          "20%",
          text);
  return value;
}

bool is_trade_off(std::span<const Answer> plans) {
  return plans.size() > 1 && std::all_of(plans.begin(), plans.end(), [](const Answer& plan) {
           return plan.counterfactual.has_value();
         });
}

double saving_per_change(const Answer& fewer, const Answer& more) {
  const int further = more.distance.changed - fewer.distance.changed;
  if (further < 1 || !(fewer.distance.weighted > 0)) return 0;
  return (1 - more.distance.weighted / fewer.distance.weighted) / further;
}

std::size_t recommended(std::span<const Answer> plans, double worth) {
  std::size_t place = 0;
  while (place + 1 < plans.size() && saving_per_change(plans[place], plans[place + 1]) >= worth) {
    ++place;
  }
  return place;
}

std::size_t end_of_person(std::span<const Answer> answers, std::size_t first) {
  std::size_t end = first + 1;
  while (end < answers.size() && answers[end].query_index == answers[first].query_index) ++end;
  return end;
}

std::vector<Answer> recommended_alone(const std::vector<Answer>& answers, double worth) {
  std::vector<Answer> result;
  for (std::size_t first = 0; first < answers.size();) {
    const std::size_t end = end_of_person(answers, first);
    const std::span<const Answer> plans(answers.data() + first, end - first);
    first = end;
    const bool has_choice = is_trade_off(plans);
    const std::size_t place = has_choice ? recommended(plans, worth) : 0;
    Answer chosen = plans[place];
    if (has_choice) add_message(chosen, recommendation_rule(worth));
    // A reason is for plans that stand beside it, and is checked against them. Also a plan that was
    // alone from the start may have one: what more changes than are shown would cost.
    const std::string more =
        place + 1 < plans.size() && has_choice ? cheaper_plan(plans.back()) : chosen.reason;
    if (!more.empty()) add_message(chosen, more);
    chosen.plan = 0;
    chosen.reason.clear();
    result.push_back(std::move(chosen));
  }
  return result;
}

std::string recommendation_rule(double worth) {
  return fmt::format("the plan after which another change saves less than {:.3g} % of the cost",
                     100 * worth);
}

std::vector<TradeOffLine> trade_off_lines(std::span<const Answer> plans, const Schema& schema,
                                          double worth) {
  const std::size_t best = recommended(plans, worth);
  std::vector<TradeOffLine> lines;
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const Answer& plan = plans[k];
    lines.push_back({.changes = fmt::format("{}", plan.distance.changed),
                     .cost = rounded(plan.distance.weighted),
                     .what = plan_phrase(plan, schema),
                     .is_recommended = k == best});
    if (k == 0) continue;
    const double before = plans[k - 1].distance.weighted;
    lines.back().saving =
        before > 0 ? fmt::format("{:.0f} %", 100 * (1 - plan.distance.weighted / before)) : "";
  }
  return lines;
}

}  // namespace ellice

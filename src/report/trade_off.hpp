#pragma once

// The plans of one person with one, two, three … changes, each cheaper than the one before, and
// which of them to recommend.

#include <span>
#include <string>
#include <vector>

#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"

namespace ellice {

/// What another change must save for a plan with it to be recommended: a share of the cost.
inline constexpr double usual_worth = 0.2;

/// A share from 0 to 1, written as «20%» or «0.2». Throws Error{argument} for anything else.
[[nodiscard]] double parse_worth(const std::string& text);

/// Whether these are the plans of a trade-off: several, all with a row.
[[nodiscard]] bool is_trade_off(std::span<const Answer> plans);

/// What a plan saves against the one before it, as a share of that one's cost, for each change that
/// it has more.
[[nodiscard]] double saving_per_change(const Answer& fewer, const Answer& more);

/// The plan to recommend, by its place: the first after which another change saves less than
/// `worth`.
[[nodiscard]] std::size_t recommended(std::span<const Answer> plans, double worth);

/// The plans to recommend of answers whose first are those of trade-offs, one for each person, who
/// keep their order; a message says what more changes would save.
[[nodiscard]] std::vector<Answer> recommended_alone(const std::vector<Answer>& answers,
                                                    double worth);

/// Where the answers of the person begin that follow those of the one at `first`.
[[nodiscard]] std::size_t end_of_person(std::span<const Answer> answers, std::size_t first);

/// The rule in words: «recommended: the plan after which another change saves less than 20 %».
[[nodiscard]] std::string recommendation_rule(double worth);

/// One line of the table of a trade-off.
struct TradeOffLine {
  std::string changes = {};
  std::string cost = {};
  std::string saving = {};  // «48 %»; empty for the first
  std::string what = {};    // the plan as a phrase
  bool is_recommended = false;
};
[[nodiscard]] std::vector<TradeOffLine> trade_off_lines(std::span<const Answer> plans,
                                                        const Schema& schema, double worth);

}  // namespace ellice

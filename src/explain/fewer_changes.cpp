#include "explain/fewer_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ellice {

namespace {

// Costs that differ by less, relatively, are the same.
constexpr double same_cost = 1e-9;

bool is_cheaper(const Answer& one, const Answer& other) {
  return one.distance.weighted < (1 - same_cost) * other.distance.weighted;
}

/// The plans of one query, more changes and less cost from each to the next.
struct Ladder {
  Answer nearest = {};
  std::vector<Answer> fewer = {};

  /// Takes an answer that belongs between the last and the nearest.
  void offer(Answer answer) {
    if (!is_certified(answer.status) || answer.distance.changed >= nearest.distance.changed) return;
    if (!is_cheaper(nearest, answer)) {  // as cheap as the nearest, with fewer changes
      answer.status = nearest.status;
      answer.gap = nearest.gap;
      nearest = std::move(answer);
      return;
    }
    // The best with so many changes, which nobody asked for; with more there is a nearer one.
    if (answer.status == Status::optimal) answer.status = Status::certified;
    answer.gap.reset();
    const bool is_next =
        fewer.empty() || (answer.distance.changed > fewer.back().distance.changed &&
                          is_cheaper(answer, fewer.back()));
    if (is_next) fewer.push_back(std::move(answer));
  }
  [[nodiscard]] bool may_have(int changes) const {
    return !fewer.empty() && changes > fewer.back().distance.changed &&
           changes < nearest.distance.changed;
  }
};

std::string counted_changes(int changes) {
  return fmt::format("{} change{}", changes, changes == 1 ? "" : "s");
}

std::vector<Answer> listed(Ladder ladder, int most) {
  std::vector<Answer> plans = std::move(ladder.fewer);
  if (plans.empty() || ladder.nearest.distance.changed <= most) {
    plans.push_back(std::move(ladder.nearest));
  } else {
    plans.back().reason = fmt::format("{} would lower the cost to {:.4g}",
                                      counted_changes(ladder.nearest.distance.changed),
                                      ladder.nearest.distance.weighted);
  }
  for (std::size_t k = 0; k < plans.size(); ++k) plans[k].plan = static_cast<int>(k);
  return plans;
}

}  // namespace

std::vector<Answer> with_fewer_changes(std::vector<Answer> nearest,
                                       const std::vector<Query>& queries, int most,
                                       const AskFewer& ask) {
  std::map<std::size_t, Ladder> ladders;  // by query
  for (Answer& answer : nearest) {
    Ladder& ladder = ladders[answer.query_index];
    ladder.nearest = std::move(answer);
  }
  const auto offer_all = [&](std::optional<int> changes, const auto& is_asked) {
    std::vector<Query> asked;
    std::copy_if(queries.begin(), queries.end(), std::back_inserter(asked),
                 [&](const Query& query) { return is_asked(ladders[query.index]); });
    if (asked.empty()) return;
    for (Answer& answer : ask(asked, changes)) {
      Ladder& ladder = ladders[answer.query_index];
      ladder.offer(std::move(answer));
    }
  };
  offer_all({}, [](const Ladder& ladder) {
    return is_certified(ladder.nearest.status) && ladder.nearest.distance.changed > 1;
  });
  for (int changes = 2; changes <= most; ++changes)
    offer_all(changes, [&](const Ladder& ladder) { return ladder.may_have(changes); });
  std::vector<Answer> result;
  for (const Query& query : queries) {
    const auto found = ladders.find(query.index);
    if (found == ladders.end() || found->second.nearest.query.empty()) continue;
    for (Answer& plan : listed(std::move(found->second), most)) result.push_back(std::move(plan));
  }
  return result;
}

void reasons_to_messages(std::vector<Answer>& answers) {
  for (Answer& answer : answers) {
    if (!answer.message.empty() && !answer.reason.empty()) answer.message += "; ";
    answer.message += std::exchange(answer.reason, {});
  }
}

}  // namespace ellice

#pragma once

// Trade-offs for display: beside the nearest plan the best ones with fewer changes.

#include <functional>
#include <optional>
#include <vector>

#include "ellice/request/answer.hpp"
#include "ellice/request/query.hpp"

namespace ellice {

/// Answers queries with at most so many changes, or, where none is given, with the fewest.
using AskFewer =
    std::function<std::vector<Answer>(const std::vector<Query>& queries, std::optional<int> most)>;

/// Every answer (one per query, in their order) with those before it that have fewer changes and
/// cost more: of the fewest changes, then of each number up to `most`, as long as each is cheaper
/// than the one before; those are not called optimal. A nearest answer with more changes than
/// `most` is left out where there are others, whose last names its cost.
[[nodiscard]] std::vector<Answer> with_fewer_changes(std::vector<Answer> nearest,
                                                     const std::vector<Query>& queries, int most,
                                                     const AskFewer& ask);

/// What such answers say of each other is no statement of a recourse file, whose `reason` belongs
/// to plans that were asked for: there it is part of their messages.
void reasons_to_messages(std::vector<Answer>& answers);

}  // namespace ellice

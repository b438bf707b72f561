#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/draft_words.hpp"

namespace ellice {

/// Levels that are ranges of numbers («< 1 year», «1 - 4 years», «>= 7 years»), in their order; one
/// of them may be a word for nothing («unemployed», «none»), which is the lowest. Nothing where any
/// is neither, or where two ranges overlap.
[[nodiscard]] std::optional<LadderMatch> match_intervals(const std::vector<std::string>& values);

}  // namespace ellice

#pragma once

#include <string>
#include <vector>

#include "ellice/request/answer.hpp"

namespace ellice {

/// Names of the features that an answer changes, sorted.
[[nodiscard]] std::vector<std::string> changed_names(const Answer& answer);

/// Whether `answer` changes all that `earlier` changes.
[[nodiscard]] bool contains_changes(const Answer& answer, const Answer& earlier);

/// How a plan differs from the first one: «leaves income alone, unlike plan 1; changes debt and
/// duration instead».
[[nodiscard]] std::string plan_reason(const Answer& plan, const Answer& first);

/// What the changes of an answer buy compared with the answer that has fewer: «3 changes instead of
/// 2 lower the cost from 4.1 to 2.6».
[[nodiscard]] std::string trade_off_reason(const Answer& answer, const Answer* fewer);
/// What ends the reason of the last answer of a trade-off, where that is known.
[[nodiscard]] std::string no_more_reason();

/// A reason as it reads where the answer is not known to be the best of all: without what it says
/// of answers that were not found.
[[nodiscard]] std::string weaker_reason(std::string reason);

}  // namespace ellice

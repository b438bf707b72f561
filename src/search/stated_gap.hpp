#pragma once

#include "ellice/request/answer.hpp"

namespace ellice {

/// States what is known of all other answers of a certified one: no row costs less than
/// `lower_bound`, in the cost that was asked for. The gap is the share of the cost that another row
/// could save at most; up to 1e-9 of it the answer is called optimal, with a gap of 0, unless so
/// little of a huge cost is more than a millionth: then the message says so. `lost` is
/// LinearQuestion::lost(): where it leaves a gap, the message says that.
///
/// A bound above the cost of a certified row contradicts it. Then no gap is stated, and the message
/// says that a fault of the program was met (theory.md, Result 9).
void state_gap(Answer& result, double lower_bound, double lost = 0);

/// What the message then begins with.
inline constexpr std::string_view contradicted = "internal fault: the bound on the cost of all";

}  // namespace ellice

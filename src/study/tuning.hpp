#pragma once

#include <cstddef>
#include <vector>

#include "study/cell.hpp"

namespace ellice {

/// Whether a walk along a grid ends here. Always when every answer is robust for every set;
/// published: also when validity has fallen from above 0 to 0, or from above 0.9 to below 0.5.
[[nodiscard]] bool walk_ends(const std::vector<StudyRun>& walk, Variant variant);

/// The run that tuning chooses for a set. published: largest validity, then largest robustness of
/// valid answers, the first of equals. corrected: largest robustness of all rows (which counts a
/// row without a valid answer as lost), then validity, then the shortest mean l2. The walk must not
/// be empty.
[[nodiscard]] std::size_t choose_run(const std::vector<StudyRun>& walk, const SetName& set,
                                     Variant variant);

}  // namespace ellice

#include "study/tuning.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "ellice/core/error.hpp"

namespace ellice {

bool walk_ends(const std::vector<StudyRun>& walk, Variant variant) {
  const StudyRun& last = walk.back();
  const auto is_full = [](const StudyRun::Score& score) {
    return !score.robustness || *score.robustness == 1;
  };
  if (std::all_of(last.scores.begin(), last.scores.end(), is_full)) return true;
  if (variant == Variant::corrected) return false;
  double best = 0;
  for (const StudyRun& run : walk) best = std::max(best, run.validity());
  return (best > 0 && last.validity() == 0) || (best > 0.9 && last.validity() < 0.5);
}

std::size_t choose_run(const std::vector<StudyRun>& walk, const SetName& set, Variant variant) {
  require(!walk.empty(), "there is no run to choose from");
  const auto rank = [&](const StudyRun& run) {
    const StudyRun::Score* score = run.find(set);
    double robustness = 0;
    if (score != nullptr) {
      robustness = variant == Variant::published ? score->valid_only.value_or(0)
                                                 : score->robustness.value_or(0);
    }
    if (variant == Variant::published) return std::tuple(run.validity(), robustness, 0.0);
    // Robustness of all people counts those without a valid answer already.
    const double length = run.l2 ? run.l2->mean : std::numeric_limits<double>::infinity();
    return std::tuple(robustness, run.validity(), -length);
  };
  std::size_t best = 0;
  for (std::size_t k = 1; k < walk.size(); ++k) {
    if (rank(walk[k]) > rank(walk[best])) best = k;
  }
  return best;
}

}  // namespace ellice

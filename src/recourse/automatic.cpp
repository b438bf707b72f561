#include "ellice/recourse/automatic.hpp"

#include "ellice/recourse/linear_exact.hpp"
#include "ellice/recourse/network_search.hpp"
#include "ellice/recourse/true_exact.hpp"
#include "ellice/recourse/true_network.hpp"

namespace ellice {

bool is_exact(const Problem& problem) {
  return has_linear_cones(problem);
}

std::unique_ptr<Generator> automatic_generator(const Problem& problem, const StoredRows* rows,
                                               const Execution& execution) {
  if (problem.set.kind == SetKind::true_set) {
    if (problem.model->network.layers.size() == 1) return std::make_unique<TrueExact>(problem);
    return std::make_unique<TrueNetwork>(problem, NetworkSearchOptions{}, execution);
  }
  if (is_exact(problem)) return std::make_unique<LinearExact>(problem);
  return std::make_unique<NetworkSearch>(problem, rows, NetworkSearchOptions{}, execution);
}

}  // namespace ellice

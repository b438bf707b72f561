#include "ellice/recourse/automatic.hpp"

#include "ellice/recourse/any_class.hpp"
#include "ellice/recourse/linear_exact.hpp"
#include "ellice/recourse/network_search.hpp"
#include "ellice/recourse/true_classes.hpp"
#include "ellice/recourse/true_exact.hpp"
#include "ellice/recourse/true_network.hpp"

namespace ellice {

namespace {

std::unique_ptr<Generator> single_generator(const Problem& problem, const StoredRows* rows,
                                            const Execution& execution) {
  if (problem.set.kind == SetKind::true_set) {
    if (problem.model->network.layers.size() > 1)
      return std::make_unique<TrueNetwork>(problem, NetworkSearchOptions{}, execution);
    if (problem.set.contest) return std::make_unique<TrueClasses>(problem);
    return std::make_unique<TrueExact>(problem);
  }
  if (is_exact(problem)) return std::make_unique<LinearExact>(problem);
  return std::make_unique<NetworkSearch>(problem, rows, NetworkSearchOptions{}, execution);
}

}  // namespace

bool is_exact(const Problem& problem) {
  return has_linear_cones(problem);
}

std::unique_ptr<Generator> automatic_generator(const Problem& problem, const StoredRows* rows,
                                               const Execution& execution) {
  if (!has_several_targets(problem)) return single_generator(problem, rows, execution);
  return std::make_unique<AnyClass>(
      problem, [&](const Problem& single) { return single_generator(single, rows, execution); });
}

}  // namespace ellice

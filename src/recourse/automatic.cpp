#include "ellice/recourse/automatic.hpp"

#include "ellice/recourse/any_class.hpp"
#include "ellice/recourse/exact_search.hpp"
#include "ellice/recourse/local_search.hpp"

namespace ellice {

namespace {

std::unique_ptr<Generator> single_generator(const Problem& problem, const StoredRows* rows,
                                            const Execution& execution) {
  if (why_not_exact(problem).empty()) return std::make_unique<ExactSearch>(problem);
  return std::make_unique<LocalSearch>(problem, rows, LocalSearchOptions{}, execution);
}

}  // namespace

std::unique_ptr<Generator> automatic_generator(const Problem& problem, const StoredRows* rows,
                                               const Execution& execution) {
  if (!has_several_targets(problem)) return single_generator(problem, rows, execution);
  return std::make_unique<AnyClass>(
      problem, [&](const Problem& single) { return single_generator(single, rows, execution); });
}

}  // namespace ellice

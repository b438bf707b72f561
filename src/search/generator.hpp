#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/request/answer.hpp"
#include "request/problem.hpp"

namespace ellice {

/// Finds counterfactuals for one problem. Prepared once (factorisations, filtered rows), then
/// const, so that threads may share it. Answers come in the order of the queries, the same for any
/// number of threads.
class Generator {
 public:
  virtual ~Generator() = default;
  [[nodiscard]] virtual std::vector<Answer> generate(const std::vector<Query>& queries,
                                                     const Execution& execution) const = 0;
};

}  // namespace ellice

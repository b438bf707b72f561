#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "sets/stress.hpp"

namespace ellice {

/// Throws Error{argument} unless base, rows and options fit together.
void check_stress_source(const StressSource& source, const StressOptions& options);
/// The same for kinds that are defined by their bound.
void check_stress_bound(double bound);
/// Throws Error{argument} unless source.network describes the base.
void check_network_options(const StressSource& source);

[[nodiscard]] inline NetworkObjective training_objective(const StressSource& source) {
  return {source.train, source.loss, source.penalty};
}

/// Makes the model of attempt k; its objective is filled in by the caller.
using MakeNetwork = std::function<Network(std::size_t)>;

struct Collection {
  std::size_t count = 0;     // models wanted
  std::size_t attempts = 0;  // made at most
  std::size_t block = 1;     // attempts that share one objective's storage
};

/// Makes models 0, 1, … side by side until `count` of them are inside the bound, and keeps the
/// first `count` of these: which ones does not depend on the number of threads.
void collect_models(std::string_view stage, const StressSource& source,
                    const Collection& collection, const Execution& execution,
                    const MakeNetwork& make, StressSet& set);

}  // namespace ellice

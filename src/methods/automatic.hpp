#pragma once

#include <memory>

#include "ellice/model/model.hpp"
#include "search/generator.hpp"

namespace ellice {

/// What the method «auto» means: ExactSearch where it can be (see why_not_exact), LocalSearch
/// otherwise. `rows` (optional) give the latter better starts.
[[nodiscard]] std::unique_ptr<Generator> automatic_generator(const Problem& problem,
                                                             const StoredRows* rows = nullptr,
                                                             const Execution& execution = {});

}  // namespace ellice

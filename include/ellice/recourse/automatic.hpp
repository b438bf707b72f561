#pragma once

#include <memory>

#include "ellice/model/model.hpp"
#include "ellice/recourse/generator.hpp"

namespace ellice {

/// What `--method auto` means: the exact generators for a linear model and its last-layer or true
/// set, or an ensemble of linear models, the multi-start search otherwise. `rows` (optional) gives
/// that search better starts.
[[nodiscard]] std::unique_ptr<Generator> automatic_generator(const Problem& problem,
                                                             const StoredRows* rows = nullptr,
                                                             const Execution& execution = {});

/// Whether it is LinearExact.
[[nodiscard]] bool is_exact(const Problem& problem);

}  // namespace ellice

#pragma once

#include <string>
#include <vector>

#include "request/problem.hpp"

namespace ellice {

/// What a person should know before he reads survivals under fresh rows of this model: that its
/// rows are nearly separable, or few for its parameters. Nothing for rows drawn again.
[[nodiscard]] std::vector<std::string> survival_notes(const Problem& problem);

}  // namespace ellice

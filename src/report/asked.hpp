#pragma once

// What was asked, for a page that is kept as a record.

#include <string>
#include <utility>
#include <vector>

#include "request/recourse_file.hpp"

namespace ellice {

using AskedLines = std::vector<std::pair<std::string, std::string>>;

/// What binds plans beyond ε, set, cost and threshold, in words; data, models and versions by name
/// and hash. Only what there is.
[[nodiscard]] AskedLines asked_in_words(const Request& request);

/// Every option of the run as the recourse file has it, defaults included: «exact.node_limit»,
/// «20000».
[[nodiscard]] AskedLines asked_options(const Request& request);

}  // namespace ellice

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// What a recourse file says was asked, read as strictly as a request is: every option is one of
/// the method's and in its range, and ε has a rule. Throws Error{input} naming the file, the key,
/// what was found and what was expected. Returns what does not hold, where ε is not what its rule
/// gives although the model alone decides that; else nothing.
[[nodiscard]] std::optional<std::string> check_recourse_request(
    const Json& file, const std::string& source, const Model& model,
    const std::vector<const Model*>& ensemble);

}  // namespace ellice

#pragma once

#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// What a recourse file says was asked, read as strictly as a request is: every option is one of
/// the method's and in its range. Throws Error{input} naming the file, the key, what was found and
/// what was expected. `ensemble` is in any order.
void check_recourse_request(const Json& file, const std::string& source, const Model& model,
                            const std::vector<const Model*>& ensemble);

}  // namespace ellice

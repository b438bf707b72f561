#pragma once

// The log of a proof: the points at which models are worst that close parts of all rows, in the
// order in which they were needed.

#include <vector>

#include "audit/audit_hint.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

/// What a log says; nothing where some of it cannot be read, or is a tree, as in files
/// of unreleased versions. Points prove nothing by themselves.
[[nodiscard]] std::vector<Hint> points_of(const Json& log, const Schema& schema, Index columns);

/// Written with few digits: what a point is worth does not depend on the rest.
[[nodiscard]] Json written(const Hint& hint, const Schema& schema);
void round_digits(Hint& hint);  // to those that are written

}  // namespace ellice::audit

#pragma once

// The points of a scorecard that answers state, recomputed from the parameters that decide.

#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice::audit {

/// What a record says of the person's score; nothing to do for models that are no scorecards.
void check_score(const Model& model, double threshold, const RawRow& query, JsonObject& answer,
                 std::vector<std::string>& failures);

/// What one change of a record is said to add.
void check_points(const Model& model, const RawRow& query, const Value& to, std::size_t feature,
                  JsonObject& change, std::vector<std::string>& failures);

}  // namespace ellice::audit

#pragma once

// The file form of answers, of which to_json() is the tree.

#include "core/json_output.hpp"
#include "ellice/request/answer.hpp"

namespace ellice {

void write_json(JsonOutput& out, const Reasons& reasons);

/// The members of an answer's record, for somebody who opens the object and may add some.
void write_members(JsonOutput& out, const Answer& answer, const Schema& schema);

}  // namespace ellice

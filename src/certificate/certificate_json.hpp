#pragma once

#include "core/json_output.hpp"
#include "ellice/certificate/certificate.hpp"

namespace ellice {

/// The certificate's file form, of which to_json() is the tree.
void write_json(JsonOutput& out, const Certificate& certificate, const Schema& schema);

}  // namespace ellice

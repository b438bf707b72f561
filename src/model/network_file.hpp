#pragma once

// `network` of a model file (docs/reference/formats.md).

#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

[[nodiscard]] Json network_to_json(const Network& network);
/// Throws Error{input} naming the key of what is not a network that reads the encoder's columns.
[[nodiscard]] Network network_from_json(JsonObject object, const Encoder& encoder);

}  // namespace ellice

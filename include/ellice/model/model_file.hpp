#pragma once

#include <string>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

[[nodiscard]] Json to_json(const Model& model);

/// Checks every field: shapes against each other and against the schema, finiteness, H symmetric
/// positive definite. Errors name the file and the key.
[[nodiscard]] Model model_from_json(const Json& value, const std::string& source);

[[nodiscard]] Model read_model(const std::string& path);
void write_model(const std::string& path, const Model& model);

/// SHA-256 of the canonical JSON of a model file without `recommended` and `rows`, so that
/// calibrating a model does not void the certificates that were issued for it.
[[nodiscard]] std::string model_sha256(Json model);
[[nodiscard]] std::string model_sha256(const Model& model);

}  // namespace ellice

#pragma once

#include <string>

#include "ellice/model/coefficients.hpp"

namespace ellice {

/// The coefficients of a PMML document with one regression of two classes. Throws Error{input}
/// naming the element that is missing or cannot be imported.
[[nodiscard]] Coefficients parse_pmml(const std::string& text, const std::string& source);

}  // namespace ellice

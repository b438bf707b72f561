#pragma once

#include <functional>
#include <string>

#include "combination/cases.hpp"

namespace ellice::combination {

/// A smaller case of which `fails` still holds: fewer people, methods, features, rules, limits and
/// options that differ from their defaults, one thing after another.
[[nodiscard]] Case reduced(Case given, const std::function<bool(const Case&)>& fails);

}  // namespace ellice::combination

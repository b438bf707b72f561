#pragma once

#include <array>
#include <string_view>

#include "ellice/core/fields.hpp"

namespace ellice {

/// Two forms of the models and methods with which the paper compares. They are never mixed in one
/// table.
enum class Variant {
  published,  // as the paper's authors ran it, defects included: what their tables show
  corrected,  // what a sound implementation of the same idea does
};
template <>
struct EnumNames<Variant> {
  static constexpr std::array<std::string_view, 2> names = {"published", "corrected"};
};

}  // namespace ellice

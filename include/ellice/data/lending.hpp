#pragma once

#include <cstdint>
#include <string>

#include "ellice/data/dataset.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// The embedded data: loan applications drawn from a documented model (docs/reference/lending.md),
/// in original units, with numeric, integer, ordinal, binary, categorical and immutable features.
[[nodiscard]] Schema lending_schema();

/// As CSV text with a header; the same seed gives the same bytes, and fewer rows a prefix of more.
[[nodiscard]] std::string lending_csv(std::size_t rows, std::uint64_t seed);

/// The same rows without the way through text; sha256 is that of lending_csv.
[[nodiscard]] Dataset lending_dataset(std::size_t rows, std::uint64_t seed);

}  // namespace ellice

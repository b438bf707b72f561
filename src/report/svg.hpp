#pragma once

// What pages and figures share: safe text, and round numbers for axes.

#include <string>
#include <string_view>
#include <vector>

namespace ellice::svg {

/// Text made safe for HTML and SVG, in content and in quoted attributes.
[[nodiscard]] std::string escape(std::string_view text);

/// Round numbers from `low` to `high` that divide the way into about `count` parts (1, 2 or 5 times
/// a power of ten); those inside the interval.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

}  // namespace ellice::svg

#pragma once

#include <array>
#include <string_view>

#include "ellice/core/fields.hpp"

namespace ellice {

/// How the rows are searched. Every kind gives the same answer; they differ in time.
enum class SearchKind {
  automatic,
  brute,     // all rows: matrix products for batches under squares, else a scan
  kdtree,    // nanoflann; few columns, many rows
  balltree,  // buckets with a bounding box each: bounds that know every term of the metric
};
template <>
struct EnumNames<SearchKind> {
  static constexpr std::array<std::string_view, 4> names = {"auto", "brute", "kdtree", "balltree"};
};

}  // namespace ellice

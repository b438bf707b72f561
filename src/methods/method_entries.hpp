#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "methods/method_table.hpp"

namespace ellice {

/// The entries of methods(): all, and those that the paper compares itself with.
[[nodiscard]] std::vector<Method> method_entries();
[[nodiscard]] std::vector<Method> baseline_entries();

// What entries are made of.
namespace entry {

inline bool always(const MethodOptions& /*options*/) {
  return true;
}

inline bool never(const MethodOptions& /*options*/) {
  return false;
}

inline bool without_rows(const MethodOptions& /*options*/, const Model& /*model*/) {
  return false;
}

inline bool with_rows(const MethodOptions& /*options*/, const Model& /*model*/) {
  return true;
}

inline std::string nothing_against(const Problem& /*problem*/, const MethodOptions& /*options*/) {
  return {};
}

inline const RowMatrix& raw_rows(const FittedRows& rows) {
  require(rows.raw != nullptr, "this method works with the training rows: give `rows`");
  return *rows.raw;
}

template <class T>
void read_own(JsonObject& options, std::string_view key, T& own) {
  if (options.has(key)) fields_from_json(options.object(key), own);
}

}  // namespace entry

}  // namespace ellice

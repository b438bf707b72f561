#pragma once

// Recourse files with one thing changed: what a slip, a faulty program or a forger might do to any
// field.

#include <optional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/json.hpp"

namespace ellice::combination {

struct Place {
  Json::json_pointer at = Json::json_pointer();
  std::string name = {};  // with indices and names of features and classes left out
};

/// Every value of a document but the document itself.
[[nodiscard]] std::vector<Place> places_of(const Json& document);

struct Alteration {
  std::string what = {};
  Json document = {};
  Json before = {};  // null where a key goes or comes
  Json after = {};
};

/// One change of the value at a place; nothing where the one that is drawn changes nothing.
/// `fine` lets numbers change by a millionth of themselves.
[[nodiscard]] std::optional<Alteration> altered(const Json& document, const Place& place, bool fine,
                                                Random& random);

}  // namespace ellice::combination

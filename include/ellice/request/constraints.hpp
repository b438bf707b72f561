#pragma once

// This run's constraints, over the schema's: what is locked, bounded or one-way, for everybody or
// for one query.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

enum class RangePolicy {
  train,  // every feature stays inside the training minimum and maximum, enlarged to contain the
          // query
  off,
};
template <>
struct EnumNames<RangePolicy> {
  static constexpr std::array<std::string_view, 2> names = {"train", "off"};
};

struct FeatureLimits {
  bool locked = false;
  std::optional<double> min = {};  // replace the schema's
  std::optional<double> max = {};
  std::optional<Direction> direction = {};
  bool operator==(const FeatureLimits&) const = default;
};

struct Constraints {
  RangePolicy range = RangePolicy::train;
  std::map<std::string, FeatureLimits> features = {};  // for every query
  std::map<std::size_t, std::map<std::string, FeatureLimits>> queries =
      {};  // further ones, by query index

  /// What binds `feature` in the query with this index: its own limits over everybody's.
  [[nodiscard]] FeatureLimits of(std::size_t query, const std::string& feature) const;
  bool operator==(const Constraints&) const = default;
};

/// Throws Error{argument} for an unknown feature (with a suggestion), bounds or a direction on a
/// feature without numbers or order, min > max.
void validate(const Constraints& constraints, const Schema& schema);

/// Adds what a YAML file holds: `lock: [age]`, `bounds: {income: [0, 50000]}` (null for none),
/// `direction: {debt: decrease}`, and under `queries:` the same by query index. Throws Error{input}
/// with file, line and key, also for a feature that the schema does not have.
void read_constraints(const std::string& path, const Schema& schema, Constraints& constraints);

/// `range`, and `lock`, `bounds`, `direction`, `queries` where there are any: the keys of the YAML
/// file.
[[nodiscard]] Json to_json(const Constraints& constraints);
/// Takes these keys from an object that may hold others.
/// A range that is left out is `otherwise`, if there is one, and an error if not.
[[nodiscard]] Constraints constraints_from_json(JsonObject& object,
                                                std::optional<RangePolicy> otherwise = {});

}  // namespace ellice

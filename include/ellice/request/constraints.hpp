#pragma once

// This run's constraints, over the schema's: what is locked, bounded or one-way, for everybody or
// for one query; further rules, and what changes weigh.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

struct Model;

enum class RangePolicy {
  train,  // every feature stays inside the training minimum and maximum, enlarged to contain the
          // query
  off,
};
template <>
struct EnumNames<RangePolicy> {
  static constexpr std::array<std::string_view, 2> names = {"train", "off"};
};

/// The time that a plan may take: «12 months». A feature with a pace (`slow` of the schema) changes
/// within it by at most amount · days / days, those of the pace's period and of the horizon: a
/// week has 7, a month 30.4375, a year 365.25; of ordinal features by whole levels.
struct Horizon {
  double amount = 0;
  Pace::Period per = Pace::Period::month;
  bool operator==(const Horizon&) const = default;
};

/// «12 months», «1 year». Throws Error{argument} for anything but a number > 0 and a time.
[[nodiscard]] Horizon parse_horizon(std::string_view text);
[[nodiscard]] std::string to_text(const Horizon& horizon);
/// By how much a feature that has a pace may change within a horizon.
[[nodiscard]] double most_change(const Feature& feature, const Horizon& horizon);

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
      {};                                      // further ones, by query index
  std::optional<Horizon> horizon = {};         // none: what is slow may change at once
  std::vector<std::string> rules = {};         // beside the schema's, written as there
  std::map<std::string, double> weights = {};  // by feature, in place of the schema's

  /// What binds `feature` in the query with this index: its own limits over everybody's.
  [[nodiscard]] FeatureLimits of(std::size_t query, const std::string& feature) const;
  bool operator==(const Constraints&) const = default;
};

/// Throws Error{argument} for an unknown feature (with a suggestion), bounds or a direction on a
/// feature without numbers or order, min > max. Rules and weights are checked by `with_wishes`.
void validate(const Constraints& constraints, const Schema& schema);

/// The model as a run asks it: with the run's rules and weights in its schema, so that whoever
/// looks at rows and costs looks with them; its hash stays that of its file. Nothing where a run
/// has neither. Throws Error{argument} for a rule or a weight that the schema could not hold.
[[nodiscard]] std::optional<Model> with_wishes(const Model& model, const Constraints& constraints);

/// Adds what a YAML file holds: `lock: [age]`, `bounds: {income: [0, 50000]}` (null for none),
/// `direction: {debt: decrease}`, and under `queries:` the same by query index; `horizon: 12
/// months`, `rules: ["debt <= 0.3 * income"]` and `weights: {income: 4}` are for everybody. Throws
/// Error{input} with file, line and key, also for a feature that the schema does not have.
void read_constraints(const std::string& path, const Schema& schema, Constraints& constraints);

/// `range`, and `lock`, `bounds`, `direction`, `queries`, `horizon`, `rules`, `weights` where there
/// are any: the keys of the YAML file.
[[nodiscard]] Json to_json(const Constraints& constraints);
/// Takes these keys from an object that may hold others.
/// A range that is left out is `otherwise`, if there is one, and an error if not.
[[nodiscard]] Constraints constraints_from_json(JsonObject& object,
                                                std::optional<RangePolicy> otherwise = {});

}  // namespace ellice

#pragma once

// A model in the words of the scorecard that it is: points of bins and levels, and their sum.

#include <cstddef>
#include <string>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// The entry of a feature's characteristic for one of its values: a bin, codes after intervals, or
/// a level.
[[nodiscard]] std::size_t entry_of(const Feature& feature, const Value& value);

/// What a value counts; 0 of a feature that is not on the card.
[[nodiscard]] double points_of(const ScorePoints& card, const Schema& schema, std::size_t feature,
                               const Value& value);
/// What a row has.
[[nodiscard]] double points_of(const ScorePoints& card, const Schema& schema, const RawRow& row);

/// The code of the reason for a value; empty where the card has none.
[[nodiscard]] std::string reason_of(const ScorePoints& card, const Schema& schema,
                                    std::size_t feature, const Value& value);

/// The points that are needed where the logit must reach a threshold: the cut-off, unless another
/// threshold than the model's own was asked for.
[[nodiscard]] double points_needed(const Model& model, double threshold);

[[nodiscard]] Json to_json(const ScorePoints& card, const Schema& schema);
/// Of a model whose other members are read: points that are not those of its parameters are
/// refused, so that no answer can state others than what decides.
[[nodiscard]] ScorePoints score_points_from_json(JsonObject object, const Model& model);

}  // namespace ellice

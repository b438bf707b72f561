#pragma once

#include <string>

#include "ellice/model/model.hpp"

namespace ellice::problem_zoo {

/// Four applications and a linear model, with numbers that a person can check: debt has mean 4 000
/// and deviation 2 000, grade mean 1 and deviation 1. The model accepts the first, second and last
/// row with logits 0, 1.75 and 0.5; on average their logit is 0.75.
struct RefusalCase {
  Model model = {};
  StoredRows rows = {};
  /// Declined with a logit of −3.
  RawRow person = {8000.0, "low", "no", "boat"};
};

inline RefusalCase refusal_case() {
  Dataset data;
  data.schema.target = {.column = "approved", .favourable = "yes"};
  data.schema.features = {
      {.name = "debt", .unit = "EUR"},
      {.name = "grade", .kind = FeatureKind::ordinal, .levels = {"low", "middle", "high"}},
      {.name = "member", .kind = FeatureKind::binary, .levels = {"no", "yes"}, .immutable = true},
      {.name = "purpose", .kind = FeatureKind::categorical, .levels = {"boat", "car", "home"}}};
  data.raw = RowMatrix{{2000, 0, 0, 0}, {2000, 2, 1, 1}, {6000, 0, 1, 2}, {6000, 2, 1, 2}};
  data.labels = {0, 1, 0, 1};
  data.classes = {"no", "yes"};
  RefusalCase result{.model = {.encoder = Encoder::fit(data)}};
  result.model.network = linear_network(Vector{{-1, 0.5, 0.25, -0.5, 0, 0.75, 0}});
  result.model.decision.classes = data.classes;
  result.model.sha256 = std::string(64, 'c');
  result.rows = {.encoded = result.model.encoder.encode(data.raw), .labels = data.labels};
  return result;
}

}  // namespace ellice::problem_zoo

#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"

namespace ellice {

/// What the certified plans of a batch do to one feature. Moves are in original units, in levels
/// for ordinal features.
struct FeatureUse {
  std::size_t changed = 0;
  std::size_t raised = 0;
  std::size_t lowered = 0;
  double raised_by = 0;  // sums
  double lowered_by = 0;
  std::map<std::string, std::size_t> levels = {};  // new level -> how often
};

/// A batch in numbers. Counts the first plan of each query, and further ones only as such;
/// distances and features are those of certified plans that change something. Eight bytes per
/// answer are kept, the rest does not grow, so that long streams can be summed up.
class BatchSummary {
 public:
  /// Without quantiles no distance is kept, and nothing grows with the batch.
  explicit BatchSummary(const Schema& schema, bool quantiles = true);
  void add(const Answer& answer);

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] std::size_t queries() const { return queries_; }
  [[nodiscard]] std::size_t further_plans() const { return further_plans_; }
  [[nodiscard]] std::size_t count(Status status) const;
  /// Readable queries that the set of models does not accept as they are.
  [[nodiscard]] std::size_t in_need() const;
  /// Those of them with a plan that is certified for the ε that was asked.
  [[nodiscard]] std::size_t helped() const;

  [[nodiscard]] const std::vector<double>& distances() const { return distances_; }  // l2
  [[nodiscard]] const std::map<int, std::size_t>& changes() const { return changes_; }
  [[nodiscard]] const std::vector<FeatureUse>& features() const { return features_; }
  /// Indices of the features that change at all, most frequent first.
  [[nodiscard]] std::vector<std::size_t> most_changed() const;

  /// Quantiles of the distances and of the numbers of changes: the smallest value with at least
  /// this share of all at or below it. There must be values.
  [[nodiscard]] std::vector<double> distance_quantiles(std::span<const double> shares) const;
  [[nodiscard]] int changes_quantile(double share) const;

 private:
  /// Returns the feature's place, which is looked for from `expected` on.
  std::size_t count_change(const Change& change, std::size_t expected);

  Schema schema_;
  std::size_t queries_ = 0;
  std::size_t further_plans_ = 0;
  std::array<std::size_t, EnumNames<Status>::names.size()> statuses_ = {};
  bool quantiles_;
  std::vector<double> distances_;
  std::map<int, std::size_t> changes_;
  std::vector<FeatureUse> features_;
};

/// «raised in 30, by 4 200 EUR/year on average; lowered in 2, …», «to own in 3».
[[nodiscard]] std::string describe(const FeatureUse& use, const Feature& feature);

}  // namespace ellice

#pragma once

#include <memory>
#include <set>
#include <vector>

#include "search/local_query.hpp"

namespace ellice {

/// Sets of few features whose changes bring one query to a robust point, smallest first: a beam
/// over sets that differ in one feature, ranked by the largest worst-case logit that an ascent
/// reaches while all other features rest. Levels of categories are tried one by one, never relaxed.
/// Deterministic, and proves nothing of the sets that it leaves out.
class FewFeatures {
 public:
  /// What `context` points to must outlive this.
  explicit FewFeatures(const QueryContext& context);

  using Features = std::vector<std::size_t>;
  /// The sets with one feature more than before that reach a robust point, the cheapest first.
  [[nodiscard]] std::vector<Features> next();
  /// How many features may change at all.
  [[nodiscard]] std::size_t movable() const { return movable_.size(); }

 private:
  struct Reached {
    Features features = {};  // sorted
    Vector point = {};
    double margin = 0;  // of the worst-case logit; robust from 0 on
    double cost = 0;    // of the nearest robust point on the way from the query
  };
  [[nodiscard]] Reached reach(Features features, Vector start);
  void choose_level(std::size_t feature, Vector& point);
  /// One step towards the corner of the features' box that the slope points to.
  [[nodiscard]] bool ascend(const Features& features, Vector& point, double& margin);
  [[nodiscard]] double cost_on_the_way(const Reached& reached);

  QueryContext context_;
  std::unique_ptr<RobustFunction> function_;
  RobustConstraints constraints_;
  std::vector<std::size_t> movable_;
  std::vector<Reached> beam_;
};

}  // namespace ellice

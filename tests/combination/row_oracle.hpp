#pragma once

// What a row may be and what it costs, by definition: from the schema, this run's constraints and
// the written rows alone, without the code that searches or audits.

#include <string>
#include <vector>

#include "combination/cases.hpp"
#include "ellice/core/json.hpp"

namespace ellice::combination {

class RowOracle {
 public:
  RowOracle(const Constraints& constraints, const Cost& cost, const Model& model);

  /// One number per feature: of a level its index. `row` as recourse files hold it.
  [[nodiscard]] Vector numbers(const Json& row) const;
  /// Model space.
  [[nodiscard]] Vector encoded(const Vector& numbers) const;
  [[nodiscard]] double cost(const Vector& from, const Vector& to) const;
  [[nodiscard]] int changes(const Vector& from, const Vector& to) const;
  /// What a counterfactual breaks, in words; empty where it breaks nothing.
  [[nodiscard]] std::string breach(std::size_t query, const Vector& from, const Vector& to) const;

 private:
  [[nodiscard]] bool may_become(std::size_t query, std::size_t feature, double from,
                                double to) const;
  [[nodiscard]] bool keeps(const Rule& rule, const Vector& row) const;
  [[nodiscard]] bool does(const Move& move, const Vector& from, const Vector& to,
                          bool is_condition) const;

  const Constraints* constraints_;
  Cost cost_;
  const Encoder* encoder_;  // for means, scales and training ranges
  const Schema* schema_;
};

}  // namespace ellice::combination

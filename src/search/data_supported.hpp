#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"
#include "search/generator.hpp"
#include "solver/nearest.hpp"

namespace ellice {

/// The nearest training rows that are certified and meet the query's constraints: exactly the
/// cheapest ones under the problem's cost, found by search among all rows. An answer is a row that
/// somebody had, so it is given as it is: display_steps round nothing.
///
/// Statuses: certified, already_robust, and not_found, since rows that do not exist prove nothing.
class DataSupported final : public Generator {
 public:
  /// `rows` as in Dataset::raw. `problem` must outlive the generator. All rows are judged here, in
  /// one pass.
  DataSupported(const Problem& problem, RowMatrixArg rows, const DataSupportedOptions& options = {},
                const Execution& execution = {});

  /// How many of the rows, and how many different ones, every model of the set accepts.
  [[nodiscard]] Index robust_rows() const { return robust_rows_; }
  [[nodiscard]] Index different_rows() const { return raw_.rows(); }

  /// Up to `plans` answers per query, in the order of the queries, plans counted from 0.
  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  /// Rows that agree in every feature that nobody may change.
  struct Group {
    Index begin = 0;
    Index end = 0;
    std::optional<NearestRows> search = {};  // kept for large groups, else made when asked
  };
  void lay_out(RowMatrixArg rows, std::vector<Index> robust);
  [[nodiscard]] int compare_fixed(VectorArg a, VectorArg b) const;
  [[nodiscard]] const Group* group_of(VectorArg raw) const;
  [[nodiscard]] NearestRows make_search(const Group& group) const;
  [[nodiscard]] std::vector<std::vector<Answer>> answer(
      const Group* group, const std::vector<const Query*>& queries) const;
  /// How many features of a row may differ from a query's, if that is limited: `allows` are the
  /// rows of the group that meet its constraints.
  [[nodiscard]] std::optional<int> most_changes(const Group& group, VectorArg query,
                                                const std::function<bool(Index row)>& allows) const;
  [[nodiscard]] std::string why_nothing() const;

  const Problem* problem_;
  DataSupportedOptions options_;
  Assembler assembler_;
  Metric metric_;
  std::vector<Index> fixed_;  // features
  Index all_rows_;
  Index robust_rows_ = 0;
  RowMatrix raw_;              // different robust rows, by group, then in the order given
  std::vector<Group> groups_;  // by the values of the fixed features
};

/// The cost in the form that the search minimises.
[[nodiscard]] Metric metric_of(const Cost& cost, const Encoder& encoder);

}  // namespace ellice

#pragma once

// Answers held small: what a table shows of them lies in columns, and what a record says beyond
// that is made again from them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/explain/explainer.hpp"

namespace ellice {

/// Rows that are answered together: enough to keep all threads busy, and so few that their answers
/// stay in the caches.
[[nodiscard]] std::size_t block_rows(int threads);

/// Answers and those that could not be read, in the order of the table.
[[nodiscard]] std::vector<Answer> in_order(std::vector<Answer> answers,
                                           std::vector<Answer> invalid);

/// Some answers of one explainer. A plain one, a certified row of a set with one worst model, takes
/// its query, its row, the worst model and a dozen numbers, a tenth of an Answer; whatever else
/// there is, reasons for having no plan for one, is held whole. Either is given back as it was, and
/// with its reasons, which are found when they are asked for.
class AnswerBlock {
 public:
  /// `answers` of this explainer, without reasons (FindReasons::later).
  AnswerBlock(const Explainer& explainer, std::vector<Answer> answers);

  [[nodiscard]] std::size_t size() const { return statuses.size(); }
  [[nodiscard]] Answer answer(std::size_t i) const;
  [[nodiscard]] std::vector<Answer> answers(int threads) const;
  /// How many are no plain ones.
  [[nodiscard]] std::size_t whole() const { return whole_.size(); }

  // By answer; what there is not is NaN.
  std::vector<std::int64_t> query_indices = {};
  std::vector<std::int64_t> plans = {};
  std::vector<Status> statuses = {};
  std::vector<std::optional<std::string>> ids = {};  // empty where nobody has one
  /// Raw numbers of the rows to reach, a column for each feature.
  Matrix rows = {};
  std::vector<bool> has_row = {};
  std::vector<double> costs = {};
  std::vector<double> changed = {};
  std::vector<double> logits = {};
  std::vector<double> robust_logits = {};
  std::vector<double> radii = {};
  std::vector<double> survivals = {};
  [[nodiscard]] const std::string& message(std::size_t i) const;
  /// Whether there is a row to reach that differs in this feature.
  [[nodiscard]] bool changes(std::size_t i, std::size_t feature) const {
    const auto at = static_cast<Index>(i);
    const auto column = static_cast<Index>(feature);
    return has_row[i] && rows(at, column) != queries_(at, column);
  }

 private:
  /// Writes the numbers of an answer into the columns.
  void place(std::size_t i, const Answer& answer);
  /// Whether rebuilt() will give exactly this answer.
  [[nodiscard]] bool is_plain(std::size_t i, const Answer& answer, Vector& scratch) const;
  [[nodiscard]] Answer rebuilt(std::size_t i) const;

  Explainer explainer_;
  std::optional<Answer> common_;  // what all plain ones share
  RowMatrix queries_;             // raw numbers
  RowMatrix worst_models_;
  std::vector<double> l2_;
  std::vector<double> l1_;
  std::vector<double> gaps_;
  std::vector<double> real_logits_;
  std::map<std::size_t, Answer> whole_;
};

}  // namespace ellice

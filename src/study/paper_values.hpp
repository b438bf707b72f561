#pragma once

#include <map>
#include <string>

#include "study/plan.hpp"
#include "study/result_table.hpp"

namespace ellice {

/// The numbers that the paper prints, to be shown beside ours.
class PaperValues {
 public:
  PaperValues() = default;  // none
  /// A CSV with the columns table, mode, model, dataset, method, evaluator, metric, mean, spread;
  /// an empty mean is a dash of the paper. Throws Error{input} naming file, line and column.
  explicit PaperValues(const std::string& path);

  struct Key {
    StudyMode mode = StudyMode::continuous;
    StudyModel model = StudyModel::linear;
    std::string dataset = {};
    std::string method = {};
    std::string evaluator = {};  // or «runtime»
    std::string metric = {};
    auto operator<=>(const Key&) const = default;
  };
  /// Of the tables that print all cells; an empty value where the paper has none.
  [[nodiscard]] Measured find(const Key& key) const;
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  std::map<Key, Measured> values_;
};

}  // namespace ellice

#include "study/study_results.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ellice/core/json.hpp"
#include "study/study_runner.hpp"

namespace ellice {

std::string dataset_title(const std::string& name) {
  static const std::map<std::string, std::string> titles = {{"australian", "Australian"},
                                                            {"banknote", "Banknote"},
                                                            {"compas", "COMPAS"},
                                                            {"diabetes", "Diabetes"},
                                                            {"fico", "FICO"},
                                                            {"german", "German"},
                                                            {"iris", "Iris"},
                                                            {"parkinsons", "Parkinsons"},
                                                            {"wine", "Wine Quality"}};
  const auto at = titles.find(name);
  return at == titles.end() ? name : at->second;
}

StudyResults::StudyResults(const StudyPlan& plan, const StudyStore& store) : plan_(&plan) {
  for (const CellName& name : study_cells(plan)) {
    ++planned_;
    if (const std::optional<Json> record = store.find(name.text()))
      cells_.push_back(cell_from_json(*record, name.text()));
  }
}

std::vector<const StudyCell*> StudyResults::folds(StudyMode mode, const std::string& dataset,
                                                  StudyModel model,
                                                  const std::string& method) const {
  std::vector<const StudyCell*> result;
  for (const StudyCell& cell : cells_) {
    if (cell.name.mode == mode && cell.name.dataset == dataset && cell.name.model == model &&
        cell.name.method == method) {
      result.push_back(&cell);
    }
  }
  return result;
}

Measured StudyResults::over(const std::vector<const StudyCell*>& folds, const CellNumber& number) {
  std::vector<double> values;
  for (const StudyCell* cell : folds) {
    if (const std::optional<double> value = number(*cell)) values.push_back(*value);
  }
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double square = 0;
  for (const double value : values) square += (value - mean) * (value - mean) / n;
  return {.mean = mean, .spread = std::sqrt(square)};
}

std::vector<SetName> StudyResults::sets(std::size_t target) const {
  std::vector<SetName> result;
  for (const StudyEvaluator& evaluator : plan_->evaluators) {
    const std::optional<EvaluatorKind> kind = enum_from_name<EvaluatorKind>(evaluator.name);
    SetName set{.kind = *kind, .target = target};
    if (*kind == EvaluatorKind::bootstrap ||
        (*kind == EvaluatorKind::shift && plan_->variant == Variant::corrected)) {
      set.target.reset();
    }
    result.push_back(set);
  }
  return result;
}

std::size_t StudyResults::nearest_target(double epsilon) const {
  std::size_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < plan_->targets.size(); ++k) {
    double sum = 0;
    for (const StudyCell& cell : cells_) sum += cell.targets.at(k);
    const double away =
        std::abs(sum / static_cast<double>(std::max<std::size_t>(1, cells_.size())) - epsilon);
    if (away < least) {
      least = away;
      nearest = k;
    }
  }
  return nearest;
}

}  // namespace ellice

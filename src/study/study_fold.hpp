#pragma once

#include <string>
#include <vector>

#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"
#include "request/problem.hpp"
#include "study/evaluator.hpp"
#include "study/plan.hpp"

namespace ellice {

/// One fold of a data set and the base model fitted on it, as the paper splits: stratified outer
/// folds; of each outer training part a fifth for validation, which stops a network's training and
/// tunes the methods.
struct StudyFold {
  Model model = {};
  StoredRows fitted = {};  // what the base was fitted on, model space
  RowMatrix fitted_raw = {};
  StoredRows validation = {};
  StoredRows other = {};           // of a study of data shift: the half that the base has not seen
  std::vector<Query> tuning = {};  // people of the validation part whom the base declines
  std::vector<Query> test = {};    // of the test part
  std::vector<double> targets = {};  // ε of the evaluators' sets, as the plan's rules give them

  /// What the evaluators are made from; points into this fold.
  [[nodiscard]] EvaluationSource source() const;
};

/// The rows of a data set that a study uses: prepared as the paper does, balanced.
[[nodiscard]] Dataset study_rows(const std::string& dataset, StudyMode mode, std::uint64_t seed);

/// `fold` counts from 1. published: the linear base minimises the sum of losses + |w|²/2000, its
/// bias free, and is not the minimiser of the objective from which ε is counted; corrected: it is.
/// A published network keeps its last state where early stopping did not end its training. Throws
/// Error{input} where a class has fewer rows than folds.
[[nodiscard]] StudyFold prepare_fold(const Dataset& rows, const std::string& dataset,
                                     StudyModel kind, int fold, const StudyPlan& plan);

}  // namespace ellice

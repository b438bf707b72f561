#pragma once

// What a study found, put together from its cells for tables and figures.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ellice/study/store.hpp"
#include "report/figure.hpp"
#include "study/cell.hpp"
#include "study/paper_values.hpp"
#include "study/plan.hpp"
#include "study/result_table.hpp"

namespace ellice {

/// The name of a data set as the paper writes it.
[[nodiscard]] std::string dataset_title(const std::string& name);

/// A number of a cell, nothing where it has none.
using CellNumber = std::function<std::optional<double>(const StudyCell&)>;

class StudyResults {
 public:
  /// The cells of the plan that the store holds. The plan must outlive it.
  StudyResults(const StudyPlan& plan, const StudyStore& store);

  [[nodiscard]] const StudyPlan& plan() const { return *plan_; }
  [[nodiscard]] std::size_t finished() const { return cells_.size(); }
  [[nodiscard]] std::size_t planned() const { return planned_; }
  [[nodiscard]] const std::vector<StudyCell>& cells() const { return cells_; }

  /// The cells of one method, by fold.
  [[nodiscard]] std::vector<const StudyCell*> folds(StudyMode mode, const std::string& dataset,
                                                    StudyModel model,
                                                    const std::string& method) const;
  /// Mean and population standard deviation over the folds that have the number.
  [[nodiscard]] static Measured over(const std::vector<const StudyCell*>& folds,
                                     const CellNumber& number);
  /// The sets that the plan's evaluators have for a target.
  [[nodiscard]] std::vector<SetName> sets(std::size_t target) const;
  /// The target nearest to an ε, by the mean over all folds.
  [[nodiscard]] std::size_t nearest_target(double epsilon) const;

 private:
  const StudyPlan* plan_;
  std::size_t planned_ = 0;
  std::vector<StudyCell> cells_;
};

/// Tables of the paper: robustness and length by evaluator, all metrics, run times, what the folds
/// consist of; one of each for every mode of the plan, at its first target. Numbers of the paper
/// stand beside those of the method of the same name; a method that the paper does not have stands
/// beside its ElliCE.
[[nodiscard]] std::vector<ResultTable> study_tables(const StudyResults& results,
                                                    const PaperValues& paper);

struct NamedFigure {
  std::string name = {};  // of its file
  std::string caption = {};
  Figure figure = {};
};
[[nodiscard]] std::vector<NamedFigure> study_figures(const StudyResults& results);

/// In how many cells of the tables a method does at least as well as the paper.
struct Headline {
  std::string method = {};
  StudyMode mode = StudyMode::continuous;
  std::size_t cells = 0;      // data set, model and evaluator, where the paper has both numbers
  std::size_t as_robust = 0;  // robustness at least the best of the paper's methods
  std::size_t as_short = 0;   // length at most the paper's ElliCE
  std::size_t both = 0;
  std::size_t beats_rivals = 0;  // robustness at least the best of the paper's methods, run here
};
[[nodiscard]] std::vector<Headline> headlines(const StudyResults& results,
                                              const PaperValues& paper);

/// One self-contained page with all of it.
[[nodiscard]] std::string study_page(const StudyResults& results, const PaperValues& paper,
                                     const std::string& command);

/// Writes tables (text, CSV, LaTeX), figures and the page into a folder, each whole or not at all.
void write_study(const StudyResults& results, const PaperValues& paper, const std::string& folder,
                 const std::string& command);

}  // namespace ellice

#pragma once

// What one method did on one fold: the unit in which a study's results are kept.

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "study/evaluation.hpp"
#include "study/plan.hpp"

namespace ellice {

struct CellName {
  StudyMode mode = StudyMode::continuous;
  std::string dataset = {};
  StudyModel model = StudyModel::linear;
  int fold = 1;
  std::string method = {};

  /// «continuous/german/mlp/1/T:Rex»: the record's name in the store.
  [[nodiscard]] std::string text() const;
  bool operator==(const CellName&) const = default;
};

/// An evaluator's set: its kind and, unless it does not depend on ε, which of the plan's targets.
struct SetName {
  EvaluatorKind kind = EvaluatorKind::retrain;
  std::optional<std::size_t> target = {};
  bool operator==(const SetName&) const = default;
};

/// The method at one value of its parameter, all people of one part of the fold.
struct StudyRun {
  struct Score {
    SetName set = {};
    std::size_t models = 0;                 // in it
    std::optional<double> robustness = {};  // of all rows; nothing where the set is empty
    std::optional<double> valid_only = {};
    std::optional<double> robust_l2 = {};  // mean over robust answers
  };
  struct Average {
    double mean = 0;
    double median = 0;
  };

  std::string value = {};
  double preparation = 0;  // seconds
  double seconds = 0;      // for all answers
  std::size_t rows = 0;
  std::size_t found = 0;
  std::size_t valid = 0;
  std::optional<Average> l2 = {};  // of valid answers, as are the others
  std::optional<Average> l1 = {};
  std::optional<Average> changed = {};
  std::optional<Average> lof = {};
  std::vector<Score> scores = {};

  [[nodiscard]] double validity() const;
  [[nodiscard]] const Score* find(const SetName& set) const;
};

/// A run on test rows, and why it was made.
struct StudyTest {
  StudyRun run = {};
  std::vector<SetName> chosen_for = {};        // tuning chose its value for these
  std::vector<std::optional<double>> l2 = {};  // by row; nothing where there is no valid answer
  std::vector<std::string> robust = {};        // by score of the run: '1' where the row's answer is
};

struct StudyCell {
  CellName name = {};
  std::size_t fitted_rows = 0;       // that the base was fitted on
  std::size_t columns = 0;           // of model space
  std::vector<double> targets = {};  // ε of the plan's targets on this fold
  std::string people = {};           // digest of the people who test it; empty in old stores
  std::vector<StudyRun> walk = {};   // on tuning rows, in the order of the grid
  std::vector<StudyTest> tests = {};
  std::string failure = {};  // why the method could not be run at all; otherwise empty
  std::string commit = {};   // of the program that ran it

  /// The test that tuning chose for a set, if there is one.
  [[nodiscard]] const StudyTest* chosen(const SetName& set) const;
};

/// What an evaluation says of a run; `targets` are the fold's.
[[nodiscard]] StudyRun summarise_run(const EvaluationResult& evaluation,
                                     const std::vector<double>& targets);
[[nodiscard]] StudyTest summarise_test(const EvaluationResult& evaluation,
                                       const std::vector<double>& targets);

[[nodiscard]] Json to_json(const StudyCell& cell);
[[nodiscard]] StudyCell cell_from_json(const Json& json, const std::string& source);

}  // namespace ellice

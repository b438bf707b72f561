#pragma once

// What a study runs, as a person writes it (YAML, docs/reference/formats.md; examples in studies/).

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/core/fields.hpp"
#include "sets/stress.hpp"

namespace ellice {

/// Where answers come from: training rows, or anywhere in the constraints.
enum class StudyMode { data_supported, continuous };
template <>
struct EnumNames<StudyMode> {
  static constexpr std::array<std::string_view, 2> names = {"data-supported", "continuous"};
};

enum class StudyModel { linear, mlp };
template <>
struct EnumNames<StudyModel> {
  static constexpr std::array<std::string_view, 2> names = {"linear", "mlp"};
};

/// One method with the values of its own parameter among which tuning chooses.
struct StudyMethod {
  /// Values for some data sets and models; all of them where a list is empty.
  struct Grid {
    std::vector<std::string> datasets = {};
    std::vector<StudyModel> models = {};
    std::vector<std::string> values = {};
  };

  std::string name = {};                            // as tables show it
  std::string method = {};                          // as methods() calls it
  std::map<std::string, std::string> options = {};  // its other settings, by name
  std::vector<StudyModel> models = {};              // those it is run on; empty: all
  std::vector<Grid> grids = {};                     // the first that fits counts

  [[nodiscard]] bool runs_on(StudyModel model) const;
  /// Empty where no grid fits: the method is then left out.
  [[nodiscard]] std::vector<std::string> values(const std::string& dataset, StudyModel model) const;
};

struct StudyExperiment {
  StudyMode mode = StudyMode::continuous;
  std::vector<std::string> datasets = {};
  std::vector<StudyModel> models = {};
  std::vector<StudyMethod> methods = {};
};

struct StudyEvaluator {
  std::string name = {};                       // as `evaluate --evaluators` calls it
  int models = 0;                              // wanted per set
  std::map<std::string, int> exceptions = {};  // other numbers, by data set

  [[nodiscard]] int wanted(const std::string& dataset) const;
};

struct StudyPlan {
  std::string name = {};
  Variant variant = Variant::corrected;
  std::uint64_t seed = 42;
  bool shift = false;  // base and people from one half of the rows, evaluators from the other
  int folds = 4;
  std::vector<int> run_folds = {};      // counted from 1
  std::optional<int> tuning_rows = {};  // people explained at most per fold; none: all
  std::optional<int> test_rows = {};
  double time_limit = 30;                 // seconds per answer, of the methods that have one
  std::vector<std::string> targets = {};  // ε of the evaluators' sets, by any rule of EpsilonRule
  std::vector<StudyEvaluator> evaluators = {};
  std::map<std::string, std::vector<int>> hidden = {};  // units of the networks, by data set
  std::vector<StudyExperiment> experiments = {};
  std::string sha256 = {};  // of what the plan says, not of its spelling
};

/// The names that a plan may use.
struct StudyNames {
  std::vector<std::string> datasets = {};
  std::vector<std::string> methods = {};
  std::vector<std::string> options = {};
  std::vector<std::string> evaluators = {};
};

/// Throws Error{input} naming file, line and key, what was found and what was expected: unknown
/// names (with a suggestion), an empty grid, a fold that does not exist, a network without units.
[[nodiscard]] StudyPlan parse_plan(const std::string& text, const std::string& source,
                                   const StudyNames& known);
[[nodiscard]] StudyPlan read_plan(const std::string& path, const StudyNames& known);

}  // namespace ellice

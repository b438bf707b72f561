#pragma once

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/dataset.hpp"
#include "request/problem.hpp"
#include "sets/stress.hpp"

namespace ellice {

/// What the answers are to survive.
enum class Threat { all, retrain, dropout, awp };
template <>
struct EnumNames<Threat> {
  static constexpr std::array<std::string_view, 4> names = {"all", "retrain", "dropout", "awp"};
};

struct CalibrationOptions {
  Threat threat = Threat::all;
  double target = 0.1;
  int retrain = 10;
  int redrawn = 20;
  int dropout = 100;
  int awp = 100;
  int people = 60;
  int levels = 16;
  double share = 1;
  double deviations = 3;
  double safety = 1.15;
  double confidence = 0.95;

  static void fields(auto& self, auto&& visit) {
    visit("threat", self.threat, any_value(),
          "retrained models, weight noise, adversarial weights, or all of them");
    visit("target", self.target, greater_than(0),
          "a stress model's objective may exceed the base model's by this share");
    visit("retrain", self.retrain, at_least(1), "networks retrained from other seeds");
    visit("redrawn", self.redrawn, at_least(0),
          "networks retrained from other seeds on rows drawn again, on which the survival of the "
          "answers is measured; 0 for none");
    visit("dropout", self.dropout, at_least(1), "networks with noisy weights");
    visit("awp", self.awp, at_least(1), "networks with adversarial weights");
    visit("people", self.people, at_least(1), "declined people to explain at each level");
    visit("levels", self.levels, at_least(2), "radii to try");
    visit("share", self.share, between(0.5, 1),
          "share of people whose answers must survive every stress model");
    visit("deviations", self.deviations, at_least(0),
          "mean - this many standard deviations of the retrained logits must reach the threshold");
    visit("safety", self.safety, at_least(1), "factor on the radius that survives");
    visit("confidence", self.confidence, between(0.5, 0.999), "of the bound on the survival rate");
  }
  bool operator==(const CalibrationOptions&) const = default;
};

/// What happened to the answers at one radius.
struct CalibrationLevel {
  double epsilon = 0;
  std::size_t answered = 0;                         // a row certified for this ε was found
  std::size_t survived = 0;                         // accepted by every stress model
  std::map<StressKind, std::size_t> accepted = {};  // by every model of one kind
  bool deviations_hold = true;                      // the test on the retrained logits
  double median_distance = 0;                       // l2, of the rows that were found
};

/// Share of the answers that a network accepts which was trained again, from another seed and on
/// rows drawn with replacement: no formula predicts it.
struct RetrainedShare {
  std::size_t models = 0;
  double mean = 0;
  double standard_error = 0;  // over the models, which all answers share
};

struct Calibration {
  std::size_t people = 0;       // who have an answer at ε = 0
  std::size_t unreachable = 0;  // who were left out because they have none
  std::vector<CalibrationLevel> levels = {};
  /// At the recommended ε; nothing where no level survives, and then the last level is the largest.
  std::optional<CalibrationLevel> recommended = {};
  double lower_bound = 0;                        // Clopper–Pearson, of the survival rate there
  std::optional<RetrainedShare> retrained = {};  // of networks, there
  std::vector<StressSet> stress = {};
};

/// The rows that calibration works with: those fitted, and people to explain (raw numbers too).
struct CalibrationData {
  const StoredRows* fitted = nullptr;
  const StoredRows* validation = nullptr;  // of early stopping, where the model had some
  RowMatrix people = {};                   // raw rows from which the declined are taken
};

/// Chooses ε for the problem's set on stress models of the user's own (theory.md, Result 26): the
/// smallest radius of a grid at which every answer survives all of them, times a safety factor.
/// The problem's own ε is not used.
[[nodiscard]] Calibration calibrate(const Problem& problem, const CalibrationData& data,
                                    const CalibrationOptions& options, const Random& random,
                                    const Execution& execution = {});

/// What the model file keeps of a recommendation under `recommended`, by the name of the set.
[[nodiscard]] Json recommendation(const Calibration& calibration, const Problem& problem,
                                  const CalibrationOptions& options);

}  // namespace ellice

#include "radius/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

/// A model with the rows that calibration wants.
struct Fitted {
  Model model = {};
  StoredRows rows = {};
  StoredRows validation = {};
  RowMatrix people = {};

  [[nodiscard]] CalibrationData data() const {
    return {.fitted = &rows, .validation = &validation, .people = people};
  }
};

Fitted fitted(NetworkKind kind, std::uint64_t seed) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 3, seed));
  const bool is_network = kind == NetworkKind::mlp;
  Selection selection;
  if (is_network) selection.validation = 0.3;
  TrainingOptions options{.model = kind, .l2 = 1e-2, .folds = 0};
  if (is_network) {
    options.refit = true;
    options.network.hidden = {6};
  }
  Fitted result{.model = train(data, selection, options).model};
  const SelectedRows selected = apply_selection(data, selection);
  const Dataset fit = select_rows(data, selected.fit);
  const Dataset rest = is_network ? select_rows(data, selected.validation) : fit;
  result.rows = {.encoded = result.model.encoder.encode(fit.raw), .labels = fit.labels};
  result.validation = {.encoded = result.model.encoder.encode(rest.raw), .labels = rest.labels};
  result.people = rest.raw;
  return result;
}

CalibrationOptions small(Threat threat) {
  return {.threat = threat,
          .retrain = 4,
          .redrawn = 3,
          .dropout = 15,
          .awp = 15,
          .people = 12,
          .levels = 6};
}

TEST(Calibration, RecommendsTheFirstSurvivingRadiusTimesTheFactorAndItSurvivesToo) {
  int recommended = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Fitted at = fitted(NetworkKind::mlp, seed);
    const Problem problem{.model = &at.model, .set = {.kind = SetKind::full}};
    for (const double safety : {1.0, 1.15, 2.0}) {
      CalibrationOptions options = small(Threat::dropout);
      options.safety = safety;
      const Calibration found = calibrate(problem, at.data(), options, Random(seed), {});
      EXPECT_EQ(found.levels.front().epsilon, 0);
      if (!found.recommended) {
        EXPECT_EQ(std::ssize(found.levels), options.levels);
        continue;
      }
      ++recommended;
      ASSERT_TRUE(found.retrained);
      EXPECT_EQ(found.retrained->models, 3U);
      EXPECT_GE(found.retrained->mean, 0);
      EXPECT_LE(found.retrained->mean, 1);
      EXPECT_GE(found.retrained->standard_error, 0);
      const CalibrationLevel& level = found.levels.back();
      EXPECT_EQ(level.survived, found.people);
      EXPECT_EQ(found.recommended->survived, found.people);
      EXPECT_NEAR(std::sqrt(found.recommended->epsilon), safety * std::sqrt(level.epsilon), 1e-12);
      // All of n survive: the bound has a closed form.
      EXPECT_NEAR(found.lower_bound, std::pow(0.05, 1.0 / static_cast<double>(found.people)), 1e-9);
      if (safety > 1) continue;
      for (std::size_t i = 0; i + 1 < found.levels.size(); ++i) {
        EXPECT_LT(found.levels[i].survived, found.people);
      }
    }
  }
  EXPECT_GE(recommended, 3);
}

TEST(Calibration, DoesNotDependOnThreads) {
  const Fitted at = fitted(NetworkKind::mlp, 4);
  const Problem problem{.model = &at.model, .set = {.kind = SetKind::last_layer}};
  const CalibrationOptions options = small(Threat::all);
  const Calibration one = calibrate(problem, at.data(), options, Random(4), {.threads = 1});
  const Calibration three = calibrate(problem, at.data(), options, Random(4), {.threads = 3});
  ASSERT_EQ(one.levels.size(), three.levels.size());
  for (std::size_t i = 0; i < one.levels.size(); ++i) {
    EXPECT_EQ(one.levels[i].survived, three.levels[i].survived);
    EXPECT_EQ(one.levels[i].accepted, three.levels[i].accepted);
    EXPECT_EQ(one.levels[i].median_distance, three.levels[i].median_distance);
  }
}

TEST(Calibration, RefusesToRetrainAModelWithOneOptimum) {
  const Fitted at = fitted(NetworkKind::logistic, 5);
  const Problem problem{.model = &at.model};
  EXPECT_THROW((void)calibrate(problem, at.data(), small(Threat::retrain), Random(5), {}), Error);
  EXPECT_NO_THROW((void)calibrate(problem, at.data(), small(Threat::awp), Random(5), {}));
}

}  // namespace
}  // namespace ellice

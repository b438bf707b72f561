#include "study/tuning.hpp"

#include <gtest/gtest.h>

#include "ellice/core/json.hpp"

namespace ellice {
namespace {

constexpr SetName retrain = {.kind = EvaluatorKind::retrain, .target = 0};

StudyRun run(const std::string& value, std::size_t valid, double robustness, double valid_only,
             double length) {
  return {.value = value,
          .rows = 10,
          .found = valid,
          .valid = valid,
          .l2 = StudyRun::Average{.mean = length, .median = length},
          .scores = {{.set = retrain,
                      .models = 5,
                      .robustness = robustness,
                      .valid_only = valid_only,
                      .robust_l2 = length}}};
}

TEST(Tuning, PublishedPutsValidityFirstAndCorrectedTheShareOfAllWhoseAnswersLast) {
  const std::vector<StudyRun> walk = {run("a", 10, 0.4, 0.4, 1), run("b", 10, 0.8, 0.8, 2),
                                      run("c", 9, 0.9, 1.0, 3)};
  EXPECT_EQ(choose_run(walk, retrain, Variant::corrected), 2U);
  EXPECT_EQ(choose_run(walk, retrain, Variant::published), 1U);
}

TEST(Tuning, AmongEqualsTheCorrectedOneIsTheShortestAndThePublishedOneTheFirst) {
  const std::vector<StudyRun> walk = {run("a", 10, 0.8, 0.8, 3), run("b", 10, 0.8, 0.8, 2),
                                      run("c", 10, 0.8, 0.8, 4)};
  EXPECT_EQ(choose_run(walk, retrain, Variant::corrected), 1U);
  EXPECT_EQ(choose_run(walk, retrain, Variant::published), 0U);
}

TEST(Tuning, AWalkEndsWhereNothingCanGetBetter) {
  EXPECT_TRUE(walk_ends({run("a", 10, 1, 1, 1)}, Variant::corrected));
  EXPECT_FALSE(walk_ends({run("a", 10, 0.9, 1, 1)}, Variant::corrected));
  const std::vector<StudyRun> falls = {run("a", 10, 0.5, 0.5, 1), run("b", 4, 0.2, 0.5, 1)};
  EXPECT_TRUE(walk_ends(falls, Variant::published));
  EXPECT_FALSE(walk_ends(falls, Variant::corrected));
}

TEST(StudyCell, ReadsBackWhatWasWritten) {
  StudyCell cell{.name = {.mode = StudyMode::data_supported,
                          .dataset = "german",
                          .model = StudyModel::mlp,
                          .fold = 3,
                          .method = "T:Rex"},
                 .fitted_rows = 100,
                 .columns = 7,
                 .targets = {0.05, 0.1},
                 .walk = {run("0.5", 10, 0.1, 0.2, 1.25)}};
  cell.tests.push_back({.run = run("0.5", 9, 0.3, 0.4, 1.5),
                        .chosen_for = {retrain, {.kind = EvaluatorKind::bootstrap}},
                        .l2 = {1.5, std::nullopt},
                        .robust = {"10"}});
  cell.tests.back().run.scores.front().robustness.reset();  // an empty set
  const Json json = to_json(cell);
  const StudyCell back = cell_from_json(json, "test");
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.name, cell.name);
  ASSERT_NE(back.chosen(retrain), nullptr);
  EXPECT_EQ(back.chosen(retrain)->l2[0], 1.5);
  EXPECT_FALSE(back.chosen(retrain)->run.find(retrain)->robustness.has_value());
  EXPECT_EQ(back.chosen({.kind = EvaluatorKind::awp, .target = 0}), nullptr);
}

}  // namespace
}  // namespace ellice

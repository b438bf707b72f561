#include "study/study_comparison.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "ellice/core/json.hpp"

namespace ellice {
namespace {

class StudyComparisonTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("ellice-comparison-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    a_ = std::make_unique<StudyStore>((folder_ / "a.sqlite").string(), Json{{"plan", "a"}});
    b_ = std::make_unique<StudyStore>((folder_ / "b.sqlite").string(), Json{{"plan", "b"}});
  }
  void TearDown() override {
    a_.reset();
    b_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// One fold of one method: who is robust (1) and how far each answer is (none: no answer).
  static void add(StudyStore& store, int fold, const std::string& people, const std::string& robust,
                  const std::vector<std::optional<double>>& l2) {
    const SetName set{.kind = EvaluatorKind::retrain, .target = 0};
    StudyCell cell{.name = {.mode = StudyMode::continuous,
                            .dataset = "diabetes",
                            .model = StudyModel::linear,
                            .fold = fold,
                            .method = "ours"},
                   .targets = {0.1},
                   .people = people};
    StudyTest test{.chosen_for = {set}, .l2 = l2, .robust = {robust}};
    test.run.value = "0.1";
    test.run.rows = l2.size();
    test.run.scores = {{.set = set, .models = 3, .robustness = 0.5}};
    cell.tests.push_back(test);
    store.add(cell.name.text(), to_json(cell));
  }

  std::filesystem::path folder_;
  std::unique_ptr<StudyStore> a_;
  std::unique_ptr<StudyStore> b_;
};

TEST_F(StudyComparisonTest, PairsTheSamePeopleOfAllFolds) {
  add(*a_, 1, "same", "110", {1.0, 2.0, 3.0});
  add(*b_, 1, "same", "100", {1.5, std::nullopt, 3.0});
  add(*a_, 2, "others", "1", {1.0});
  add(*b_, 2, "others", "1", {1.0});
  const StudyComparison found = compare_studies(*a_, *b_);
  ASSERT_EQ(found.methods.size(), 1U);
  const MethodComparison& method = found.methods.front();
  EXPECT_EQ(method.people, 4U);
  EXPECT_DOUBLE_EQ(method.robust_a, 0.75);
  EXPECT_DOUBLE_EQ(method.robust_b, 0.5);
  EXPECT_DOUBLE_EQ(method.robustness->difference.mean, 0.25);
  EXPECT_DOUBLE_EQ(*method.l2_a, 5.0 / 3);  // of three people with an answer in both
  EXPECT_DOUBLE_EQ(*method.l2_b, 5.5 / 3);
}

TEST_F(StudyComparisonTest, LeavesOutOtherPeopleEvenIfAsMany) {
  add(*a_, 1, "these", "11", {1.0, 2.0});
  add(*b_, 1, "those", "11", {1.0, 2.0});
  add(*a_, 2, "", "1", {1.0});  // as old stores have it
  add(*b_, 2, "", "1", {1.0});
  add(*a_, 3, "these", "1", {1.0});
  const StudyComparison found = compare_studies(*a_, *b_);
  EXPECT_TRUE(found.methods.empty());
  EXPECT_EQ(found.other_people, 2U);
  EXPECT_EQ(found.only_a, 1U);
  EXPECT_EQ(found.only_b, 0U);
  EXPECT_NE(to_text(found).find("2 whose people are not known to be the same"), std::string::npos);
}

}  // namespace
}  // namespace ellice

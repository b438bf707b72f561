#include "study/plan.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

const StudyNames names = {.datasets = {"diabetes", "german", "wine"},
                          .methods = {"data", "gradient", "trex"},
                          .options = {"set", "preset"},
                          .evaluators = {"retrain", "dropout", "awp"}};

const std::string good = R"(name: quick
variant: corrected
seed: 7
folds: {count: 4, run: [1, 3]}
rows: {tuning: 50, test: 80}
target_epsilon: [10%, 0.04]
evaluators: {retrain: 200, awp: 100}
hidden: {diabetes: [16], german: [8, 4]}
experiments:
  continuous:
    datasets: [diabetes, german]
    models: [linear, mlp]
    methods:
      ElliCE: {method: gradient, options: {preset: as-run}, grid: {from: 0.2, step: 0.2, last: 3.0}}
      T:Rex:
        method: trex
        models: [mlp]
        grids:
          - {datasets: [german], values: [0.5]}
          - {models: [mlp], values: ["0.6", 0.7]}
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = good;
  text.replace(text.find(from), from.size(), to);
  return text;
}

StudyPlan parsed(const std::string& text) {
  return parse_plan(text, "plan.yaml", names);
}

TEST(StudyPlan, AnEvaluatorMayHaveFewerModelsOnADataSet) {
  const StudyPlan plan = parsed(replaced("retrain: 200", "retrain: {all: 200, german: 20}"));
  EXPECT_EQ(plan.evaluators[0].wanted("german"), 20);
  EXPECT_EQ(plan.evaluators[0].wanted("diabetes"), 200);
  EXPECT_EQ(plan.evaluators[1].wanted("german"), 100);
  EXPECT_NE(plan.sha256, parsed(good).sha256);
  const auto refuses = [&](const std::string& models, const std::string& word) {
    expect_input_error([&] { (void)parsed(replaced("retrain: 200", "retrain: " + models)); },
                       {"plan.yaml:7", word});
  };
  refuses("{german: 20}", "all: N");
  refuses("{all: 200, germane: 20}", "german");
  refuses("{all: 200, german: 0}", "whole number");
}

TEST(StudyPlan, SaysWhatWasWritten) {
  const StudyPlan plan = parsed(good);
  EXPECT_EQ(plan.name, "quick");
  EXPECT_EQ(plan.variant, Variant::corrected);
  EXPECT_EQ(plan.seed, 7U);
  EXPECT_EQ(plan.run_folds, (std::vector<int>{1, 3}));
  EXPECT_EQ(plan.tuning_rows, 50);
  EXPECT_EQ(plan.test_rows, 80);
  EXPECT_EQ(plan.targets, (std::vector<std::string>{"10%", "0.04"}));
  ASSERT_EQ(plan.evaluators.size(), 2U);
  EXPECT_EQ(plan.evaluators[1].name, "awp");
  EXPECT_EQ(plan.evaluators[1].models, 100);
  EXPECT_EQ(plan.hidden.at("german"), (std::vector<int>{8, 4}));
  ASSERT_EQ(plan.experiments.size(), 1U);
  const StudyExperiment& experiment = plan.experiments.front();
  EXPECT_EQ(experiment.mode, StudyMode::continuous);
  ASSERT_EQ(experiment.methods.size(), 2U);
  EXPECT_EQ(experiment.methods[0].name, "ElliCE");
  EXPECT_EQ(experiment.methods[0].options.at("preset"), "as-run");
}

TEST(StudyPlan, ARangeOfValuesIsWrittenAsAPersonWould) {
  const std::vector<std::string> values =
      parsed(good).experiments[0].methods[0].values("diabetes", StudyModel::linear);
  ASSERT_EQ(values.size(), 15U);
  EXPECT_EQ(values[2], "0.6");  // not 0.6000000000000001
  EXPECT_EQ(values.back(), "3");
}

TEST(StudyPlan, TheFirstGridThatFitsCounts) {
  const StudyMethod method = parsed(good).experiments[0].methods[1];
  EXPECT_FALSE(method.runs_on(StudyModel::linear));
  EXPECT_EQ(method.values("german", StudyModel::mlp), (std::vector<std::string>{"0.5"}));
  EXPECT_EQ(method.values("diabetes", StudyModel::mlp), (std::vector<std::string>{"0.6", "0.7"}));
  EXPECT_TRUE(method.values("diabetes", StudyModel::linear).empty());
}

TEST(StudyPlan, IsIdentifiedByWhatItSaysNotByItsSpelling) {
  EXPECT_EQ(parsed(good).sha256, parsed("# a comment\n" + good).sha256);
  EXPECT_EQ(parsed(good).sha256, parsed(replaced("name: quick", "name: other")).sha256);
  EXPECT_NE(parsed(good).sha256, parsed(replaced("seed: 7", "seed: 8")).sha256);
  EXPECT_NE(parsed(good).sha256, parsed(replaced("last: 3.0", "last: 2.8")).sha256);
  EXPECT_NE(parsed(good).sha256, parsed(replaced("as-run", "printed")).sha256);
}

TEST(StudyPlan, FaultsNameFileLineAndWhatWasExpected) {
  const auto expect_fault = [](const std::string& from, const std::string& to,
                               std::initializer_list<std::string_view> words) {
    expect_input_error([&] { (void)parsed(replaced(from, to)); }, words);
  };
  expect_fault("[diabetes, german]", "[diabetis]", {"plan.yaml:11", "did you mean \"diabetes\""});
  expect_fault("method: trex", "method: rex", {"did you mean \"trex\""});
  expect_fault("values: [0.5]", "values: []", {"the grid is empty"});
  expect_fault("last: 3.0", "last: 0.1", {"the grid is empty"});
  expect_fault("run: [1, 3]", "run: [5]", {"there is no fold 5 of 4"});
  expect_fault("run: [1, 3]", "run: [1, 1]", {"fold 1 stands twice"});
  expect_fault("german: [8, 4]", "wine: [8]", {"networks on german"});
  expect_fault("retrain: 200", "retrains: 200", {"did you mean \"retrain\""});
  expect_fault("retrain: 200", "retrain: 0", {"a whole number from 1"});
  expect_fault("preset: as-run", "presets: as-run", {"did you mean \"preset\""});
  expect_fault("step: 0.2", "step: 0", {"a number > 0"});
  expect_fault("step: 0.2", "step: 1e-12", {"more than 10000 values"});
  expect_fault("continuous:", "continous:", {"data-supported, continuous"});
}

}  // namespace
}  // namespace ellice

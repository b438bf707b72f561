#include "study/study_method.hpp"

#include <gtest/gtest.h>

#include "ellice/data/lending.hpp"
#include "search/data_supported.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

const StudyPlan plan = {.run_folds = {1}, .targets = {"10%"}, .hidden = {{"lending", {4}}}};

Index robust_rows(const StudyMethodFactory& factory, const std::string& value) {
  const PreparedMethod method = factory.prepare(value);
  return dynamic_cast<const DataSupported&>(*method.generator).robust_rows();
}

TEST(StudyMethod, ReachIsTheLargestEpsilonAtWhichATrainingRowIsAnAnswer) {
  const Dataset rows = lending_dataset(400, 3);
  for (const StudyModel kind : {StudyModel::linear, StudyModel::mlp}) {
    const StudyFold fold = prepare_fold(rows, "lending", kind, 1, plan);
    for (const std::string set : {"last-layer", kind == StudyModel::linear ? "true" : "full"}) {
      const StudyMethod method{.name = "rows", .method = "data", .options = {{"set", set}}};
      const StudyMethodFactory factory(method, fold, plan);
      // Which rows are answers is decided by certificates, which know nothing of the reach.
      EXPECT_GE(robust_rows(factory, "reach*0.98"), 1) << set;
      EXPECT_EQ(robust_rows(factory, "reach*1.02"), 0) << set;
      EXPECT_GT(robust_rows(factory, "reach*0.1"), robust_rows(factory, "reach*0.98")) << set;
    }
  }
}

TEST(StudyMethod, ValuesAndOptionsThatMeanNothingAreRefusedByName) {
  const auto refuses = [](const StudyMethod& method, const std::string& word) {
    expect_input_error([&] { check_method(method); }, {"method mine", word});
  };
  const auto mine = [](const std::string& method, std::vector<std::string> values) {
    return StudyMethod{.name = "mine", .method = method, .grids = {{.values = std::move(values)}}};
  };
  for (const std::string value : {"abc", "reach*x", "reach*0", "target*-1", "-1"})
    refuses(mine("data", {value}), value);
  refuses(mine("data", {"target", "0.1"}), "target");
  refuses(mine("delta", {"-1%"}), "-1%");
  refuses(mine("roar", {"10%"}), "10%");
  StudyMethod method = mine("data", {"0.1"});
  method.options = {{"set", "foo"}};
  refuses(method, "foo");
  method.options = {{"shrink", "5"}};
  refuses(method, "5");
  method = mine("roar", {"0.1"});
  method.options = {{"damping", "0.1"}};
  refuses(method, "none of the options");
  for (const StudyMethod& good :
       {mine("data", {"10%", "0.1", "reach"}), mine("auto", {"target*1.1"}),
        mine("delta", {"10%", "0.2"}), mine("trex", {"0.5"})}) {
    EXPECT_NO_THROW(check_method(good));
  }
}

}  // namespace
}  // namespace ellice

#include "study/study_fold.hpp"

#include <gtest/gtest.h>

#include "ellice/data/lending.hpp"

namespace ellice {
namespace {

StudyPlan plan_of(Variant variant) {
  return {.variant = variant, .run_folds = {1}, .targets = {"10%"}, .hidden = {{"lending", {4}}}};
}

TEST(StudyFold, OnlyPublishedNetworksEndWithTheLastState) {
  for (const Variant variant : {Variant::published, Variant::corrected}) {
    const StudyFold fold =
        prepare_fold(lending_dataset(400, 3), "lending", StudyModel::mlp, 1, plan_of(variant));
    ASSERT_TRUE(fold.model.training.network.has_value());  // by which retrained models go, too
    EXPECT_EQ(fold.model.training.network->keep_best, variant == Variant::corrected);
  }
}

}  // namespace
}  // namespace ellice

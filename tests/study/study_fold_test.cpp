#include "ellice/study/study_fold.hpp"

#include <gtest/gtest.h>

#include "ellice/data/lending.hpp"
#include "support/datasets.hpp"

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

TEST(StudyFold, ColumnsOfZeroAndOneAreNotStandardised) {
  ELLICE_NEEDS_DATASET("parkinsons");
  const StudyPlan plan = plan_of(Variant::corrected);
  const Dataset rows = study_rows("parkinsons", StudyMode::continuous, plan.seed);
  const StudyFold fold = prepare_fold(rows, "parkinsons", StudyModel::linear, 1, plan);
  const Encoder& encoder = fold.model.encoder;
  int indicators = 0;
  for (Index c = 0; c < encoder.columns(); ++c) {
    const Vector values = fold.fitted.encoded.col(c);
    const bool is_indicator = (rows.raw.col(c).array() * (1 - rows.raw.col(c).array()) == 0).all();
    indicators += is_indicator ? 1 : 0;
    if (is_indicator) {
      EXPECT_TRUE((values.array() * (1 - values.array()) == 0).all())
          << encoder.column_names()[static_cast<std::size_t>(c)];
    } else {
      EXPECT_NEAR(values.mean(), 0, 1e-9);
      EXPECT_NEAR(values.squaredNorm() / static_cast<double>(values.size()), 1, 1e-9);
    }
  }
  EXPECT_EQ(indicators, 1);
}

}  // namespace
}  // namespace ellice

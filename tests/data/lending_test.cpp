#include "ellice/data/lending.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "support/text_table.hpp"

namespace ellice {
namespace {

TEST(Lending, DatasetIsWhatReadingTheCsvGives) {
  const std::string text = lending_csv(3000, 5);
  CsvScanner source = text_table(text);
  const Dataset read = read_dataset(source, lending_schema());
  const Dataset made = lending_dataset(3000, 5);
  EXPECT_EQ(made.schema, read.schema);
  EXPECT_EQ(made.raw, read.raw);
  EXPECT_EQ(made.labels, read.labels);
  EXPECT_EQ(made.classes, read.classes);
  EXPECT_EQ(made.fill, read.fill);
  EXPECT_EQ(made.sha256, sha256_hex(text));
}

TEST(Lending, SchemaIsReadBackAsItself) {
  EXPECT_EQ(parse_schema(to_yaml(lending_schema()), "lending"), lending_schema());
}

TEST(Lending, FewerRowsAreAPrefixAndSeedsDiffer) {
  EXPECT_TRUE(lending_csv(200, 1).starts_with(lending_csv(50, 1)));
  EXPECT_NE(lending_csv(50, 1), lending_csv(50, 2));
}

TEST(Lending, BytesAreThoseOfTheFirstRelease) {
  EXPECT_EQ(sha256_hex(lending_csv(2000, 1)),
            "c0b205453e687a3818a426948809a451300438cbd1755d01403e19bf495f21d8");
}

TEST(Lending, RowsKeepTheRangesOfTheSchema) {
  const Dataset data = lending_dataset(20000, 3);
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    SCOPED_TRACE(feature.name);
    for (const double value : data.raw.col(static_cast<Index>(j))) {
      ASSERT_GE(value, feature.min.value_or(0));
      ASSERT_LE(value, feature.max.value_or(1e6));
      if (feature.step) {
        ASSERT_EQ(std::fmod(value - feature.min.value_or(0), *feature.step), 0);
      }
      if (!feature.is_number()) {
        ASSERT_LT(value, static_cast<double>(feature.levels.size()));
      }
    }
  }
}

TEST(Lending, NobodyHasWorkedBeforeSixteen) {
  const Dataset data = lending_dataset(20000, 7);
  const auto column = [&](const char* name) {
    return data.raw.col(static_cast<Index>(*data.schema.find(name)));
  };
  EXPECT_GE((column("age") - column("employment_years")).minCoeff(), 16);
  EXPECT_TRUE(data.schema.features[*data.schema.find("employment_years")].slow.has_value());
}

/// Newton's method on standardised columns, categories as indicators of all levels but the first.
double logistic_accuracy(const Dataset& data) {
  std::vector<Vector> columns = {Vector::Ones(data.rows())};
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Vector raw = data.raw.col(static_cast<Index>(j));
    if (data.schema.features[j].kind != FeatureKind::categorical) {
      const Vector centred = raw.array() - raw.mean();
      columns.push_back(centred /
                        std::sqrt(centred.squaredNorm() / static_cast<double>(raw.size())));
      continue;
    }
    for (std::size_t level = 1; level < data.schema.features[j].levels.size(); ++level) {
      columns.push_back((raw.array() == static_cast<double>(level)).cast<double>());
    }
  }
  Matrix x(data.rows(), static_cast<Index>(columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j) x.col(static_cast<Index>(j)) = columns[j];
  Vector y(data.rows());
  for (Index i = 0; i < y.size(); ++i) y[i] = data.labels[static_cast<std::size_t>(i)];
  Vector weights = Vector::Zero(x.cols());
  for (int i = 0; i < 15; ++i) {
    const Vector p = 1 / (1 + (-(x * weights).array()).exp());
    const Vector curvature = p.array() * (1 - p.array());
    const Matrix hessian = x.transpose() * curvature.asDiagonal() * x;
    weights += hessian.ldlt().solve(x.transpose() * (y - p));
  }
  const Vector score = x * weights;
  return ((score.array() > 0) == (y.array() > 0.5)).cast<double>().mean();
}

TEST(Lending, IsLearnableButNotSeparable) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Dataset data = lending_dataset(2000, seed);
    const double approved =
        static_cast<double>(std::count(data.labels.begin(), data.labels.end(), 1)) / 2000;
    EXPECT_GT(approved, 0.58);
    EXPECT_LT(approved, 0.67);
    const double accuracy = logistic_accuracy(data);
    EXPECT_GT(accuracy, 0.79);
    EXPECT_LT(accuracy, 0.87);
  }
}

TEST(Lending, RefusesTooFewRowsForTwoClasses) {
  EXPECT_THROW((void)lending_dataset(1, 1), Error);
}

}  // namespace
}  // namespace ellice

#include "ellice/data/encoder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ellice/core/json.hpp"
#include "support/messages.hpp"
#include "support/random_schema.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using testing_support::expect_words;
using testing_support::message_of;
using testing_support::random_raw_row;
using testing_support::random_schema;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Schema small_schema() {
  return parse_schema(R"(target: {column: y, favourable: 1}
features:
  income:  {kind: numeric}
  age:     {kind: integer}
  school:  {kind: ordinal, levels: [none, some, much]}
  owner:   {kind: binary, levels: [no, yes]}
  purpose: {kind: categorical, levels: [car, home]}
  fixed:   {kind: numeric}
one_hot: {job: [job_a, job_b, job_c]}
)",
                      "s.yaml");
}

Dataset small_data() {
  Dataset data;
  data.schema = small_schema();
  data.raw.resize(4, 7);
  data.raw << 10, 1, 0, 1, 0, 0.1, 2,  //
      20, 2, 2, 0, 0, 0.1, 0,          //
      30, 3, 2, 0, 0, 0.1, 2,          //
      40, 6, 0, 1, 0, 0.1, 2;
  data.labels = {0, 1, 1, 0};
  return data;
}

TEST(Encoder, LaysOutOneColumnForEachFeatureOrLevel) {
  const Encoder encoder = Encoder::fit(small_data());
  EXPECT_EQ(
      encoder.column_names(),
      (std::vector<std::string>{"income", "age", "school", "owner", "purpose=car", "purpose=home",
                                "fixed", "job=job_a", "job=job_b", "job=job_c"}));
  EXPECT_EQ(encoder.columns(), 10);
  EXPECT_EQ(encoder.first_column(4), 4);
  EXPECT_EQ(encoder.column_count(4), 2);
  EXPECT_EQ(encoder.first_column(6), 7);
  EXPECT_EQ(encoder.column_count(6), 3);
  const std::vector<std::size_t> features = {0, 1, 2, 3, 4, 4, 5, 6, 6, 6};
  for (Index i = 0; i < 10; ++i) {
    EXPECT_EQ(encoder.feature_of(i), features[static_cast<std::size_t>(i)]);
  }
}

TEST(Encoder, TakesItsStatisticsFromTheRows) {
  const Encoder encoder = Encoder::fit(small_data());
  const double income_scale = std::sqrt((225.0 + 25 + 25 + 225) / 4);
  const double age_scale = std::sqrt((4.0 + 1 + 0 + 9) / 4);
  EXPECT_TRUE(
      encoder.mean().isApprox((Vector(10) << 25, 3, 1, 0, 0, 0, 0.1, 0, 0, 0).finished(), 1e-15));
  EXPECT_TRUE(encoder.scale().isApprox(
      (Vector(10) << income_scale, age_scale, 1, 1, 1, 1, 1, 1, 1, 1).finished(), 1e-15));
  EXPECT_EQ(encoder.min(), (Vector(10) << 10, 1, 0, 0, 1, 0, 0.1, 0, 0, 0).finished());
  EXPECT_EQ(encoder.max(), (Vector(10) << 40, 6, 2, 1, 1, 0, 0.1, 1, 0, 1).finished());
}

TEST(Encoder, EncodesAndDecodesARow) {
  const Encoder encoder = Encoder::fit(small_data());
  const RawRow row = {32.5, 3.0, "much", "yes", "home", 0.1, "job_b"};
  const Vector z = encoder.encode(row);
  EXPECT_TRUE(z.isApprox((Vector(10) << 7.5 / std::sqrt(125), 0, 1, 1, 0, 1, 0, 0, 1, 0).finished(),
                         1e-14));
  EXPECT_EQ(encoder.decode(z), row);
}

TEST(Encoder, DecodesToTheNearestLevelAndWholeNumber) {
  const Encoder encoder = Encoder::fit(small_data());
  const auto decoded = [&](std::initializer_list<double> z) {
    const std::vector<double> copy(z);
    return encoder.decode(Eigen::Map<const Vector>(copy.data(), static_cast<Index>(copy.size())));
  };
  EXPECT_EQ(decoded({0, 0.3, 0.4, 0.4, 0.3, 0.2, 0, 0.1, 0.5, 0.49}),
            (RawRow{25.0, 4.0, "some", "no", "car", 0.1, "job_b"}));
  EXPECT_EQ(decoded({0, -0.3, 9, 7, -1, -0.5, 0, -3, -2, -1}),
            (RawRow{25.0, 2.0, "much", "yes", "home", 0.1, "job_c"}));
  EXPECT_EQ(decoded({0, 0, -9, -7, 0, 0, 0, 0, 0, 0}),
            (RawRow{25.0, 3.0, "none", "no", "car", 0.1, "job_a"}));
  message_of(ErrorCode::argument, [&] { return encoder.decode(Vector::Zero(9)); });
  message_of(ErrorCode::argument, [&] { return encoder.decode(Vector::Constant(10, nan)); });
}

Dataset random_data(const Schema& schema, Random& random, Index rows) {
  Dataset data;
  data.schema = schema;
  data.raw.resize(rows, static_cast<Index>(schema.features.size()));
  for (Index i = 0; i < rows; ++i) {
    const std::vector<double> row = random_raw_row(schema, random);
    data.raw.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), data.raw.cols());
    data.labels.push_back(static_cast<int>(i % 2));
  }
  return data;
}

TEST(Encoder, RoundTripIsExactOnRandomSchemas) {
  Random random(2);
  for (std::uint64_t round = 0; round < 200; ++round) {
    Random stream = random.split(round);
    const Dataset data = random_data(random_schema(stream), stream, 1 + Index(stream.below(30)));
    const Encoder encoder = Encoder::fit(data);
    const RowMatrix batch = encoder.encode(data.raw);
    ASSERT_EQ(batch.cols(), encoder.columns());
    for (Index i = 0; i < data.rows(); ++i) {
      const std::span<const double> raw(data.raw.row(i).data(), data.schema.features.size());
      const RawRow row = encoder.values(raw);
      EXPECT_EQ(encoder.raw(row), data.raw.row(i).transpose());
      EXPECT_EQ(encoder.encode(row), batch.row(i).transpose());
      const RawRow decoded = encoder.decode(batch.row(i).transpose());
      for (std::size_t j = 0; j < row.size(); ++j) {
        if (data.schema.features[j].kind == FeatureKind::numeric) {
          const Index column = encoder.first_column(j);
          const double size = std::abs(raw[j]) + std::abs(encoder.mean()[column]);
          EXPECT_NEAR(std::get<double>(decoded[j]), raw[j], 4e-16 * size);
        } else if (const Feature& feature = data.schema.features[j]; feature.is_binned()) {
          const auto seen = [&](double number) {
            const std::size_t bin = feature.bins.of(number);
            return feature.bins.values.empty() ? static_cast<double>(bin)
                                               : feature.bins.values[bin];
          };
          EXPECT_EQ(seen(std::get<double>(decoded[j])), seen(raw[j])) << feature.name;
        } else {
          EXPECT_EQ(decoded[j], row[j]);
        }
      }
    }
  }
}

TEST(Encoder, StatisticsAgreeWithTwoPlainPasses) {
  Random random(3);
  Dataset data;
  data.schema = parse_schema(
      "target: {column: y, favourable: 1}\nfeatures: {a: {kind: numeric}, b: {kind: numeric}}",
      "s");
  data.raw.resize(5000, 2);
  for (Index i = 0; i < data.rows(); ++i) {
    data.raw(i, 0) = 3 * random.normal() - 1;
    data.raw(i, 1) = 1e9 + random.normal();  // where the one-pass formula would lose every digit
  }
  const Encoder encoder = Encoder::fit(data);
  for (Index j = 0; j < 2; ++j) {
    long double sum = 0;
    for (const double value : data.raw.col(j)) sum += value;
    const long double mean = sum / 5000;
    long double squares = 0;
    for (const double value : data.raw.col(j)) squares += (value - mean) * (value - mean);
    EXPECT_NEAR(encoder.mean()[j], static_cast<double>(mean),
                1e-15 * std::abs(double(mean)) + 1e-15);
    EXPECT_NEAR(encoder.scale()[j], static_cast<double>(std::sqrt(squares / 5000)), 1e-13);
  }
}

TEST(Encoder, AConstantColumnHasScaleOneAndEncodesToZero) {
  Dataset data = small_data();
  data.raw.conservativeResize(3, data.raw.cols());  // a third of 3 * 0.1 is not 0.1
  const Encoder encoder = Encoder::fit(data);
  EXPECT_EQ(encoder.mean()[6], 0.1);
  EXPECT_EQ(encoder.scale()[6], 1);
  EXPECT_TRUE((encoder.encode(data.raw).col(6).array() == 0).all());
}

TEST(Encoder, RefusesValuesThatCannotBeStandardised) {
  Dataset data = small_data();
  data.raw.col(0) << 1e308, -1e308, 1e308, 1;
  expect_input_error([&] { return Encoder::fit(data); }, {"feature \"income\"", "change its unit"});
  data.raw.col(0) << 1e-300, 2e-300, 3e-300, 0;
  expect_input_error([&] { return Encoder::fit(data); }, {"feature \"income\"", "change its unit"});
  data.raw(2, 0) = nan;
  message_of(ErrorCode::argument, [&] { return Encoder::fit(data); });
  data = small_data();
  data.raw(0, 4) = 2;
  expect_words(message_of(ErrorCode::argument, [&] { return Encoder::fit(data); }),
               {"\"purpose\"", "level index 2"});
  message_of(ErrorCode::argument, [] { return Encoder::fit({}); });
}

TEST(Encoder, AnEmptyCellTakesItsFillValue) {
  Dataset data = small_data();
  data.fill = {{"income", 20.0}, {"school", "much"}, {"job", "job_b"}};
  const Encoder encoder = Encoder::fit(data);
  const std::vector<double> raw = {nan, 1, nan, 0, 0, 0.1, nan};
  const RawRow filled = {20.0, 1.0, "much", "no", "car", 0.1, "job_b"};
  EXPECT_EQ(encoder.values(raw), filled);
  Vector z(encoder.columns());
  encoder.encode(raw, z);
  EXPECT_EQ(z, encoder.encode(filled));
  const std::vector<double> other = {1, nan, 0, 0, 0, 0.1, 0};
  expect_input_error([&] { return encoder.values(other); }, {"feature \"age\" has no value"});
}

TEST(Encoder, RefusesValuesOfTheWrongKind) {
  const Encoder encoder = Encoder::fit(small_data());
  const RawRow good = {32.5, 3.0, "much", "yes", "home", 0.1, "job_b"};
  const auto expect = [&](std::size_t feature, const Value& value,
                          std::initializer_list<std::string_view> words) {
    RawRow row = good;
    row[feature] = value;
    expect_input_error([&] { return encoder.encode(row); }, words);
  };
  expect(0, "rich", {"\"income\"", "found \"rich\"", "a number"});
  expect(0, nan, {"\"income\"", "finite"});
  expect(1, 3.5, {"\"age\"", "3.5", "whole"});
  expect(2, 1.0, {"\"school\"", "found the number 1", "none, some, much"});
  expect(4, "hone", {"\"purpose\"", "did you mean \"home\"?"});
  message_of(ErrorCode::argument, [&] { return encoder.encode(RawRow{1.0}); });
  message_of(ErrorCode::argument, [&] { return encoder.encode(RowMatrix(RowMatrix::Zero(2, 3))); });
}

TEST(Encoder, SurvivesJson) {
  Random random(4);
  for (std::uint64_t round = 0; round < 100; ++round) {
    Random stream = random.split(round);
    Dataset data = random_data(random_schema(stream), stream, 20);
    for (const Feature& feature : data.schema.features) {
      if (stream.below(2) == 0) continue;
      data.fill.emplace(feature.name,
                        feature.is_number() ? Value(7.0) : Value(feature.levels.back()));
    }
    const Encoder encoder = Encoder::fit(data);
    const Json json = parse_json(to_text(encoder.to_json()), "m.json");
    EXPECT_EQ(json.contains("fill"), !data.fill.empty());
    const Encoder back = Encoder::from_json(json, data.schema, "m.json");
    EXPECT_EQ(back.mean(), encoder.mean());
    EXPECT_EQ(back.scale(), encoder.scale());
    EXPECT_EQ(back.min(), encoder.min());
    EXPECT_EQ(back.max(), encoder.max());
    EXPECT_EQ(back.fill(), encoder.fill());
    EXPECT_EQ(back.column_names(), encoder.column_names());
    EXPECT_EQ(back.encode(data.raw), encoder.encode(data.raw));
  }
}

TEST(Encoder, RefusesJsonThatDoesNotFitTheSchema) {
  Dataset data = small_data();
  data.fill = {{"income", 20.0}, {"school", "much"}};
  const Json good = Encoder::fit(data).to_json();
  const auto expect = [&](const auto& change, std::initializer_list<std::string_view> words) {
    Json json = good;
    change(json);
    expect_input_error([&] { return Encoder::from_json(json, small_schema(), "m.json"); }, words);
  };
  expect([](Json& j) { j["columns"][1] = "Age"; },
         {"m.json: encoder.columns[1]: found \"Age\", expected \"age\""});
  expect([](Json& j) { j["columns"].erase(9); }, {"encoder.columns: found 9 columns, expected 10"});
  expect([](Json& j) { j["columns"].push_back("x"); }, {"found 11 columns, expected 10"});
  for (const char* key : {"columns", "mean", "scale", "min", "max"}) {
    expect([&](Json& j) { j.erase(key); }, {fmt::format("encoder.{}", key), "missing"});
  }
  for (const char* key : {"mean", "scale", "min", "max"}) {
    expect([&](Json& j) { j[key].erase(0); },
           {fmt::format("encoder.{}: found 9 numbers", key), "10"});
    expect([&](Json& j) { j[key][2] = "1"; }, {fmt::format("encoder.{}[2]: found \"1\"", key)});
    expect([&](Json& j) { j[key][2] = nullptr; }, {fmt::format("encoder.{}[2]: found null", key)});
    expect([&](Json& j) { j[key][2] = nan; }, {fmt::format("encoder.{}", key), "finite"});
  }
  for (const double scale : {0.0, -1.0}) {
    expect([&](Json& j) { j["scale"][0] = scale; }, {"encoder.scale[0]", "> 0"});
  }
  expect([](Json& j) { j["min"][0] = 41; }, {"encoder.min[0]: found 41", "which is 40"});
  expect([](Json& j) { j["mean"][3] = 0.5; }, {"column \"owner\"", "expected 0 and 1"});
  expect([](Json& j) { j["scale"][9] = 2; }, {"column \"job=job_c\"", "expected 0 and 1"});
  expect([](Json& j) { j["fill"]["incme"] = 3; }, {"encoder.fill.incme", "unknown key"});
  expect([](Json& j) { j["fill"]["income"] = "3"; }, {"encoder.fill.income", "a number"});
  expect([](Json& j) { j["fill"]["school"] = "muc"; }, {"encoder.fill.school", "\"much\"?"});
  expect([](Json& j) { j["fill"] = 3; }, {"encoder.fill", "an object"});
  expect([](Json& j) { j["extra"] = 3; }, {"unknown key \"encoder.extra\""});
  expect([](Json& j) { j = Json::array(); }, {"encoder: found an array", "an object"});
}

TEST(RowJson, HoldsNumbersAndLevelsByName) {
  const Schema schema = small_schema();
  const RawRow row = {24000.5, 3.0, "much", "yes", "home", -0.1, "job_b"};
  const Json json = row_to_json(schema, row);
  EXPECT_EQ(
      canonical_text(json),
      R"({"age":3,"fixed":-0.1,"income":24000.5,"job":"job_b","owner":"yes","purpose":"home",)"
      R"("school":"much"})");
  EXPECT_EQ(row_from_json(schema, parse_json(to_text(json), "q.json"), "q.json", "query"), row);
}

TEST(RowJson, NamesTheFeatureOfAMistake) {
  const Schema schema = small_schema();
  const Json good = row_to_json(schema, {24000.5, 3.0, "much", "yes", "home", -0.1, "job_b"});
  const auto expect = [&](const auto& change, std::initializer_list<std::string_view> words) {
    Json json = good;
    change(json);
    expect_input_error([&] { return row_from_json(schema, json, "q.json", "query"); }, words);
  };
  expect([](Json& j) { j["shoe"] = 3; }, {"q.json", "unknown key \"query.shoe\""});
  expect([](Json& j) { j.erase("age"); }, {"key \"query.age\" is missing"});
  expect([](Json& j) { j["age"] = 3.5; }, {"query.age: found 3.5, expected a whole number"});
  expect([](Json& j) { j["age"] = "3"; }, {"query.age: found \"3\", expected a number"});
  expect([](Json& j) { j["income"] = nullptr; }, {"query.income: found null"});
  expect([](Json& j) { j["income"] = nan; }, {"query.income", "a finite number"});
  expect([](Json& j) { j["school"] = 2; }, {"query.school: found 2, expected a string"});
  expect([](Json& j) { j["school"] = "mush"; }, {"query.school: found \"mush\"", "\"much\"?"});
  expect([](Json& j) { j = 3; }, {"query: found 3, expected an object"});
  expect_input_error([&] { return parse_json(R"({"age": 1, "age": 2})", "q.json"); },
                     {"\"age\"", "twice"});
}

}  // namespace
}  // namespace ellice

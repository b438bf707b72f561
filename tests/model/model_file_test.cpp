#include "ellice/model/model_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"

namespace ellice {
namespace {

Json lending_json(bool store_rows = false) {
  return to_json(
      train(lending_dataset(300, 1), {.seed = 5}, {.folds = 0, .store_rows = store_rows}).model);
}

TEST(ModelFile, ReadsBackToTheSameBytes) {
  for (const bool store_rows : {false, true}) {
    const std::string text = to_text(lending_json(store_rows));
    const Model model = model_from_json(parse_json(text, "m.json"), "m.json");
    EXPECT_EQ(to_text(to_json(model)), text);
    EXPECT_EQ(model.rows.has_value(), store_rows);
  }
}

TEST(ModelFile, HashIgnoresRecommendedAndRowsAndNothingElse) {
  const Model trained = train(lending_dataset(300, 1), {}, {.folds = 0}).model;
  const Json json = to_json(trained);
  EXPECT_EQ(model_sha256(json), trained.sha256);
  Json extended = json;
  extended["recommended"] = {{"last-layer", {{"epsilon", 0.01}}}};
  extended["rows"] = {{"encoded", Json::array()}, {"labels", Json::array()}};
  EXPECT_EQ(model_sha256(extended), trained.sha256);
  Json changed = json;
  changed["decision"]["threshold"] = 0.1;
  EXPECT_NE(model_sha256(changed), trained.sha256);
}

TEST(ModelFile, KeepsWhatCalibrationWrote) {
  Json json = lending_json();
  json["recommended"] = {{"last-layer", {{"epsilon", 0.01}, {"rule", "survival:95%"}}}};
  EXPECT_EQ(to_json(model_from_json(json, "m.json")), json);
}

struct Damage {
  const char* name;
  std::function<void(Json&)> apply;
  const char* message;  // what the error must say
};
void PrintTo(const Damage& damage, std::ostream* out) {  // CTest shows it in the test's name
  *out << damage.name;
}

class DamagedModel : public testing::TestWithParam<Damage> {};

INSTANTIATE_TEST_SUITE_P(
    Each, DamagedModel,
    testing::Values(
        Damage{"format", [](Json& m) { m["format"] = "ellice.recourse"; },
               "format: found \"ellice.recourse\""},
        Damage{"version", [](Json& m) { m["version"] = 3; },
               "version: found 3, expected 1 to 2, the versions"},
        Damage{"missing_key", [](Json& m) { m.erase("curvature"); }, "\"curvature\" is missing"},
        Damage{"unknown_key", [](Json& m) { m["colour"] = 1; }, "unknown key \"colour\""},
        Damage{"kind", [](Json& m) { m["network"]["kind"] = "tree"; },
               "network.kind: found \"tree\""},
        Damage{"two_layers",
               [](Json& m) { m["network"]["layers"].push_back(m["network"]["layers"][0]); },
               "network.layers: found an array of 2"},
        Damage{"activation", [](Json& m) { m["network"]["layers"][0]["activation"] = "relu"; },
               "network.layers[0].activation"},
        Damage{"unknown_activation",
               [](Json& m) { m["network"]["layers"][0]["activation"] = "gelu"; },
               "found \"gelu\", expected one of relu"},
        Damage{"weights_too_short",
               [](Json& m) { m["network"]["layers"][0]["weights"][0].erase(0); },
               "network.layers[0].weights[0]: found 16 numbers, expected 17"},
        Damage{"two_outputs",
               [](Json& m) {
                 m["network"]["layers"][0]["weights"].push_back(
                     m["network"]["layers"][0]["weights"][0]);
               },
               "network.layers[0].weights: one output expected, found 2"},
        Damage{"weight_is_text", [](Json& m) { m["network"]["layers"][0]["weights"][0][2] = "x"; },
               "network.layers[0].weights[0][2]: found \"x\""},
        Damage{"bias",
               [](Json& m) {
                 m["network"]["layers"][0]["bias"] = {1, 2};
               },
               "bias: found 2 numbers"},
        Damage{"mean_too_short", [](Json& m) { m["encoder"]["mean"].erase(0); }, "encoder.mean"},
        Damage{"scale_zero", [](Json& m) { m["encoder"]["scale"][0] = 0; }, "encoder.scale"},
        Damage{"columns_renamed", [](Json& m) { m["encoder"]["columns"][0] = "other"; },
               "encoder.columns"},
        Damage{"min_above_max", [](Json& m) { m["encoder"]["min"][0] = 1e9; }, "encoder.m"},
        Damage{"hessian_rows", [](Json& m) { m["curvature"]["hessian"].erase(0); },
               "curvature.hessian: found 17 rows, expected 18"},
        Damage{"hessian_asymmetric", [](Json& m) { m["curvature"]["hessian"][0][1] = 5; },
               "not symmetric"},
        Damage{"hessian_asymmetric_in_the_last_digit",
               [](Json& m) {
                 Json& entry = m["curvature"]["hessian"][0][1];
                 entry = std::nextafter(entry.get<double>(), 1.0);
               },
               "not symmetric"},
        Damage{"hessian_indefinite", [](Json& m) { m["curvature"]["hessian"][0][0] = -1; },
               "not positive definite"},
        Damage{"shift_negative", [](Json& m) { m["curvature"]["shift"] = -1; }, "curvature.shift"},
        Damage{"threshold_text", [](Json& m) { m["decision"]["threshold"] = "p=0.7"; },
               "decision.threshold"},
        Damage{"one_class", [](Json& m) { m["decision"]["classes"] = {"yes"}; },
               "decision.classes"},
        Damage{"favourable_first",
               [](Json& m) {
                 m["decision"]["classes"] = {"yes", "no"};
               },
               "decision.classes"},
        Damage{"rows_zero", [](Json& m) { m["training"]["rows"] = 0; }, "training.rows"},
        Damage{"loss_negative", [](Json& m) { m["training"]["loss"] = -0.5; }, "training.loss"},
        Damage{"loss_kind", [](Json& m) { m["training"]["loss_kind"] = "hinge"; },
               "training.loss_kind"},
        Damage{"data_hash", [](Json& m) { m["training"]["data_sha256"] = "abc"; },
               "training.data_sha256"},
        Damage{"selection", [](Json& m) { m["training"]["selection"]["holdout"] = 2; },
               "training.selection.holdout"},
        Damage{"feature_kind", [](Json& m) { m["schema"]["features"]["age"]["kind"] = "number"; },
               "age"},
        Damage{"feature_removed", [](Json& m) { m["schema"]["features"].erase("age"); }, "m.json"},
        Damage{"stored_rows",
               [](Json& m) {
                 m["rows"] = {{"encoded", {{1, 2}}}, {"labels", {1}}};
               },
               "rows.encoded"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(DamagedModel, IsRefusedWithTheKeyNamed) {
  Json json = lending_json();
  GetParam().apply(json);
  try {
    (void)model_from_json(json, "m.json");
    FAIL() << "was accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::input) << message;
    EXPECT_EQ(message.rfind("m.json", 0), 0U) << message;
    EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  }
}

TEST(ModelFile, TruncatedAnywhereIsRefused) {
  const std::string text = to_text(lending_json());
  for (std::size_t length = 0; length + 2 < text.size(); length += 97) {
    EXPECT_THROW((void)model_from_json(parse_json(text.substr(0, length), "m.json"), "m.json"),
                 Error);
  }
}

}  // namespace
}  // namespace ellice

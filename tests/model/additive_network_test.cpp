// Neural additive models as whole models: trained from a data set, written and read.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

TrainingOptions small_nam(std::map<std::string, Monotone> monotone = {}) {
  TrainingOptions options{.model = NetworkKind::nam, .monotone = std::move(monotone)};
  options.network = {.hidden = {4, 3}, .learning_rate = 0.02, .epochs = 60};
  return options;
}

Model trained(const TrainingOptions& options, const Execution& execution = {}) {
  return train(lending_dataset(300, 1), {.seed = 5}, options, execution).model;
}

/// Weights of hidden layers from another feature's inputs, by the encoder's own word for whose
/// column is whose.
void expect_only_own_inputs(const Model& model) {
  const auto features = static_cast<Index>(model.schema().features.size());
  for (std::size_t l = 0; l + 1 < model.network.layers.size(); ++l) {
    const Matrix& weights = model.network.layers[l].weights;
    Index inside = 0;
    for (Index i = 0; i < weights.rows(); ++i) {
      for (Index j = 0; j < weights.cols(); ++j) {
        const auto owner = l == 0 ? static_cast<Index>(model.encoder.feature_of(j))
                                  : j / (weights.cols() / features);
        if (owner == i / (weights.rows() / features)) {
          inside += weights(i, j) != 0 ? 1 : 0;
        } else {
          ASSERT_EQ(weights(i, j), 0) << "layer " << l << " [" << i << "][" << j << "]";
        }
      }
    }
    EXPECT_GE(inside, weights.rows());
  }
}

TEST(TrainNam, KeepsTheFeaturesApart) {
  for (const Activation activation : {Activation::relu, Activation::tanh}) {
    TrainingOptions options = small_nam();
    options.network.activation = activation;
    options.network.batch_size = activation == Activation::tanh ? 32 : 0;
    const Model model = trained(options);
    EXPECT_EQ(model.network.kind, NetworkKind::nam);
    EXPECT_EQ(model.network.groups.size(), model.schema().features.size());
    expect_only_own_inputs(model);
    const auto columns = model.encoder.columns();
    const auto features = static_cast<Index>(model.schema().features.size());
    EXPECT_EQ(model.network.parameters(),
              4 * (columns + features) + features * 3 * (4 + 1) + 3 * features + 1);
    ASSERT_TRUE(model.curvature.full.has_value());
    EXPECT_EQ(model.curvature.full->vectors.rows(), model.network.parameters());
  }
}

TEST(TrainNam, ItsObjectiveCountsParametersOnly) {
  const Dataset data = lending_dataset(300, 1);
  const Model model = trained(small_nam());
  const Dataset fitted = select_rows(data, apply_selection(data, model.training.selection).fit);
  const RowMatrix encoded = model.encoder.encode(fitted.raw);
  double loss = 0;
  for (Index i = 0; i < encoded.rows(); ++i) {
    const double f = model.logit(encoded.row(i).transpose());
    loss += std::log1p(std::exp(fitted.labels[static_cast<std::size_t>(i)] == 1 ? -f : f));
  }
  loss /= static_cast<double>(encoded.rows());
  EXPECT_NEAR(model.training.loss, loss, 1e-12);
  EXPECT_NEAR(model.training.objective,
              loss + 1e-3 / 2 * parameter_vector(model.network).squaredNorm(), 1e-12);
}

TEST(TrainNam, IsTheSameForAnyNumberOfThreads) {
  TrainingOptions options = small_nam();
  options.network.epochs = 20;
  const std::string alone = to_text(to_json(trained(options, {.threads = 1})));
  EXPECT_EQ(to_text(to_json(trained(options, {.threads = 3}))), alone);
}

TEST(TrainNam, RefitLeadsToTheHeadsOptimum) {
  TrainingOptions options = small_nam();
  options.refit = true;
  const Model model = trained(options);
  EXPECT_LE(model.training.head_decrement, 1e-18);
  expect_only_own_inputs(model);
}

/// Against what the rows say, so that only the option can do it.
TEST(TrainNam, GoesWhereItIsToldToOnAGrid) {
  const std::map<std::string, Monotone> asked = {{"income", Monotone::decrease},
                                                 {"debt", Monotone::increase},
                                                 {"guarantor", Monotone::decrease},
                                                 {"age", Monotone::increase}};
  for (const Activation activation : {Activation::relu, Activation::tanh}) {
    TrainingOptions options = small_nam();
    options.network.activation = activation;
    const Model free = trained(options);
    options.monotone = asked;
    const Model model = trained(options);
    int violations_of_free = 0;
    for (const auto& [name, way] : asked) {
      const std::size_t j = *model.schema().find(name);
      const Index column = model.encoder.first_column(j);
      for (std::uint64_t k = 0; k < 5; ++k) {
        const Vector start = Random(k).normal_vector(model.encoder.columns());
        const double sign = way == Monotone::increase ? 1 : -1;
        double before = -1e300;
        double before_free = -1e300;
        for (int step = -80; step <= 80; ++step) {
          Vector x = start;
          x(column) = 0.05 * step;
          // A sum of products is monotone as it is rounded; tanh is to its last digits.
          const double slack = activation == Activation::relu ? 0 : 1e-12;
          const double f = sign * model.logit(x);
          EXPECT_GE(f, before - slack) << name;
          before = f;
          const double of_free = sign * free.logit(x);
          violations_of_free += of_free < before_free ? 1 : 0;
          before_free = of_free;
        }
      }
    }
    EXPECT_GT(violations_of_free, 100);
  }
}

TEST(TrainNam, RefusesWhatItCannotKeep) {
  const Dataset data = lending_dataset(300, 1);
  const auto message = [&](const TrainingOptions& options) {
    return testing_support::message_of(ErrorCode::argument,
                                       [&] { return train(data, {}, options); });
  };
  EXPECT_NE(message(small_nam({{"income_", Monotone::increase}})).find("no feature \"income_\""),
            std::string::npos);
  EXPECT_NE(message(small_nam({{"housing", Monotone::increase}})).find("categorical"),
            std::string::npos);
  TrainingOptions refit = small_nam({{"income", Monotone::increase}});
  refit.refit = true;
  EXPECT_NE(message(refit).find("`refit`"), std::string::npos);
  TrainingOptions dense = small_nam({{"income", Monotone::increase}});
  dense.model = NetworkKind::mlp;
  EXPECT_NE(message(dense).find("`model: nam`"), std::string::npos);
  TrainingOptions shallow = small_nam();
  shallow.network.hidden.clear();
  EXPECT_NE(message(shallow).find("hidden layers"), std::string::npos);
}

Json nam_json() {
  static const Json json = to_json(trained(small_nam({{"income", Monotone::increase}})));
  return json;
}

TEST(NamFile, ReadsBackToTheSameBytes) {
  const std::string text = to_text(nam_json());
  const Model model = model_from_json(parse_json(text, "m.json"), "m.json");
  EXPECT_EQ(to_text(to_json(model)), text);
  EXPECT_EQ(nam_json()["version"], 2);
  const std::size_t income = *model.schema().find("income");
  EXPECT_EQ(model.network.groups[income].monotone, Monotone::increase);
}

struct NamDamage {
  const char* name;
  std::function<void(Json&)> apply;
  const char* message;
};
void PrintTo(const NamDamage& damage, std::ostream* out) {
  *out << damage.name;
}

class DamagedNam : public testing::TestWithParam<NamDamage> {};

INSTANTIATE_TEST_SUITE_P(
    Each, DamagedNam,
    testing::Values(
        NamDamage{"weight_between_features",
                  [](Json& m) { m["network"]["layers"][0]["weights"][0][5] = 1e-9; },
                  "network.layers[0].weights"},
        NamDamage{"weight_between_units",
                  [](Json& m) { m["network"]["layers"][1]["weights"][0][4] = 0.5; },
                  "0 at [0][4], as unit 0 is not of the feature that input 4 belongs to"},
        NamDamage{"no_groups", [](Json& m) { m["network"].erase("groups"); }, "network.groups"},
        NamDamage{"groups_of_an_mlp", [](Json& m) { m["network"]["kind"] = "mlp"; }, "unknown key"},
        NamDamage{"a_group_too_few", [](Json& m) { m["network"]["groups"].erase(0); },
                  "network.groups"},
        NamDamage{"other_columns", [](Json& m) { m["network"]["groups"][0]["columns"] = 2; },
                  "network.groups[0].columns: found 2, expected 1"},
        NamDamage{"a_way_that_is_none",
                  [](Json& m) { m["network"]["groups"][0]["monotone"] = "up"; },
                  "network.groups[0].monotone"},
        NamDamage{"key_that_is_none", [](Json& m) { m["network"]["groups"][0]["units"] = 4; },
                  "unknown key"},
        NamDamage{"a_unit_too_few",
                  [](Json& m) {
                    m["network"]["layers"][0]["weights"].erase(0);
                    m["network"]["layers"][0]["bias"].erase(0);
                  },
                  "network.layers[0].weights"},
        NamDamage{"signs_of_the_head",
                  [](Json& m) {
                    for (Json& w : m["network"]["layers"][2]["weights"][0]) w = -w.get<double>();
                  },
                  "network.layers[2].weights"},
        NamDamage{"said_to_be_monotone",
                  [](Json& m) {
                    for (Json& group : m["network"]["groups"])
                      if (group["columns"] == 1) group["monotone"] = "increase";
                  },
                  "the signs that keep features monotone"}));

TEST_P(DamagedNam, IsRefusedByItsKey) {
  Json json = nam_json();
  GetParam().apply(json);
  testing_support::expect_input_error([&] { return model_from_json(json, "m.json"); },
                                      {"m.json", GetParam().message});
}

}  // namespace
}  // namespace ellice

// ONNX files that skl2onnx and the onnx package wrote (tests/model/onnx/make.py), and such of
// torch.onnx (make_torch.py), against what onnxruntime makes of them.

#include "ellice/model/onnx.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "support/messages.hpp"
#include "support/source_folder.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

std::string folder() {
  return testing_support::source_folder() + "/tests/model/onnx/";
}

Dataset rows(bool of_table) {
  const Schema schema = read_schema(folder() + (of_table ? "numbers.yaml" : "all.yaml"));
  CsvReader source(folder() + "rows.csv");
  return read_dataset(source, schema);
}

TEST(Onnx, ScoresAreThoseOfTheRuntime) {
  const Json expected = parse_json(read_file(folder() + "expected.json"), "expected.json");
  ASSERT_EQ(expected.size(), 7U);
  for (const auto& [name, one] : expected.items()) {
    const Dataset data = rows(one.at("of_table").get<bool>());
    const bool is_ridge = name.starts_with("ridge");
    OnnxOptions options{.loss = is_ridge ? LossKind::squared : LossKind::logistic,
                        .l2 = one.at("l2").get<double>()};
    const Model model = model_of_onnx(read_file(folder() + name), name, data, options);
    ASSERT_TRUE(model.deployed) << name;
    EXPECT_EQ(model.deployed->precision, Precision::float32);
    EXPECT_EQ(model.origin->kind, "onnx");
    EXPECT_LT(*model.origin->self_check, 1e-9) << name;
    Network network = model.network;
    network.set_head(model.deployed->head);
    const Vector scores = network.logits(model.encoder.encode(data.raw));
    const auto& outputs = one.at("output");
    ASSERT_EQ(outputs.size(), 40U);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const double score = scores(static_cast<Index>(i));
      const auto output = outputs[i].get<double>();
      const double theirs = is_ridge ? output : std::log(output / (1 - output));
      EXPECT_NEAR(score, theirs, 1e-5 * (1 + std::abs(score))) << name << " row " << i;
      if (one.at("labels").is_null()) continue;
      EXPECT_EQ(one.at("labels")[i].get<std::string>(), score > 0 ? "yes" : "no");
    }
    // Fitted by a program that minimises the same objective: little is left.
    if (model.network.is_linear()) {
      EXPECT_LT(model.deployed->excess, 1e-5) << name;
    }
  }
}

TEST(Onnx, FilesOfTorchScoreAsInTheRuntime) {
  const Json expected = parse_json(read_file(folder() + "expected_torch.json"), "expected_torch");
  ASSERT_EQ(expected.size(), 8U);
  const Dataset data = rows(true);
  for (const auto& [name, one] : expected.items()) {
    const OnnxOptions options{.l2 = one.at("l2").get<double>(), .event = "yes"};
    const Model model = model_of_onnx(read_file(folder() + name), name, data, options);
    EXPECT_EQ(model.deployed->precision, Precision::float32);
    EXPECT_LT(*model.origin->self_check, 1e-9) << name;
    const bool has_two = name.starts_with("torch_softmax") || name.starts_with("torch_outputs");
    EXPECT_EQ(model.deployed->sizes.size() > 0, has_two) << name;
    Network network = model.network;
    network.set_head(model.deployed->head);
    const Vector scores = network.logits(model.encoder.encode(data.raw));
    const auto& outputs = one.at("output");
    ASSERT_EQ(outputs.size(), 40U);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const double score = scores(static_cast<Index>(i));
      const auto output = outputs[i].get<double>();
      const double theirs =
          one.at("is_score").get<bool>() ? output : std::log(output / (1 - output));
      EXPECT_NEAR(score, theirs, 1e-5 * (1 + std::abs(score))) << name << " row " << i;
      EXPECT_LT(std::abs(score - theirs), 1e-6 + model.deployed->margin) << name;
    }
    if (model.network.is_linear()) {
      EXPECT_LT(model.deployed->excess, 1e-5) << name;
    }
  }
}

TEST(Onnx, CutFilesAreRefused) {
  const std::string whole = read_file(folder() + "columns_12.onnx");
  const Dataset data = rows(false);
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    try {
      (void)model_of_onnx(whole.substr(0, size), "cut.onnx", data, {.l2 = 0.1});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
  expect_input_error([&] { (void)model_of_onnx(whole, "m.onnx", rows(true), {.l2 = 0.1}); },
                     {"m.onnx", "purpose", "no feature"});
}

}  // namespace
}  // namespace ellice

// ONNX files with columns of their own: which feature an input is, and which level a code.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "ellice/model/onnx.hpp"
#include "support/messages.hpp"
#include "support/onnx_writer.hpp"

namespace ellice {
namespace {

using namespace testing_support::onnx_writer;
using testing_support::expect_input_error;

/// Thirty rows of a number and a code.
Dataset coded_rows(const std::string& number, const std::string& code,
                   const std::string& kind_of_code) {
  const std::string text = fmt::format(
      "target: {{column: y, favourable: \"yes\"}}\nfeatures:\n  \"{}\": {{kind: numeric, min: 0, "
      "max: 30}}\n  \"{}\": {}\n",
      number, code, kind_of_code);
  Dataset data{.schema = parse_schema(text, "s.yaml"), .classes = {"no", "yes"}};
  const Feature& feature = data.schema.features[1];
  data.raw.resize(30, 2);
  for (Index i = 0; i < 30; ++i) {
    const auto levels = static_cast<Index>(feature.levels.size());
    data.raw.row(i) << double(i), levels == 0 ? double(i * i % 7) : double(i % levels);
    data.labels.push_back(i * 5 % 7 > 2 ? 1 : 0);
  }
  data.source = "rows";
  data.sha256 = std::string(64, 'a');
  return data;
}

/// A number and one-hot codes, as skl2onnx joins them.
std::string of_codes(std::int64_t type, const std::string& categories, std::int64_t count,
                     const std::string& more = "", const std::string& coded = "c") {
  std::vector<double> weights = {0.1};
  for (std::int64_t k = 0; k < count; ++k) weights.push_back(0.5 * double(k + 1));
  return model(input("x", 1, f32) + input("c", 1, type) + more +
                   node("OneHotEncoder", {coded}, {"h"}, categories, "ai.onnx.ml") +
                   tensor("to", {2}, {-1, double(count)}, i64) +
                   node("Reshape", {"h", "to"}, {"r"}) +
                   node("Concat", {"x", "r"}, {"all"}, whole("axis", 1)) +
                   tensor("w", {count + 1, 1}, weights) + node("MatMul", {"all", "w"}, {"s"}) +
                   node("Sigmoid", {"s"}, {"p"}),
               {"p"});
}

TEST(OnnxLevels, AreCodesWhereTheModelReadsNumbers) {
  const auto read = [](const std::string& bytes, const std::string& levels) {
    const Dataset data = coded_rows("x", "c", "{kind: categorical, levels: [" + levels + "]}");
    return model_of_onnx(bytes, "m.onnx", data, {.l2 = 0.1});
  };
  const auto weights = [](const Model& model) {
    return Vector(model.deployed->head.segment(1, 3));
  };
  const std::string codes = of_codes(i64, wholes("cats_int64s", {1, 2, 3}), 3);
  const Vector plain = weights(read(codes, "\"1\", \"2\", \"3\""));
  EXPECT_NEAR(plain(2) - plain(0), 1, 1e-6);
  EXPECT_EQ(weights(read(codes, "\"01\", \"02\", \"03\"")), plain);
  EXPECT_EQ(weights(read(codes, "\"1.0\", \"2.0\", \"3.0\"")), plain);
  // Two that a column of numbers does not tell apart.
  const auto refuses = [&](const std::string& bytes, const std::string& levels,
                           std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(levels);
    expect_input_error([&] { return read(bytes, levels); }, words);
  };
  refuses(codes, "\"01\", \"1\", \"2\", \"3\"",
          {"m.onnx", "\"01\" and \"1\" of \"c\"", "same number"});
  refuses(codes, "\"1\", \"2\", \"3\", other", {"m.onnx", "\"c\"", "others that are not"});
  // Texts are told apart by what they spell.
  const std::string texts = of_codes(text, words("cats_strings", {"01", "1", "2"}), 3);
  EXPECT_EQ(weights(read(texts, "\"01\", \"1\", \"2\"")), plain);
  refuses(texts, "\"1\", \"2\", \"3\"", {"OneHotEncoder_here", "\"01\" is no level"});
  // Texts that are cast to whole numbers.
  const std::string cast = of_codes(text, wholes("cats_int64s", {1, 2, 3}), 3,
                                    node("Cast", {"c"}, {"k"}, whole("to", i64)), "k");
  EXPECT_EQ(weights(read(cast, "\"01\", \"02\", \"03\"")), plain);
  refuses(cast, "\"1\", \"2\", \"3\", \"1.5\"", {"Cast_here", "\"1.5\"", "no whole number"});
  refuses(cast, "\"1\", \"2\", \"3\", \"1e3\"", {"Cast_here", "\"1e3\"", "no whole number"});
  refuses(cast, "\"01\", \"1\", \"2\", \"3\"", {"same number"});
}

TEST(OnnxLevels, OfTwoThatAreTheSameNumberAreNotMerged) {
  const std::string bytes = model(
      input("x", 1, f32) + input("c", 1, f32) +
          node("Concat", {"x", "c"}, {"all"}, whole("axis", 1)) + tensor("w", {2, 1}, {0.1, 0.5}) +
          node("MatMul", {"all", "w"}, {"s"}) + node("Sigmoid", {"s"}, {"p"}),
      {"p"});
  for (const char* kind :
       {"{kind: binary, levels: [\"1\", \"01\"]}", "{kind: ordinal, levels: [\"2\", \"2.0\"]}"}) {
    expect_input_error(
        [&] { return model_of_onnx(bytes, "m.onnx", coded_rows("x", "c", kind), {.l2 = 0.1}); },
        {"m.onnx", "\"c\"", "same number"});
  }
}

/// The weights of two numbers with these names, read from a file with inputs of those.
Vector named_weights(const std::array<std::string, 2>& features,
                     const std::array<std::string, 2>& inputs) {
  const std::string bytes =
      model(input(inputs[0], 1, f32) + input(inputs[1], 1, f32) +
                node("Concat", {inputs[0], inputs[1]}, {"all"}, whole("axis", 1)) +
                tensor("w", {2, 1}, {0.1, 0.5}) + node("MatMul", {"all", "w"}, {"s"}) +
                node("Sigmoid", {"s"}, {"p"}),
            {"p"});
  const Dataset data = coded_rows(features[0], features[1], "{kind: numeric, min: 0, max: 9}");
  return model_of_onnx(bytes, "m.onnx", data, {.l2 = 0.1}).deployed->head.head(2);
}

TEST(OnnxInputs, AreMatchedByTheNamesThatExportsMakeOfThem) {
  const Vector plain = named_weights({"x", "c"}, {"x", "c"});
  EXPECT_EQ(named_weights({"debt ratio", "c"}, {"debt_ratio", "c"}), plain);
  EXPECT_EQ(named_weights({"debt.ratio", "a-b (%)"}, {"debt_ratio", "a_b____"}), plain);
  EXPECT_EQ(named_weights({"30 days", "c"}, {"_30_days", "c"}), plain);
  EXPECT_EQ(named_weights({"größe", "c"}, {"größe", "c"}), plain);
  EXPECT_EQ(named_weights({"größe", "c"}, {"gr__e", "c"}), plain);
  EXPECT_EQ(named_weights({"a+b", "c"}, {"a+b", "c"}), plain);
  // By their names, not their order.
  EXPECT_EQ(named_weights({"c", "debt ratio"}, {"debt_ratio", "c"}),
            named_weights({"c", "x"}, {"x", "c"}));
  // Names that have what would be replaced stand as they were.
  EXPECT_EQ(named_weights({"debt ratio", "debt_ratio"}, {"debt ratio", "debt_ratio"}), plain);
}

TEST(OnnxInputs, ThatMayBeTwoFeaturesAreRefused) {
  const auto refuses = [](const std::array<std::string, 2>& features,
                          const std::array<std::string, 2>& inputs,
                          std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return named_weights(features, inputs); }, words);
  };
  // skl2onnx numbers the second one; which of them came first the file does not say.
  refuses({"debt ratio", "debt_ratio"}, {"debt_ratio", "debt_ratio1"},
          {"m.onnx", "\"debt_ratio\" may be \"debt ratio\" or \"debt_ratio\""});
  refuses({"debt ratio", "debt.ratio"}, {"debt_ratio", "debt_ratio1"},
          {"may be \"debt ratio\" or \"debt.ratio\""});
  refuses({"debt ratio", "c"}, {"debt_ratio1", "c"}, {"\"debt_ratio1\" is no feature"});
  refuses({"debt ratio", "c"}, {"debt_ratios", "c"}, {"\"debt_ratios\" is no feature"});
  refuses({"gräßer", "c"}, {"gr__er", "gräßer"}, {"\"gr__er\" and \"gräßer\" are both"});
}

}  // namespace
}  // namespace ellice

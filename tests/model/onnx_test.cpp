// ONNX files that skl2onnx and the onnx package wrote (tests/model/onnx/make.py), and such of
// torch.onnx (make_torch.py), against what onnxruntime makes of them.

#include "ellice/model/onnx.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_file.hpp"
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

// ── files that are written here, in protobuf's wire format ──────────────────────────────────────

namespace written {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7FU; value >>= 7U) out += static_cast<char>((value & 0x7FU) | 0x80U);
  return out + static_cast<char>(value);
}
std::string field(unsigned number, std::int64_t value) {
  return varint(number << 3U) + varint(static_cast<std::uint64_t>(value));
}
std::string field(unsigned number, const std::string& bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + bytes;
}
template <class T>
std::string bits(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

constexpr std::int64_t f32 = 1;
constexpr std::int64_t i64 = 7;
constexpr std::int64_t text = 8;
constexpr std::int64_t boolean = 9;
constexpr std::int64_t f16 = 10;

std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                   const std::vector<double>& numbers, std::int64_t type = f32) {
  std::string raw;
  for (const double number : numbers) {
    raw += type == f32   ? bits(static_cast<float>(number))
           : type == i64 ? bits(static_cast<std::int64_t>(number))
                         : std::string(1, static_cast<char>(number));
  }
  std::string out;
  for (const std::int64_t size : dims) out += field(1, size);
  return field(5, out + field(2, type) + field(8, name) + field(9, raw));
}
std::string texts(const std::string& name, const std::vector<std::string>& all) {
  std::string out = field(1, static_cast<std::int64_t>(all.size())) + field(2, text);
  for (const std::string& one : all) out += field(6, one);
  return field(5, out + field(8, name));
}

std::string whole(const std::string& name, std::int64_t value) {
  return field(5, field(1, name) + field(3, value));
}
std::string real(const std::string& name, double value) {
  return field(5, field(1, name) + varint(2U << 3U | 5U) + bits(static_cast<float>(value)));
}
std::string reals(const std::string& name, const std::vector<double>& values) {
  std::string out;
  for (const double value : values) out += bits(static_cast<float>(value));
  return field(5, field(1, name) + field(7, out));
}
std::string wholes(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string out;
  for (const std::int64_t value : values) out += field(8, value);
  return field(5, field(1, name) + out);
}
std::string words(const std::string& name, const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += field(9, value);
  return field(5, field(1, name) + out);
}

/// Named by its operator in quotes, as messages have it.
std::string node(const std::string& op, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& attributes = "",
                 const std::string& domain = "") {
  std::string out;
  for (const std::string& input : inputs) out += field(1, input);
  for (const std::string& output : outputs) out += field(2, output);
  return field(1, out + field(3, op + "_here") + field(4, op) + attributes + field(7, domain));
}
std::string value(unsigned number, const std::string& name, std::int64_t columns,
                  std::int64_t type) {
  const std::string shape = field(1, field(2, std::string("n"))) + field(1, field(1, columns));
  return field(number, field(1, name) + field(2, field(1, field(1, type) + field(2, shape))));
}
std::string file(const std::string& body, const std::vector<std::string>& outputs,
                 std::int64_t type = f32, std::int64_t version = 17) {
  std::string graph = body + value(11, "X", 3, type);
  for (const std::string& output : outputs) graph += value(12, output, 1, f32);
  return field(1, std::int64_t{8}) + field(8, field(2, version)) + field(7, graph);
}

const std::string one_column = tensor("w", {3, 1}, {0.001, -0.2, 0.03}) + tensor("b", {1}, {0.3});
const std::string two_columns =
    tensor("w", {3, 2}, {-0.001, 0.001, 0.2, -0.2, -0.03, 0.03}) + tensor("b", {2}, {-0.3, 0.3});

/// The dense layer from `from` to "s".
std::string dense(const std::string& from) {
  return node("Gemm", {from, "w", "b"}, {"s"});
}
/// Probabilities of two labels, of the table.
std::string softmax() {
  return two_columns + dense("X") + node("Softmax", {"s"}, {"p"}, whole("axis", 1));
}
std::string sigmoid(const std::string& from = "X") {
  return one_column + dense(from) + node("Sigmoid", {"s"}, {"p"});
}

Model imported(const std::string& bytes) {
  return model_of_onnx(bytes, "m.onnx", rows(true), {.l2 = 0.1});
}
/// Refused by its node, or by another place, for these reasons.
void refuses(const std::string& bytes, std::initializer_list<std::string_view> reasons) {
  SCOPED_TRACE(fmt::format("{}", fmt::join(reasons, ", ")));
  expect_input_error([&] { return imported(bytes); }, reasons);
}
/// The score of the first row.
double first_score(const Model& model) {
  Network network = model.network;
  network.set_head(model.deployed->head);
  return network.logits(model.encoder.encode(rows(true).raw))(0);
}

const std::string ml = "ai.onnx.ml";

TEST(OnnxOperators, WrittenHereAreGood) {
  const double score = first_score(imported(file(sigmoid(), {"p"})));
  EXPECT_NEAR(first_score(imported(file(softmax(), {"p"}))), 2 * score, 1e-6);
  EXPECT_NE(score, 0);
}

TEST(OnnxOperators, ImputersThatReplaceANumberAreRefused) {
  const std::string values = reals("imputed_value_floats", {1, 2, 3});
  const auto imputer = [&](const std::string& more) {
    return file(node("Imputer", {"X"}, {"i"}, values + more, ml) + sigmoid("i"), {"p"});
  };
  (void)imported(imputer(real("replaced_value_float", NAN)));
  refuses(imputer(real("replaced_value_float", 0)),
          {"m.onnx", "Imputer_here", "replaces 0", "NaN"});
  refuses(imputer(real("replaced_value_float", -9)), {"Imputer_here", "replaces -9"});
  refuses(imputer(""), {"Imputer_here", "replaces 0"});  // the standard's default
  refuses(imputer(real("replaced_value_float", NAN) + whole("replaced_value_int64", 0)),
          {"Imputer_here", "whole number"});
}

TEST(OnnxOperators, CastsAndDivisionsThatDropDigitsAreRefused) {
  const auto cast = [&](std::int64_t to) {
    return file(node("Cast", {"X"}, {"c"}, whole("to", to)) +
                    node("Cast", {"c"}, {"f"}, whole("to", f32)) + sigmoid("f"),
                {"p"});
  };
  (void)imported(cast(f32));
  refuses(cast(i64), {"Cast_here", "entry 1", "kind: integer"});  // debt has digits
  refuses(cast(f16), {"Cast_here", "element type 10"});
  refuses(cast(boolean), {"Cast_here", "element type 9"});
  refuses(file(sigmoid() + node("Cast", {"p"}, {"c"}, whole("to", i64)), {"c"}),
          {"Cast_here", "element type 7"});
  // Whole numbers may be cast, and divided only as others.
  const std::string incomes = tensor("first", {1}, {0}, i64) +
                              node("Gather", {"X", "first"}, {"i"}, whole("axis", 1)) +
                              node("Cast", {"i"}, {"c"}, whole("to", i64));
  const std::string rest = tensor("w", {1, 1}, {0.001}) + tensor("b", {1}, {-3});
  const std::string divided = node("Div", {"c", "k"}, {"d"});
  const std::string ended =
      node("Cast", {"d"}, {"f"}, whole("to", f32)) + dense("f") + node("Sigmoid", {"s"}, {"p"});
  (void)imported(
      file(incomes + rest + tensor("k", {1}, {100}, i64) + node("Mul", {"c", "k"}, {"d"}) + ended,
           {"p"}));
  refuses(file(incomes + rest + tensor("k", {1}, {100}, i64) + divided + ended, {"p"}),
          {"Div_here", "whole numbers"});
}

TEST(OnnxOperators, WholeInputsAreForWholeFeatures) {
  refuses(file(node("Cast", {"X"}, {"f"}, whole("to", f32)) + sigmoid("f"), {"p"}, i64),
          {"\"X\"", "whole numbers", "\"debt\"", "kind: integer"});
  refuses(file(node("Cast", {"X"}, {"f"}, whole("to", f32)) + sigmoid("f"), {"p"}, f16),
          {"\"X\"", "element type 10"});
}

TEST(OnnxOperators, AxesAndShapesThatMixRowsAreRefused) {
  refuses(file(two_columns + dense("X") + node("Softmax", {"s"}, {"p"}, whole("axis", 0)), {"p"}),
          {"Softmax_here", "axis 0"});
  refuses(file(softmax() + node("ArgMax", {"p"}, {"a"}, whole("axis", 0)), {"a"}),
          {"ArgMax_here", "axis 0"});
  refuses(file(softmax() + node("ArgMax", {"p"}, {"a"}), {"a"}), {"ArgMax_here", "axis 0"});
  refuses(file(softmax() + tensor("i", {1}, {1}, i64) + node("Gather", {"p", "i"}, {"q"}), {"q"}),
          {"Gather_here", "axis 0"});
  refuses(file(node("Flatten", {"X"}, {"r"}, whole("axis", 0)) + sigmoid("r"), {"p"}),
          {"Flatten_here", "found 0"});
  refuses(file(tensor("to", {2}, {3, -1}, i64) + node("Reshape", {"X", "to"}, {"r"}) + sigmoid("r"),
               {"p"}),
          {"Reshape_here", "[3, -1]"});
  refuses(file(tensor("to", {2}, {0, 3}, i64) +
                   node("Reshape", {"X", "to"}, {"r"}, whole("allowzero", 1)) + sigmoid("r"),
               {"p"}),
          {"Reshape_here", "[0, 3]"});
  refuses(
      file(tensor("c", {3, 1}, {1, 2, 3}) + node("Add", {"X", "c"}, {"r"}) + sigmoid("r"), {"p"}),
      {"Add_here", "[3, 1]"});
  refuses(file(node("Squeeze", {"X"}, {"r"}) + sigmoid("r"), {"p"}), {"Squeeze_here", "axes"});
  refuses(file(node("Unsqueeze", {"X"}, {"r"}, wholes("axes", {0})) + sigmoid("r"), {"p"}),
          {"Unsqueeze_here", "rows"});
  // What keeps the rows apart is good.
  (void)imported(file(tensor("to", {3}, {-1, 1, 3}, i64) + node("Reshape", {"X", "to"}, {"r"}) +
                          node("Flatten", {"r"}, {"g"}) + sigmoid("g"),
                      {"p"}));
  (void)imported(file(sigmoid() + node("Squeeze", {"p"}, {"q"}), {"q"}));
}

TEST(OnnxOperators, ThatTrainAreRefused) {
  const auto dropout = [&](double trains) {
    return file(tensor("r", {}, {0.5}) + tensor("t", {}, {trains}, boolean) +
                    node("Dropout", {"X", "r", "t"}, {"d"}) + sigmoid("d"),
                {"p"});
  };
  (void)imported(dropout(0));
  refuses(dropout(1), {"Dropout_here", "training_mode"});
}

TEST(OnnxOperators, HaveNoAttributesThatAreNotRead) {
  refuses(file(tensor("c", {3}, {1, 2, 3}) + node("Add", {"X", "c"}, {"r"}, whole("broadcast", 1)) +
                   sigmoid("r"),
               {"p"}),
          {"Add_here", "\"broadcast\""});
  refuses(file(two_columns + dense("X") + node("Softmax", {"s"}, {"p"}, real("axis", 1)), {"p"}),
          {"Softmax_here", "\"axis\"", "another kind"});
  refuses(file(two_columns + dense("X") +
                   node("Softmax", {"s"}, {"p"}, whole("axis", 1) + whole("axis", 0)),
               {"p"}),
          {"Softmax_here", "two attributes"});
  refuses(file(sigmoid(), {"p"}, f32, 6), {"m.onnx", "version 6"});
  const std::string sizes = wholes("inputdimensions", {2});
  refuses(file(node("FeatureVectorizer", {"X"}, {"v"}, sizes, ml) + sigmoid("v"), {"p"}),
          {"FeatureVectorizer_here", "inputdimensions"});
}

/// LabelEncoder after ArgMax, with these labels.
std::string encoded(const std::vector<std::string>& labels) {
  return file(softmax() + node("ArgMax", {"p"}, {"a"}, whole("axis", 1)) +
                  node("LabelEncoder", {"a"}, {"l"},
                       wholes("keys_int64s", {0, 1}) + words("values_strings", labels), ml),
              {"l"});
}

TEST(OnnxOperators, LabelsAreReadWhereverTheyStand) {
  const double plain = first_score(imported(file(softmax(), {"p"})));
  EXPECT_EQ(first_score(imported(encoded({"no", "yes"}))), plain);
  EXPECT_EQ(first_score(imported(encoded({"yes", "no"}))), -plain);
  refuses(encoded({"yes", "yes"}), {"LabelEncoder_here", "both labels are \"yes\""});
  refuses(encoded({"yes"}), {"LabelEncoder_here", "2 keys but 1 values"});
  // Straight from two scores.
  const std::string logits = two_columns + dense("X") + texts("names", {"yes", "no"}) +
                             node("ArgMax", {"s"}, {"a"}, whole("axis", 1)) +
                             node("Gather", {"names", "a"}, {"l"});
  EXPECT_EQ(first_score(imported(file(logits, {"l"}))), -plain);
  const auto classifier = [&](const std::vector<std::string>& labels) {
    return file(
        node("LinearClassifier", {"X"}, {"l", "p"},
             reals("coefficients", {0.001, -0.2, 0.03}) + words("classlabels_strings", labels), ml),
        {"l", "p"});
  };
  (void)imported(classifier({"no", "yes"}));
  refuses(classifier({"yes", "yes"}), {"LinearClassifier_here", "both labels"});
}

TEST(OnnxOperators, TheOtherProbabilitySpeaksForTheOtherLabel) {
  const double plain = first_score(imported(file(sigmoid(), {"p"})));
  const std::string turned = sigmoid() + tensor("one", {1}, {1}) + node("Sub", {"one", "p"}, {"q"});
  EXPECT_EQ(first_score(imported(file(turned, {"q"}))), -plain);
  refuses(file(turned, {"q", "p"}), {"1 − p", "no labels"});
  refuses(file(softmax() + tensor("one", {1}, {1}) + node("Sub", {"one", "p"}, {"q"}), {"q"}),
          {"Sub_here", "one probability"});
}

TEST(OnnxOperators, OutputsAreMadeOfTheScore) {
  // Two heads on one layer, of which the softmax is not the one that comes first.
  const std::string side = tensor("u", {3, 2}, {0.001, 0.002, 0.1, -0.1, 0.1, 0.2}) +
                           node("MatMul", {"X", "u"}, {"h"}) + node("Relu", {"h"}, {"r"}) +
                           tensor("v", {2, 1}, {0.2, 0.1}) + node("MatMul", {"r", "v"}, {"main"}) +
                           tensor("w", {2, 2}, {-1, 1, 1, -1}) + tensor("b", {2}, {-0.3, 0.3}) +
                           dense("r") + node("Softmax", {"s"}, {"p"}, whole("axis", 1));
  refuses(file(side, {"main", "p"}), {"\"main\"", "Softmax_here"});
  (void)imported(file(softmax(), {"s", "p"}));  // the score itself
}

TEST(OnnxOperators, IndicesAreWholeNumbers) {
  const std::string some = tensor("w", {2, 1}, {0.001, -0.2}) + tensor("b", {1}, {0.3});
  refuses(file(tensor("i", {2}, {0.5, 1.5}) + node("Gather", {"X", "i"}, {"g"}, whole("axis", 1)) +
                   some + dense("g") + node("Sigmoid", {"s"}, {"p"}),
               {"p"}),
          {"Gather_here", "whole numbers"});
}

TEST(OnnxOperators, NumbersThatVanishAreRefusedByNode) {
  refuses(file(tensor("k", {3}, {1e-42, 1, 1}) + node("Mul", {"X", "k"}, {"m"}) +
                   tensor("h", {3}, {1e-30, 1, 1}) + node("Mul", {"m", "h"}, {"n"}) +
                   tensor("g", {3}, {1e-30, 1, 1}) + node("Mul", {"n", "g"}, {"o"}) +
                   tensor("j", {3}, {1e-30, 1, 1}) + node("Mul", {"o", "j"}, {"r"}) +
                   tensor("y", {3}, {1e-30, 1, 1}) + node("Mul", {"r", "y"}, {"z"}) +
                   tensor("x", {3}, {1e-30, 1, 1}) + node("Mul", {"z", "x"}, {"t"}) +
                   tensor("q", {3}, {1e-30, 1, 1}) + node("Mul", {"t", "q"}, {"u"}) +
                   tensor("e", {3}, {1e-30, 1, 1}) + node("Mul", {"u", "e"}, {"v"}) +
                   tensor("a", {3}, {1e-30, 1, 1}) + node("Mul", {"v", "a"}, {"c"}) +
                   tensor("i", {3}, {1e-29, 1, 1}) + node("Mul", {"c", "i"}, {"d"}) + sigmoid("d"),
               {"p"}),
          {"m.onnx", "\"income\"", "too small"});
}

TEST(OnnxOperators, LongChainsTakeNoTime) {
  std::string body;
  std::string last = "X";
  for (int k = 0; k < 1900; ++k) {
    const std::string next = "x" + std::to_string(k);
    body.insert(0, node("Identity", {last}, {next}));  // backwards, so that sorting has work
    last = next;
  }
  const std::string bytes = file(body + sigmoid(last), {"p"});
  const auto begin = std::chrono::steady_clock::now();
  (void)onnx::parse_onnx(bytes, "m.onnx");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 0.5);
}

}  // namespace written
}  // namespace
}  // namespace ellice

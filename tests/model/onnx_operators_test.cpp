// ONNX files that are written here: what each operator is taken for, and what is refused.

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/onnx.hpp"
#include "model/onnx_file.hpp"
#include "support/messages.hpp"
#include "support/onnx_writer.hpp"
#include "support/source_folder.hpp"

namespace ellice {
namespace {

using namespace testing_support::onnx_writer;
using testing_support::expect_input_error;

/// The numbers of the rows of tests/model/onnx.
Dataset numbers_of_rows() {
  const std::string folder = testing_support::source_folder() + "/tests/model/onnx/";
  const Schema schema = read_schema(folder + "numbers.yaml");
  CsvReader source(folder + "rows.csv");
  return read_dataset(source, schema);
}

/// One table of three numbers.
std::string file(const std::string& body, const std::vector<std::string>& outputs,
                 std::int64_t type = f32, std::int64_t version = 17) {
  return model(body + input("X", 3, type), outputs, version);
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
  return model_of_onnx(bytes, "m.onnx", numbers_of_rows(), {.l2 = 0.1});
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
  return network.logits(model.encoder.encode(numbers_of_rows().raw))(0);
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

TEST(OnnxOperators, RowsOfOneNumberAreNoTable) {
  const std::string vectorizer = node("FeatureVectorizer", {"x"}, {"X"}, "", ml);
  const std::string more = tensor("w", {1, 1}, {0.001}) + tensor("b", {1}, {0.3}) + dense("X") +
                           node("Sigmoid", {"s"}, {"p"});
  const auto of_columns = [&](std::int64_t columns) {
    return model(
        input("income", columns, f32) + node("Identity", {"income"}, {"x"}) + vectorizer + more,
        {"p"});
  };
  (void)imported(of_columns(1));
  refuses(of_columns(0), {"FeatureVectorizer_here", "\"x\" has 1 axes"});
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

/// The same of indices that are there.
std::string encoded_classes(const std::string& before) {
  return before + node("LabelEncoder", {"a"}, {"l"},
                       wholes("keys_int64s", {0, 1}) + words("values_strings", {"no", "yes"}), ml);
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

TEST(OnnxOperators, LabelsOfTheFileAreThoseOfTheRows) {
  // 1 is the second class of the file, and the first one of the rows.
  Dataset data = numbers_of_rows();
  data.classes = {"1", "2"};
  data.schema.target.favourable = "1";
  const std::string classifier = file(
      node("LinearClassifier", {"X"}, {"l", "p"},
           reals("coefficients", {0.001, -0.2, 0.03}) + wholes("classlabels_ints", {0, 1}), ml),
      {"l", "p"});
  const std::string index = file(softmax() + node("ArgMax", {"p"}, {"a"}, whole("axis", 1)), {"a"});
  for (const std::string& bytes : {classifier, index}) {
    expect_input_error([&] { return model_of_onnx(bytes, "m.onnx", data, {.l2 = 0.1}); },
                       {"its labels are 0 and 1", "1 and 2", "--event"});
    const Model named = model_of_onnx(bytes, "m.onnx", data, {.l2 = 0.1, .event = "2"});
    const Model other = model_of_onnx(bytes, "m.onnx", data, {.l2 = 0.1, .event = "1"});
    EXPECT_EQ(first_score(named), -first_score(other));
  }
}

TEST(OnnxOperators, ModelsOfTwoOutputsAreReadBack) {
  const Model model = imported(file(softmax(), {"p"}));
  const Model again = model_from_json(to_json(model), "m.json");
  EXPECT_EQ(again.sha256, model.sha256);
  EXPECT_GE(model.deployed->sizes(3), std::abs(model.deployed->head(3)));
}

TEST(OnnxOperators, ThatSliceTakeColumnsOrOneProbability) {
  const double plain = first_score(imported(file(softmax(), {"p"})));
  const auto slice = [](const std::string& from, const std::string& to, double start, double end,
                        double axis) {
    const std::string name = from + to;
    return tensor(name + "0", {1}, {start}, i64) + tensor(name + "1", {1}, {end}, i64) +
           tensor(name + "2", {1}, {axis}, i64) +
           node("Slice", {from, name + "0", name + "1", name + "2"}, {to});
  };
  // The probabilities of both labels, each by itself (zipmap='columns').
  const std::string labels = node("ArgMax", {"p"}, {"a"}, whole("axis", 1));
  const std::string both = softmax() + slice("p", "no", 0, 1, 1) + slice("p", "yes", 1, 2, -1);
  EXPECT_EQ(first_score(imported(file(both, {"yes"}))), plain);
  EXPECT_EQ(first_score(imported(file(both, {"no"}))), -plain);
  EXPECT_EQ(first_score(imported(file(encoded_classes(both + labels), {"l", "no", "yes"}))), plain);
  const std::string by_index =
      tensor("k", {1}, {0}, i64) + node("Gather", {"p", "k"}, {"no"}, whole("axis", 1));
  EXPECT_EQ(first_score(imported(file(softmax() + by_index, {"no"}))), -plain);
  // Columns of the table, also from the end and beyond it.
  const double score = first_score(imported(file(sigmoid(), {"p"})));
  const std::string parts = slice("X", "u", 0, -2, 1) + slice("X", "v", -2, 9e15, 1) +
                            node("Concat", {"u", "v"}, {"z"}, whole("axis", 1));
  EXPECT_EQ(first_score(imported(file(parts + sigmoid("z"), {"p"}))), score);
  const std::string by_attributes = node(
      "Slice", {"X"}, {"z"}, wholes("starts", {0}) + wholes("ends", {3}) + wholes("axes", {1}));
  EXPECT_EQ(first_score(imported(file(by_attributes + sigmoid("z"), {"p"}))), score);
  refuses(file(slice("X", "z", 0, 1, 0) + sigmoid("z"), {"p"}), {"Slice_here", "axis 0"});
  refuses(file(slice("X", "z", 2, 2, 1) + sigmoid("z"), {"p"}), {"Slice_here", "no column"});
  refuses(file(softmax() + slice("p", "q", 0, 2, 1), {"q"}), {"Slice_here", "second class"});
  const std::string steps = tensor("s0", {1}, {2}, i64) + tensor("s1", {1}, {-9}, i64) +
                            tensor("s2", {1}, {1}, i64) + tensor("s3", {1}, {-1}, i64);
  refuses(file(steps + node("Slice", {"X", "s0", "s1", "s2", "s3"}, {"z"}) + sigmoid("z"), {"p"}),
          {"Slice_here", "steps", "[-1]"});
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

}  // namespace
}  // namespace ellice

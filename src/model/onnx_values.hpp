#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ellice/model/deployed.hpp"
#include "model/onnx_file.hpp"

namespace ellice::onnx {

/// A row of numbers, affine in others: W·v + b, v being columns of the table and indicators of
/// levels (layer 0), what the program feeds its first layer with (1), or units of hidden layers.
struct Affine {
  std::size_t layer = 0;
  Matrix weights = {};
  Vector bias = {};
};

/// The text of a feature, or the levels of several, as they stand in the table.
struct Texts {
  std::vector<std::size_t> features = {};
};

/// What is made of the score: probabilities, labels.
struct Final {};

using Value = std::variant<Affine, Texts, Final>;

/// What the nodes of a graph have made so far, as rows of numbers over the columns of the table,
/// and what the present node sees of it: its operands, constants and attributes.
class GraphValues {
 protected:
  GraphValues(const Graph& graph, const Schema& schema, const std::string& source)
      : graph_(&graph), schema_(&schema), source_(&source) {}

  void read_inputs();
  void read_table(const Input& input);
  /// The value of a feature as a number: levels that are numbers stand in the table as these.
  [[nodiscard]] Affine number(std::size_t j);
  [[nodiscard]] std::size_t atom(std::size_t feature, const std::string& level);
  [[nodiscard]] static Affine unit(std::size_t input);
  /// What the first layer reads: its entries become the inputs, in whose coordinates weights, and
  /// their penalty, are meant.
  [[nodiscard]] Affine based(const Affine& row);
  [[noreturn]] void refuse(std::string_view why) const;
  [[nodiscard]] const std::string& input_name(std::size_t k) const;
  [[nodiscard]] const Tensor* constant(std::size_t k) const;
  [[nodiscard]] const Value& value(std::size_t k) const;
  [[nodiscard]] const Affine& affine(std::size_t k) const;
  [[nodiscard]] bool is_final(std::size_t k) const;
  void put(Value value);
  void put(Affine made);
  /// A later part may know more inputs.
  [[nodiscard]] static Matrix widened(const Matrix& weights, Index columns);
  [[nodiscard]] Affine joined(const std::vector<Affine>& parts) const;
  /// A constant as one number per entry of a row.
  [[nodiscard]] Vector along(const Tensor& tensor, Index size) const;
  [[nodiscard]] Vector along(std::string_view attribute, Index size, double otherwise) const;
  [[nodiscard]] std::int64_t whole(std::string_view attribute, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::string word(std::string_view attribute, std::string otherwise) const;

  const Graph* graph_;
  const Schema* schema_;
  const std::string* source_;
  const Node* node_ = nullptr;
  std::map<std::string, Value> values_;
  std::map<std::string, Tensor> made_;  // constants that nodes make
  std::vector<DeployedInput> atoms_;    // columns and levels as they stand in the table
  DeployedModel result_;
};

}  // namespace ellice::onnx

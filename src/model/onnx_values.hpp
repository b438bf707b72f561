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

/// What is made of the score.
struct Final {
  enum class Kind {
    event,   // the probability of the event
    other,   // that of the other label
    both,    // both, the event's second
    scores,  // −s and s
    second,  // of two numbers the second is s; the first has no meaning
    score,   // s
    index,   // 0, or 1 for the event
    label,
    map,  // from labels to probabilities
  };
  Kind kind = Kind::event;
  std::vector<std::string> labels = {};  // of label and map, the event's second; none: unknown
};

/// The sizes of a value behind the axis of the rows, which is the first one: none of one number per
/// row, {k} of a table with k columns, {1, k} of what OneHotEncoder makes of one column.
using Shape = std::vector<Index>;

[[nodiscard]] Index size_of(const Shape& shape);

struct Value {
  std::variant<Affine, Texts, Final> is = {};
  Shape shape = {};
};

/// What the nodes of a graph have made so far, as rows of numbers over the columns of the table,
/// and what the present node sees of it: its operands, constants and attributes.
class GraphValues {
 protected:
  GraphValues(const Graph& graph, const Schema& schema, const std::string& source)
      : graph_(&graph), schema_(&schema), source_(&source) {}

  void read_inputs();
  void read_table(const Input& input);
  /// Refuses a column of whole numbers for a feature that has others, and types that round.
  void check_type(const Input& input, const Feature& feature) const;
  /// The value of a feature as a number: levels that are numbers stand in the table as these.
  [[nodiscard]] Affine number(std::size_t j);
  [[nodiscard]] std::size_t atom(std::size_t feature, const std::string& level);
  [[nodiscard]] static Affine unit(std::size_t input);
  /// Whether an entry is a whole number whatever the row.
  [[nodiscard]] bool is_whole(const Affine& row, Index k) const;
  /// What the first layer reads: its entries become the inputs, in whose coordinates weights, and
  /// their penalty, are meant.
  [[nodiscard]] Affine based(const Affine& row);
  [[noreturn]] void refuse(std::string_view why) const;
  /// Refuses attributes that are not read, or hold something else than they should.
  void check_attributes() const;
  [[nodiscard]] const std::string& input_name(std::size_t k) const;
  [[nodiscard]] bool has_input(std::size_t k) const;
  [[nodiscard]] const Tensor* constant(std::size_t k) const;
  [[nodiscard]] const Value& value(std::size_t k) const;
  [[nodiscard]] const Affine& affine(std::size_t k) const;
  [[nodiscard]] const Texts* texts(std::size_t k) const;
  [[nodiscard]] const Final* final(std::size_t k) const;
  [[nodiscard]] const Shape& shape(std::size_t k) const { return value(k).shape; }
  /// Refuses what is no table, rows by columns.
  void require_table(std::size_t k) const;
  /// Refuses an axis other than the last of a table, or of what has one column of entries.
  void require_last_axis(std::int64_t axis, const Shape& shape) const;
  /// The axis, counted from the rows' own, of `rank` axes.
  [[nodiscard]] std::size_t axis_of(std::int64_t given, std::size_t rank) const;
  /// The first output; others of the node are not known.
  void put(Value value);
  void put(Affine made, Shape shape);
  void put_as(std::size_t output, Value value);
  /// A later part may know more inputs.
  [[nodiscard]] static Matrix widened(const Matrix& weights, Index columns);
  [[nodiscard]] Affine joined(const std::vector<Affine>& parts) const;
  /// A constant as one number per entry of a row, which it must be for each row alike.
  [[nodiscard]] Vector along(const Tensor& tensor, const Shape& shape) const;
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

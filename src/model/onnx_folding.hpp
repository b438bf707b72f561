#pragma once

// What the nodes of a graph have made so far, as rows of numbers over the columns of the table, and
// what one node sees of it.

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ellice/model/deployed.hpp"
#include "model/onnx_affine.hpp"
#include "model/onnx_columns.hpp"
#include "model/onnx_operation.hpp"

namespace ellice::onnx {

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

  /// Two numbers, one for each label, of which the larger one decides.
  [[nodiscard]] bool is_pair() const { return kind == Kind::both || kind == Kind::scores; }
};

/// The sizes of a value behind the axis of the rows, which is the first one: none of one number per
/// row, {k} of a table with k columns, {1, k} of what OneHotEncoder makes of one column.
using Shape = std::vector<Index>;

[[nodiscard]] Index size_of(const Shape& shape);

struct Value {
  std::variant<Affine, Texts, Final> is = {};
  Shape shape = {};
};

struct Folding {
  Folding(const Graph& given, const Schema& schema, const std::string& source)
      : graph(&given), columns(schema, source) {}

  const Graph* graph;
  Columns columns;
  std::map<std::string, Value> values = {};
  std::map<std::string, Tensor> constants = {};  // that nodes make
  DeployedModel model = {};
  std::vector<std::string> labels = {};  // of the classes, the event's second
  std::optional<Affine> score = {};
  const Node* score_node = nullptr;  // that makes probabilities or labels of it
};

/// A node with its operands, and what it adds to what is folded.
class FoldedNode : public Operation {
 public:
  FoldedNode(const Node& node, Folding& folding, const std::string& source)
      : Operation(node, source), folding_(&folding) {}

  [[nodiscard]] const Tensor* constant(std::size_t k) const;
  [[nodiscard]] const Value& value(std::size_t k) const;
  [[nodiscard]] const Affine& affine(std::size_t k) const;
  [[nodiscard]] const Texts* texts(std::size_t k) const;
  [[nodiscard]] const Final* final(std::size_t k) const;
  [[nodiscard]] const Shape& shape(std::size_t k) const { return value(k).shape; }
  [[nodiscard]] Columns& columns() const { return folding_->columns; }
  [[nodiscard]] const Feature& feature(std::size_t j) const { return columns().feature(j); }

  /// Refuses what is no table, rows by columns.
  void require_table(std::size_t k) const;
  /// Refuses an axis other than the last of a table, or of what has one column of entries.
  void require_last_axis(std::int64_t axis, const Shape& shape) const;
  /// A constant as one number per entry of a row, which it must be for each row alike.
  [[nodiscard]] Vector along(const Tensor& tensor, const Shape& shape) const;
  [[nodiscard]] Vector along(std::string_view attribute, Index size, double otherwise) const;
  /// Refuses parts of different layers.
  [[nodiscard]] Affine joined(const std::vector<Affine>& parts) const;

  /// The first output; others of the node are not known.
  void put(Value value);
  void put(Affine made, Shape shape);
  void put_as(std::size_t output, Value value);
  void put_constant(Tensor tensor);

  /// What the first layer reads: its entries become the inputs of the model, in whose coordinates
  /// weights, and their penalty, are meant.
  [[nodiscard]] Affine based(const Affine& row);
  /// The entries of the next layer.
  [[nodiscard]] Affine add_layer(const Affine& row, Activation activation);
  void take_score(Affine score);
  void name_classes(const std::vector<std::string>& labels) { folding_->labels = labels; }

 private:
  Folding* folding_;
};

}  // namespace ellice::onnx

#pragma once

// What the operators of a graph make of two rows: the one that is asked about, and another one
// beside it, so that what mixes rows shows.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/onnx_operation.hpp"

namespace ellice::onnx {

constexpr std::int64_t batch = 2;

using Dims = std::vector<std::int64_t>;

[[nodiscard]] std::int64_t count_of(const Dims& dims);

struct Execution {
  std::map<std::string, const Tensor*> known = {};  // constants, and what was made
  std::map<std::string, Tensor> made = {};
  std::map<std::string, double> probabilities = {};  // 1: of the event, −1: of the other label
  std::optional<double> score = {};                  // of the first row

  void keep(const std::string& name, Tensor tensor);
};

/// A node with its operands, and what it makes.
class ExecutedNode : public Operation {
 public:
  ExecutedNode(const Node& node, Execution& execution, const std::string& source)
      : Operation(node, source), execution_(&execution) {}

  [[nodiscard]] const Tensor& in(std::size_t k) const;
  /// The operand as a table, rows by columns.
  [[nodiscard]] const Tensor& table(std::size_t k) const;
  /// What sign of the score the probabilities in an operand speak for; none: it holds none.
  [[nodiscard]] std::optional<double> probability(std::size_t k) const;

  void put(Tensor made) { execution_->keep(output_name(), std::move(made)); }
  void put_as(std::size_t output, Tensor made);
  /// Not copied: it may be large.
  void put_known(const Tensor& made) { execution_->known[output_name()] = &made; }
  /// That an output holds probabilities: of the event (1), or of the other label (−1).
  void mark(double sign, std::size_t output = 0);
  /// That it holds what the first operand does.
  void mark_as_input();
  /// The first one counts.
  void take_score(double score);

 private:
  Execution* execution_;
};

}  // namespace ellice::onnx

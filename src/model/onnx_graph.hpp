#pragma once

// What this program reads of an ONNX file: nodes, constants, inputs and outputs.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice::onnx {

/// Element types that may occur; numbers of half precision and others of few bits may not.
enum ElementType : std::int64_t {
  float_type = 1,
  int32_type = 6,
  int64_type = 7,
  string_type = 8,
  bool_type = 9,
  double_type = 11
};

[[nodiscard]] constexpr bool is_whole_type(std::int64_t type) {
  return type == int32_type || type == int64_type;
}

/// A constant; numbers of every type as doubles, which hold them exactly (whole ones up to 2⁵³).
struct Tensor {
  std::string name = {};
  std::vector<std::int64_t> dims = {};
  std::int64_t type = 0;
  std::vector<double> numbers = {};
  std::vector<std::string> texts = {};
};

struct Attribute {
  std::string name = {};
  std::string fields = {};  // f, i, s, t one of each; F, I, S lists; ? others
  double f = 0;
  std::int64_t i = 0;
  std::string s = {};
  std::vector<double> floats = {};
  std::vector<std::int64_t> ints = {};
  std::vector<std::string> strings = {};
  std::vector<Tensor> tensors = {};  // one, or none
  bool has_graph = false;
};

struct Node {
  std::string name = {};
  std::string op = {};
  std::string domain = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<Attribute> attributes = {};

  [[nodiscard]] const Attribute* find(std::string_view name) const;
  /// «Gemm node "dense"», or with its first output where it has no name.
  [[nodiscard]] std::string text() const;
};

struct Input {
  std::string name = {};
  std::int64_t type = 0;
  std::vector<std::int64_t> dims = {};  // −1: unknown
};

struct Graph {
  std::vector<Node> nodes = {};
  std::map<std::string, Tensor> constants = {};
  std::vector<Input> inputs = {};  // without constants
  std::vector<std::string> outputs = {};
};

/// Each node after what it reads, as written where that leaves a choice. Throws Error{input} naming
/// what nothing makes, what is made twice, and cycles.
void put_in_order(Graph& graph, const std::string& source);

}  // namespace ellice::onnx

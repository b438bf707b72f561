#pragma once

#include <string_view>
#include <vector>

#include "model/onnx_execution.hpp"
#include "model/onnx_folding.hpp"

namespace ellice::onnx {

/// An attribute that is read, and the field that it must have (Attribute::fields).
struct KnownAttribute {
  std::string_view name;
  char field;
};

/// An operator that is recognised: what it does to rows that are affine in the columns, and, by
/// code that shares nothing with it, to numbers.
struct Operator {
  void (*fold)(FoldedNode&);
  void (*execute)(ExecutedNode&);
  std::vector<KnownAttribute> attributes;
};

/// nullptr: it is none of those that can be imported.
[[nodiscard]] const Operator* find_operator(std::string_view name);

/// The operator of a node. Refuses others, attributes that are not read, and such that hold
/// something else than they should.
[[nodiscard]] const Operator& operator_of(const Operation& node);

}  // namespace ellice::onnx

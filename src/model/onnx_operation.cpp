#include "model/onnx_operation.hpp"

#include "ellice/core/error.hpp"

namespace ellice::onnx {

void Operation::refuse_for(const std::string& why) const {
  fail(ErrorCode::input, "{}: {}: {}", *source_, node_->text(), why);
}

bool Operation::has_input(std::size_t k) const {
  return k < node_->inputs.size() && !node_->inputs[k].empty();
}

const std::string& Operation::input_name(std::size_t k) const {
  if (k >= node_->inputs.size()) refuse("input {} is missing", k);
  return node_->inputs[k];
}

const std::string& Operation::output_name() const {
  if (node_->outputs.empty()) refuse("it has no output");
  return node_->outputs.front();
}

const Attribute* Operation::find(std::string_view attribute) const {
  return node_->find(attribute);
}

std::int64_t Operation::whole(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* found = find(attribute);
  return found == nullptr ? otherwise : found->i;
}

double Operation::real(std::string_view attribute, double otherwise) const {
  const Attribute* found = find(attribute);
  return found == nullptr ? otherwise : found->f;
}

std::string Operation::word(std::string_view attribute, std::string otherwise) const {
  const Attribute* found = find(attribute);
  return found == nullptr ? otherwise : found->s;
}

std::size_t Operation::axis_of(std::int64_t given, std::size_t rank) const {
  const auto axes = static_cast<std::int64_t>(rank);
  if (given < -axes || given >= axes) refuse("the axis {} of {} axes", given, axes);
  return static_cast<std::size_t>(given < 0 ? given + axes : given);
}

}  // namespace ellice::onnx

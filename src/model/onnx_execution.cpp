#include "model/onnx_execution.hpp"

#include "ellice/core/error.hpp"

namespace ellice::onnx {

std::int64_t count_of(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t size : dims) count *= size;
  return count;
}

void Execution::keep(const std::string& name, Tensor tensor) {
  Tensor& place = made[name];
  place = std::move(tensor);
  known[name] = &place;
}

const Tensor& ExecutedNode::in(std::size_t k) const {
  const auto found = execution_->known.find(input_name(k));
  if (found == execution_->known.end()) refuse("nothing makes \"{}\"", input_name(k));
  return *found->second;
}

const Tensor& ExecutedNode::table(std::size_t k) const {
  const Tensor& found = in(k);
  if (found.dims.size() != 2) refuse("of what is no matrix");
  return found;
}

std::optional<double> ExecutedNode::probability(std::size_t k) const {
  const auto found = execution_->probabilities.find(input_name(k));
  if (found == execution_->probabilities.end()) return std::nullopt;
  return found->second;
}

void ExecutedNode::put_as(std::size_t output, Tensor made) {
  const std::vector<std::string>& outputs = node().outputs;
  if (output < outputs.size()) execution_->keep(outputs[output], std::move(made));
}

void ExecutedNode::mark(double sign, std::size_t output) {
  const std::vector<std::string>& outputs = node().outputs;
  if (output < outputs.size()) execution_->probabilities[outputs[output]] = sign;
}

void ExecutedNode::mark_as_input() {
  if (const std::optional<double> sign = probability(0)) mark(*sign);
}

void ExecutedNode::take_score(double score) {
  if (!execution_->score) execution_->score = score;
}

}  // namespace ellice::onnx

#include <algorithm>

#include "model/onnx_execute_operators.hpp"

namespace ellice::onnx {

namespace {

void put_with(ExecutedNode& node, Dims dims) {
  Tensor made = node.in(0);
  if (count_of(dims) != count_of(made.dims))
    node.refuse("makes [{}] of [{}]", fmt::join(dims, ", "), fmt::join(made.dims, ", "));
  made.dims = std::move(dims);
  node.put(std::move(made));
  node.mark_as_input();
}

/// Those of Squeeze and Unsqueeze, by attribute or input.
Dims axes_of(const ExecutedNode& node) {
  if (const Attribute* given = node.find("axes")) return given->ints;
  if (!node.has_input(1)) return {};
  const std::vector<double>& numbers = node.in(1).numbers;
  return {numbers.begin(), numbers.end()};
}

}  // namespace

void execute_constant(ExecutedNode& node) {
  node.put_known(node.find("value")->tensors.front());
}

void execute_same(ExecutedNode& node) {
  node.put(node.in(0));
  node.mark_as_input();
}

void execute_dropout(ExecutedNode& node) {
  if (node.has_input(2) && node.in(2).numbers != std::vector{0.0}) node.refuse("trains");
  execute_same(node);
}

void execute_flatten(ExecutedNode& node) {
  const Dims& from = node.in(0).dims;
  const std::int64_t given = node.whole("axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size());
  const std::int64_t before = given < 0 ? given + rank : given;
  if (before < 0 || before > rank) node.refuse("the axis is out of range");
  const std::int64_t rows = count_of({from.begin(), from.begin() + before});
  put_with(node, {rows, count_of({from.begin() + before, from.end()})});
}

void execute_reshape(ExecutedNode& node) {
  const Dims& from = node.in(0).dims;
  Dims to;
  std::int64_t rest = count_of(from);
  for (const double size : node.in(1).numbers) {
    const bool is_copied = size == 0 && node.whole("allowzero", 0) == 0 && to.size() < from.size();
    to.push_back(is_copied ? from[to.size()] : static_cast<std::int64_t>(size));
    if (to.back() > 0) rest /= to.back();
  }
  for (std::int64_t& size : to) {
    if (size == -1) size = rest;
  }
  // A model of one row at a time; both here have one each.
  if (!to.empty() && to.front() == 1 && batch * count_of(to) == count_of(from)) to.front() = batch;
  put_with(node, std::move(to));
}

void execute_squeeze(ExecutedNode& node) {
  const Dims& from = node.in(0).dims;
  const Dims given = axes_of(node);
  std::vector<bool> is_dropped(from.size());
  for (const std::int64_t axis : given) is_dropped[node.axis_of(axis, from.size())] = true;
  Dims to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_dropped[i] && !(given.empty() && from[i] == 1)) to.push_back(from[i]);
  }
  put_with(node, std::move(to));
}

void execute_unsqueeze(ExecutedNode& node) {
  Dims to = node.in(0).dims;
  const Dims given = axes_of(node);
  std::vector<std::size_t> added;
  for (const std::int64_t axis : given)
    added.push_back(node.axis_of(axis, to.size() + given.size()));
  std::sort(added.begin(), added.end());
  for (const std::size_t place : added)
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(std::min(place, to.size())), 1);
  put_with(node, std::move(to));
}

}  // namespace ellice::onnx

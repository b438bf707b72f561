#include <algorithm>
#include <optional>
#include <set>

#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

/// The shape that is changed: that of a row's value, not of a constant.
const Shape& shape_before(const FoldedNode& node) {
  if (node.constant(0) != nullptr) node.refuse("of a constant");
  return node.shape(0);
}

void put_reshaped(FoldedNode& node, Shape made) {
  node.put({node.value(0).is, std::move(made)});
}

/// The axes of Squeeze and Unsqueeze, by attribute or input; none where they are not given.
std::optional<std::vector<std::int64_t>> given_axes(const FoldedNode& node) {
  if (const Attribute* given = node.find("axes")) return given->ints;
  if (!node.has_input(1)) return std::nullopt;
  const Tensor* given = node.constant(1);
  if (given == nullptr || !is_whole_type(given->type)) node.refuse("its axes are no constant");
  return std::vector<std::int64_t>(given->numbers.begin(), given->numbers.end());
}

/// The sizes that Reshape asks for, behind the axis of the rows; none where they mix rows, or are
/// not those of as many numbers.
std::optional<Shape> asked_shape(const std::vector<double>& sizes, const Shape& from,
                                 bool zero_is_zero) {
  const bool has_zero = std::find(sizes.begin(), sizes.end(), 0.0) != sizes.end();
  if (sizes.empty() || (has_zero && zero_is_zero)) return std::nullopt;
  // The rows' own axis: as many as there are (0), as many as come out (−1), or a single one.
  const bool is_copied = sizes[0] == 0;
  if (!is_copied && sizes[0] != -1 && sizes[0] != 1) return std::nullopt;
  Shape made;
  std::optional<std::size_t> open;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && is_copied && !open) {
      open = i - 1;
      made.push_back(1);
      continue;
    }
    if (sizes[i] < 0 || (sizes[i] == 0 && i > from.size())) return std::nullopt;
    made.push_back(sizes[i] == 0 ? from[i - 1] : static_cast<Index>(sizes[i]));
  }
  if (open && size_of(made) > 0) made[*open] = size_of(from) / size_of(made);
  if (size_of(made) != size_of(from)) return std::nullopt;
  return made;
}

}  // namespace

void fold_flatten(FoldedNode& node) {
  const Shape& from = shape_before(node);
  const std::int64_t axis = node.whole("axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size()) + 1;
  if (axis != 1 && axis != 1 - rank)
    node.refuse("axis: found {}, expected 1, which keeps the rows", axis);
  put_reshaped(node, {size_of(from)});
}

void fold_reshape(FoldedNode& node) {
  const Shape& from = shape_before(node);
  const Tensor* to = node.constant(1);
  if (to == nullptr || !is_whole_type(to->type) || to->dims.size() != 1)
    node.refuse("its shape is no constant list of whole numbers");
  std::optional<Shape> made = asked_shape(to->numbers, from, node.whole("allowzero", 0) != 0);
  if (!made) {
    node.refuse(
        "the shape [{}] of {} numbers for each row, expected one that keeps rows "
        "apart, such as [-1, {}]",
        fmt::join(to->numbers, ", "), size_of(from), size_of(from));
  }
  put_reshaped(node, std::move(*made));
}

void fold_squeeze(FoldedNode& node) {
  const Shape& from = shape_before(node);
  const auto given = given_axes(node);
  if (!given) {
    if (size_of(from) != 1) node.refuse("no axes, which one to drop");
    return put_reshaped(node, {});
  }
  std::set<std::size_t> dropped;
  for (const std::int64_t axis : *given) dropped.insert(node.axis_of(axis, from.size() + 1));
  Shape made;
  for (std::size_t i = 0; i <= from.size(); ++i) {
    if (!dropped.contains(i)) {
      if (i > 0) made.push_back(from[i - 1]);
    } else if (i == 0 || from[i - 1] != 1) {
      node.refuse("drops the axis {}, which has more than one entry", i);
    }
  }
  put_reshaped(node, std::move(made));
}

void fold_unsqueeze(FoldedNode& node) {
  const Shape& from = shape_before(node);
  const auto given = given_axes(node);
  if (!given) node.refuse("no axes");
  const std::size_t rank = from.size() + 1 + given->size();
  std::set<std::size_t> added;
  for (const std::int64_t axis : *given) added.insert(node.axis_of(axis, rank));
  if (added.contains(0) || added.size() != given->size())
    node.refuse("puts an axis before that of the rows");
  Shape made;
  auto next = from.begin();
  for (std::size_t i = 1; i < rank; ++i) made.push_back(added.contains(i) ? 1 : *next++);
  put_reshaped(node, std::move(made));
}

}  // namespace ellice::onnx

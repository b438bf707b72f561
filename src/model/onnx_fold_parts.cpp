#include <algorithm>
#include <optional>

#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

/// FeatureVectorizer cuts, or fills up, to the sizes that it names.
void check_sizes(const FoldedNode& node) {
  const Attribute* sizes = node.find("inputdimensions");
  if (sizes == nullptr) return;
  for (std::size_t k = 0; k < node.inputs(); ++k) {
    if (k >= sizes->ints.size() || sizes->ints[k] != size_of(node.shape(k)))
      node.refuse("inputdimensions: found [{}], expected {} at place {}",
                  fmt::join(sizes->ints, ", "), size_of(node.shape(k)), k);
  }
}

/// That of the parts, one column after the other.
Shape joined_shape(const FoldedNode& node) {
  Shape made = node.shape(0);
  if (node.op() == "Concat") {
    node.require_last_axis(node.whole("axis", 1), made);
  } else {
    node.require_table(0);
    check_sizes(node);
  }
  made.back() = 0;
  for (std::size_t k = 0; k < node.inputs(); ++k) {
    const Shape& part = node.shape(k);
    if (node.op() != "Concat") node.require_table(k);
    if (part.size() != made.size() || size_of(part) != part.back())
      node.refuse("of values that have not the same axes");
    made.back() += part.back();
  }
  return made;
}

Texts joined_texts(const FoldedNode& node) {
  Texts all;
  for (std::size_t k = 0; k < node.inputs(); ++k) {
    const Texts* part = node.texts(k);
    if (part == nullptr) node.refuse("of texts and numbers");
    all.features.insert(all.features.end(), part->features.begin(), part->features.end());
  }
  return all;
}

std::vector<std::size_t> chosen_places(const Operation& node, const Tensor& indices, Index size) {
  std::vector<std::size_t> places;
  if (!is_whole_type(indices.type)) node.refuse("its indices are no whole numbers");
  for (const double index : indices.numbers) {
    if (!(index >= 0 && index < static_cast<double>(size)))
      node.refuse("the index {} of {} numbers", index, size);
    places.push_back(static_cast<std::size_t>(index));
  }
  return places;
}

/// Starts, ends, axes or steps of Slice, by input or, before version 10, by attribute; none where
/// they are not given.
std::optional<std::vector<std::int64_t>> slice_part(const FoldedNode& node, std::size_t input,
                                                    std::string_view attribute) {
  if (const Attribute* given = node.find(attribute)) return given->ints;
  if (!node.has_input(input)) return std::nullopt;
  const Tensor* given = node.constant(input);
  if (given == nullptr || !is_whole_type(given->type))
    node.refuse("its {} are no constant whole numbers", attribute);
  return std::vector<std::int64_t>(given->numbers.begin(), given->numbers.end());
}

/// What Slice takes of `size` columns: those from `start` up to `end`, where one is counted from
/// the end if it is negative, and cut to those that there are.
std::vector<std::size_t> sliced_places(const FoldedNode& node, Index size) {
  const auto starts = slice_part(node, 1, "starts");
  const auto ends = slice_part(node, 2, "ends");
  const auto axes = slice_part(node, 3, "axes");
  const auto steps = slice_part(node, 4, "steps");
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || !axes || axes->size() != 1)
    node.refuse("expected one start, end and axis, that of the columns");
  if (steps && *steps != std::vector<std::int64_t>{1})
    node.refuse("steps: found [{}], expected 1", fmt::join(*steps, ", "));
  node.require_last_axis(axes->front(), node.shape(0));
  const auto place = [&](std::int64_t given) {
    const auto last = static_cast<std::int64_t>(size);
    return std::clamp(given < 0 ? std::max<std::int64_t>(given, -last) + last : given,
                      std::int64_t{0}, last);
  };
  std::vector<std::size_t> places;
  for (std::int64_t k = place(starts->front()); k < place(ends->front()); ++k)
    places.push_back(static_cast<std::size_t>(k));
  if (places.empty()) node.refuse("it takes no column");
  return places;
}

/// Some columns of the first operand.
void put_chosen(FoldedNode& node, const std::vector<std::size_t>& places, const Shape& made) {
  if (const Final* given = node.final(0)) return fold_choice(node, *given, places, made);
  if (const Texts* given = node.texts(0)) {
    Texts some;
    for (const std::size_t k : places) some.features.push_back(given->features[k]);
    return node.put({some, made});
  }
  node.put(chosen(node.affine(0), places), made);
}

/// The axes of the indices come in place of that of the columns.
Shape chosen_shape(const FoldedNode& node, const Tensor& indices) {
  const Shape& from = node.shape(0);
  Shape made(from.begin(), from.end() - 1);
  if (node.op() == "Gather") {
    made.insert(made.end(), indices.dims.begin(), indices.dims.end());
  } else {
    made.push_back(static_cast<Index>(indices.numbers.size()));
  }
  return made;
}

}  // namespace

void fold_concat(FoldedNode& node) {
  if (node.final(0) != nullptr) return fold_pair(node);
  const Shape made = joined_shape(node);
  if (node.texts(0) != nullptr) return node.put({joined_texts(node), made});
  std::vector<Affine> parts;
  for (std::size_t k = 0; k < node.inputs(); ++k) parts.push_back(node.affine(k));
  node.put(node.joined(parts), made);
}

void fold_gather(FoldedNode& node) {
  if (node.constant(0) != nullptr && node.final(1) != nullptr) return fold_names(node);
  const Tensor* indices = node.constant(1);
  if (indices == nullptr) node.refuse("its indices are no constant");
  if (node.op() == "Gather") {
    node.require_last_axis(node.whole("axis", 0), node.shape(0));
  } else {
    node.require_table(0);
  }
  const std::vector<std::size_t> places = chosen_places(node, *indices, node.shape(0).back());
  put_chosen(node, places, chosen_shape(node, *indices));
}

void fold_slice(FoldedNode& node) {
  if (node.constant(0) != nullptr) node.refuse("of a constant");
  if (node.shape(0).empty()) node.refuse("of rows of one number");
  const std::vector<std::size_t> places = sliced_places(node, node.shape(0).back());
  Shape made = node.shape(0);
  made.back() = static_cast<Index>(places.size());
  put_chosen(node, places, made);
}

}  // namespace ellice::onnx

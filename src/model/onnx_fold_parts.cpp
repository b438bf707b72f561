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
  const Shape made = chosen_shape(node, *indices);
  if (const Final* given = node.final(0)) return fold_choice(node, *given, places, made);
  if (const Texts* given = node.texts(0)) {
    Texts some;
    for (const std::size_t k : places) some.features.push_back(given->features[k]);
    return node.put({some, made});
  }
  node.put(chosen(node.affine(0), places), made);
}

}  // namespace ellice::onnx

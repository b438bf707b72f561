#include <algorithm>

#include "model/onnx_execute_operators.hpp"

namespace ellice::onnx {

namespace {

/// The place of an entry in a list; past the end where it is not there.
template <class List, class Entry>
std::size_t place_in(const List& list, const Entry& wanted) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), wanted) - list.begin());
}

/// The place of an entry among the keys; past the end where it is none of them.
std::size_t key_of(const Operation& node, const Tensor& from, std::size_t k) {
  const Attribute* classes = node.find("classes_strings");
  if (from.type == string_type) {
    const Attribute* keys = classes != nullptr ? classes : node.find("keys_strings");
    if (keys == nullptr) node.refuse("has no keys for texts");
    return place_in(keys->strings, from.texts[k]);
  }
  if (classes != nullptr) return static_cast<std::size_t>(from.numbers[k]);
  if (const Attribute* keys = node.find("keys_int64s"))
    return place_in(keys->ints, static_cast<std::int64_t>(from.numbers[k]));
  if (const Attribute* keys = node.find("keys_floats"))
    return place_in(keys->floats, from.numbers[k]);
  node.refuse("has no keys for numbers");
}

}  // namespace

void execute_one_hot(ExecutedNode& node) {
  const Tensor& from = node.in(0);
  Tensor made{.dims = from.dims, .type = float_type};
  const Attribute* texts = node.find("cats_strings");
  const Attribute* codes = node.find("cats_int64s");
  const bool are_texts = from.type == string_type;
  const std::size_t count = are_texts ? (texts == nullptr ? 0 : texts->strings.size())
                                      : (codes == nullptr ? 0 : codes->ints.size());
  made.dims.push_back(static_cast<std::int64_t>(count));
  for (std::size_t k = 0; k < (are_texts ? from.texts.size() : from.numbers.size()); ++k) {
    for (std::size_t c = 0; c < count; ++c) {
      const bool is_there = are_texts ? from.texts[k] == texts->strings[c]
                                      : from.numbers[k] == static_cast<double>(codes->ints[c]);
      made.numbers.push_back(is_there ? 1 : 0);
    }
  }
  node.put(std::move(made));
}

void execute_label_encoder(ExecutedNode& node) {
  const Tensor& from = node.in(0);
  const Attribute* floats = node.find("values_floats");
  const Attribute* ints = node.find("values_int64s");
  const Attribute* strings = node.find("values_strings");
  if (strings == nullptr && from.type != string_type) strings = node.find("classes_strings");
  Tensor made{.dims = from.dims,
              .type = strings != nullptr  ? string_type
                      : floats != nullptr ? float_type
                                          : int64_type};
  const auto count = static_cast<std::size_t>(count_of(from.dims));
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t key = key_of(node, from, k);
    const std::size_t values = strings != nullptr  ? strings->strings.size()
                               : floats != nullptr ? floats->floats.size()
                               : ints != nullptr   ? ints->ints.size()
                                                   : key + 1;
    if (key >= values) node.refuse("has no value for a level");
    if (strings != nullptr) {
      made.texts.push_back(strings->strings[key]);
    } else {
      made.numbers.push_back(floats != nullptr ? floats->floats[key]
                             : ints != nullptr ? static_cast<double>(ints->ints[key])
                                               : static_cast<double>(key));
    }
  }
  node.put(std::move(made));
}

}  // namespace ellice::onnx

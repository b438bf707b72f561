#include <algorithm>

#include "core/number_text.hpp"
#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

void check_labels(const Operation& node, const std::vector<std::string>& labels) {
  if (labels.size() != 2) node.refuse("{} labels, expected two", labels.size());
  if (labels[0] == labels[1]) node.refuse("both labels are \"{}\"", labels[0]);
}

void put_labels(FoldedNode& node, const std::vector<std::string>& labels, const Shape& shape) {
  check_labels(node, labels);
  node.put({Final{Final::Kind::label, labels}, shape});
}

/// What stands for the other class, and for the event.
std::vector<std::string> names_of(const Operation& node, const Final& made) {
  if (made.kind == Final::Kind::index) return {"0", "1"};
  if (made.kind != Final::Kind::label || made.labels.empty())
    node.refuse("of what is made of the score only labels and their indices are understood");
  return made.labels;
}

/// The keys or values of a LabelEncoder, as texts.
std::vector<std::string> listed(const Operation& node, const std::string& what) {
  std::vector<std::string> result;
  std::size_t lists = 0;
  if (const Attribute* given = node.find(what + "_strings")) {
    result = given->strings;
    ++lists;
  }
  if (const Attribute* given = node.find(what + "_int64s")) {
    for (const std::int64_t label : given->ints) result.push_back(std::to_string(label));
    ++lists;
  }
  if (const Attribute* given = node.find(what + "_floats")) {
    for (const double label : given->floats) result.push_back(fmt::format("{}", label));
    ++lists;
  }
  if (lists > 1) node.refuse("{} of several kinds", what);
  return result;
}

}  // namespace

std::vector<std::string> labels_of(const Operation& node, std::string_view whole_numbers,
                                   std::string_view texts) {
  std::vector<std::string> labels;
  if (const Attribute* numbers = node.find(whole_numbers)) {
    for (const std::int64_t label : numbers->ints) labels.push_back(std::to_string(label));
  }
  if (const Attribute* given = node.find(texts); given != nullptr && !given->strings.empty()) {
    if (!labels.empty()) node.refuse("its labels are numbers and texts, expected one of them");
    labels = given->strings;
  }
  if (!labels.empty()) check_labels(node, labels);
  return labels;
}

void fold_renaming(FoldedNode& node) {
  const std::vector<std::string> before = names_of(node, *node.final(0));
  std::vector<std::string> keys = listed(node, "keys");
  std::vector<std::string> values = listed(node, "values");
  if (const Attribute* classes = node.find("classes_strings")) {
    if (!keys.empty() || !values.empty()) node.refuse("classes beside keys");
    values = classes->strings;
    for (std::size_t k = 0; k < values.size(); ++k) keys.push_back(std::to_string(k));
    if (before != keys) std::swap(keys, values);  // texts to their places
  }
  if (keys.size() != values.size())
    node.refuse("{} keys but {} values", keys.size(), values.size());
  check_different(node, keys);
  std::vector<std::string> after;
  for (const std::string& label : before) {
    const auto found = std::find(keys.begin(), keys.end(), label);
    if (found == keys.end()) node.refuse("no value for \"{}\"", label);
    after.push_back(values[static_cast<std::size_t>(found - keys.begin())]);
  }
  put_labels(node, after, node.shape(0));
}

void fold_names(FoldedNode& node) {
  const Tensor& labels = *node.constant(0);
  if (node.op() == "Gather" && node.axis_of(node.whole("axis", 0), labels.dims.size()) != 0)
    node.refuse("along the axis {} of labels, expected 0", node.whole("axis", 0));
  if (names_of(node, *node.final(1)) != std::vector<std::string>{"0", "1"})
    node.refuse("its indices are no 0 and 1");
  std::vector<std::string> names = labels.texts;
  for (const double label : labels.numbers) names.push_back(number_text(label));
  put_labels(node, names, node.shape(1));
}

}  // namespace ellice::onnx

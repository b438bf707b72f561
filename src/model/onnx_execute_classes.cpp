#include <algorithm>
#include <cmath>

#include "model/onnx_execute_operators.hpp"

namespace ellice::onnx {

namespace {

/// The entries of a table as groups, those of which one is larger than the others: its rows, or its
/// columns.
class Groups {
 public:
  Groups(const Tensor& table, std::size_t along)
      : along_(along),
        columns_(static_cast<std::size_t>(table.dims[1])),
        groups_(static_cast<std::size_t>(table.dims[1 - along])),
        entries_(static_cast<std::size_t>(table.dims[along])) {}

  [[nodiscard]] std::size_t count() const { return groups_; }
  [[nodiscard]] std::size_t entries() const { return entries_; }
  [[nodiscard]] std::size_t at(std::size_t group, std::size_t entry) const {
    return along_ == 1 ? group * columns_ + entry : entry * columns_ + group;
  }
  [[nodiscard]] std::size_t largest(const Tensor& table, std::size_t group) const {
    std::size_t found = 0;
    for (std::size_t e = 1; e < entries_; ++e) {
      if (table.numbers[at(group, e)] > table.numbers[at(group, found)]) found = e;
    }
    return found;
  }

 private:
  std::size_t along_;
  std::size_t columns_;
  std::size_t groups_;
  std::size_t entries_;
};

/// One score, or one for each class, of a row.
std::vector<double> sums_of(const Operation& node, const double* values, std::size_t n) {
  const std::vector<double>& w = node.find("coefficients")->floats;
  const Attribute* intercepts = node.find("intercepts");
  std::vector<double> sums;
  for (std::size_t k = 0; k < w.size() / n; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += w[k * n + i] * values[i];
    if (intercepts != nullptr && !intercepts->floats.empty()) sum += intercepts->floats[k];
    sums.push_back(sum);
  }
  return sums;
}

void append_label(const Operation& node, bool is_event, Tensor& labels) {
  const Attribute* texts = node.find("classlabels_strings");
  const Attribute* ints = node.find("classlabels_ints");
  if (texts != nullptr && !texts->strings.empty()) {
    labels.type = string_type;
    labels.texts.push_back(texts->strings.at(is_event ? 1 : 0));
    return;
  }
  labels.type = int64_type;
  const bool has_labels = ints != nullptr && ints->ints.size() == 2;
  labels.numbers.push_back(has_labels ? static_cast<double>(ints->ints[is_event ? 1 : 0])
                                      : (is_event ? 1 : 0));
}

/// Two numbers for a row, of which the score is made before.
void append_outputs(const Operation& node, const std::vector<double>& sums, double score,
                    Tensor& outputs) {
  const std::string after = node.word("post_transform", "NONE");
  const bool is_pair = sums.size() == 2;
  double event = score;
  double other = is_pair ? sums[0] : 1 - score;
  if (after == "LOGISTIC" || (after == "SOFTMAX" && is_pair)) {
    event = 1 / (1 + std::exp(-score));
    other = 1 - event;
  } else if (after != "NONE") {
    node.refuse("post_transform {} is not executed", after);
  }
  outputs.numbers.push_back(other);
  outputs.numbers.push_back(event);
}

}  // namespace

void execute_classifier(ExecutedNode& node) {
  const Tensor& x = node.table(0);
  const auto n = static_cast<std::size_t>(x.dims[1]);
  const bool is_softmax = node.word("post_transform", "NONE") == "SOFTMAX";
  Tensor labels{.dims = {x.dims[0]}};
  Tensor outputs{.dims = {x.dims[0], 2}, .type = float_type};
  for (std::size_t row = 0; row < static_cast<std::size_t>(x.dims[0]); ++row) {
    const std::vector<double> sums = sums_of(node, x.numbers.data() + row * n, n);
    const bool is_pair = sums.size() == 2;
    const double score = is_softmax && is_pair ? sums[1] - sums[0] : sums.back();
    if (row == 0) node.take_score(score);
    append_label(node, is_pair ? sums[1] > sums[0] : score > 0, labels);
    append_outputs(node, sums, score, outputs);
  }
  node.put(std::move(labels));
  node.put_as(1, std::move(outputs));
  if (node.word("post_transform", "NONE") != "NONE") node.mark(1, 1);
}

void execute_softmax(ExecutedNode& node) {
  Tensor made = node.table(0);
  if (made.dims[1] == 2) node.take_score(made.numbers[1] - made.numbers[0]);
  const Groups groups(made, node.axis_of(node.whole("axis", -1), 2));
  for (std::size_t g = 0; g < groups.count(); ++g) {
    const double largest = made.numbers[groups.at(g, groups.largest(made, g))];
    double sum = 0;
    for (std::size_t e = 0; e < groups.entries(); ++e) {
      double& entry = made.numbers[groups.at(g, e)];
      sum += entry = std::exp(entry - largest);
    }
    for (std::size_t e = 0; e < groups.entries(); ++e) made.numbers[groups.at(g, e)] /= sum;
  }
  node.put(std::move(made));
  node.mark(1);
}

void execute_arg_max(ExecutedNode& node) {
  const Tensor& from = node.table(0);
  const std::size_t along = node.axis_of(node.whole("axis", 0), 2);
  if (!node.probability(0) && from.dims[1] == 2) node.take_score(from.numbers[1] - from.numbers[0]);
  const Groups groups(from, along);
  Tensor made{.dims = {static_cast<std::int64_t>(groups.count())}, .type = int64_type};
  for (std::size_t g = 0; g < groups.count(); ++g)
    made.numbers.push_back(static_cast<double>(groups.largest(from, g)));
  if (node.whole("keepdims", 1) != 0)
    made.dims.insert(made.dims.begin() + static_cast<std::ptrdiff_t>(along), 1);
  node.put(std::move(made));
}

void execute_normalizer(ExecutedNode& node) {
  if (node.word("norm", "MAX") != "L1") node.refuse("is not executed");
  Tensor made = node.table(0);
  const auto columns = static_cast<std::size_t>(made.dims[1]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(made.dims[0]); ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += std::abs(made.numbers[row * columns + k]);
    for (std::size_t k = 0; k < columns; ++k) made.numbers[row * columns + k] /= sum;
  }
  node.put(std::move(made));
  node.mark_as_input();
}

/// The larger probability's label, which is what people read from a map.
void execute_zip_map(ExecutedNode& node) {
  const Tensor& from = node.in(0);
  const Attribute* texts = node.find("classlabels_strings");
  const Attribute* ints = node.find("classlabels_int64s");
  Tensor made{.dims = {from.dims.front()}, .type = texts != nullptr ? string_type : int64_type};
  for (std::size_t row = 0; row < static_cast<std::size_t>(from.dims.front()); ++row) {
    const std::size_t k = from.numbers[2 * row + 1] > from.numbers[2 * row] ? 1 : 0;
    if (texts != nullptr) made.texts.push_back(texts->strings.at(k));
    if (texts == nullptr) made.numbers.push_back(static_cast<double>(ints->ints.at(k)));
  }
  node.put(std::move(made));
}

}  // namespace ellice::onnx

#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

/// Two numbers, one for each label, as the score or made of it.
void require_pair(FoldedNode& node) {
  if (const Final* made = node.final(0)) {
    if (!made->is_pair())
      node.refuse(
          "of what is made of the score only two numbers, one for each label, are understood");
    return;
  }
  node.require_table(0);
  const Affine both = node.based(node.affine(0));
  if (both.size() != 2) node.refuse("{} classes, expected two", both.size());
  node.take_score(both);
}

/// The scores of a LinearClassifier: one, or one for each class.
Affine scores_of(FoldedNode& node) {
  const Affine row = node.based(node.affine(0));
  const Attribute* given = node.find("coefficients");
  const Index n = row.size();
  const auto count = static_cast<Index>(given == nullptr ? 0 : given->floats.size());
  if (count != n && count != 2 * n)
    node.refuse("{} coefficients for {} numbers and two classes", count, n);
  const Index classes = n == 0 ? 0 : count / n;
  if (classes == 0) node.refuse("no coefficients");
  const Matrix weights = Eigen::Map<const RowMatrix>(given->floats.data(), classes, n);
  Affine made = multiplied(weights, row);
  const Attribute* intercepts = node.find("intercepts");
  if (intercepts == nullptr || intercepts->floats.empty()) return made;
  if (static_cast<Index>(intercepts->floats.size()) != classes)
    node.refuse("{} intercepts for {} rows of coefficients", intercepts->floats.size(), classes);
  made.bias += Eigen::Map<const Vector>(intercepts->floats.data(), classes);
  return made;
}

/// The second of two scores that are each other's opposites.
Affine only_score(const Operation& node, const Affine& both) {
  const bool is_mirrored =
      both.weights.row(0) == -both.weights.row(1) && both.bias(0) == -both.bias(1);
  if (!is_mirrored) node.refuse("its two rows of coefficients are not each other's opposites");
  return chosen(both, {1});
}

}  // namespace

/// Labels first, then two numbers for each row.
void fold_classifier(FoldedNode& node) {
  node.require_table(0);
  const Affine made = scores_of(node);
  const std::vector<std::string> labels =
      labels_of(node, "classlabels_ints", "classlabels_strings");
  if (!labels.empty()) node.name_classes(labels);
  const std::string after = node.word("post_transform", "NONE");
  const bool is_pair = made.size() == 2;
  if (after != "NONE" && after != "LOGISTIC" && !(after == "SOFTMAX" && is_pair)) {
    node.refuse("post_transform: found {}, expected NONE or LOGISTIC{}", after,
                is_pair ? " or SOFTMAX" : "");
  }
  node.take_score(is_pair && after != "SOFTMAX" ? only_score(node, made) : made);
  // Of one row of coefficients runtimes give 1 − s and s where nothing is transformed.
  const Final::Kind kind = after != "NONE" ? Final::Kind::both
                           : is_pair       ? Final::Kind::scores
                                           : Final::Kind::second;
  node.put({Final{Final::Kind::label, labels}, {}});
  node.put_as(1, {Final{kind}, {2}});
}

// Of two probabilities or scores too: the larger one stays the larger one, and has more than 1/2.
void fold_softmax(FoldedNode& node) {
  node.require_table(0);
  node.require_last_axis(node.whole("axis", -1), node.shape(0));
  require_pair(node);
  node.put({Final{Final::Kind::both}, {2}});
}

/// The place of the larger of two numbers.
void fold_arg_max(FoldedNode& node) {
  node.require_last_axis(node.whole("axis", 0), node.shape(0));
  require_pair(node);
  node.put({Final{Final::Kind::index}, node.whole("keepdims", 1) != 0 ? Shape{1} : Shape{}});
}

/// Divides by the sum, which is 1; the other norms would move the threshold of 1/2.
void fold_normalizer(FoldedNode& node) {
  const Final* made = node.final(0);
  if (made == nullptr || made->kind != Final::Kind::both)
    node.refuse("only of the probabilities of both labels is it understood");
  if (node.word("norm", "MAX") != "L1")
    node.refuse("norm: found {}, expected L1", node.word("norm", "MAX"));
  node.put(node.value(0));
}

void fold_zip_map(FoldedNode& node) {
  const Final* made = node.final(0);
  const std::vector<std::string> labels =
      labels_of(node, "classlabels_int64s", "classlabels_strings");
  if (made == nullptr || labels.empty() || !made->is_pair())
    node.refuse("only of the probabilities of both labels, with their names, is it understood");
  node.put({Final{Final::Kind::map, labels}, {}});
}

void fold_complement(FoldedNode& node) {
  const Final* made = node.final(1);
  const Tensor* one = node.final(0) == nullptr ? node.constant(0) : nullptr;
  const bool is_one = one != nullptr && one->numbers == std::vector{1.0};
  const bool is_single =
      made != nullptr && (made->kind == Final::Kind::event || made->kind == Final::Kind::other);
  if (node.op() != "Sub" || !is_one || !is_single)
    node.refuse("only 1 − p of one probability is understood after the score");
  (void)node.along(*one, node.shape(1));
  const bool is_event = made->kind == Final::Kind::event;
  node.put({Final{is_event ? Final::Kind::other : Final::Kind::event}, node.shape(1)});
}

void fold_pair(FoldedNode& node) {
  const bool are_two = node.op() == "Concat" && node.inputs() == 2;
  const Final* other = node.final(0);
  const Final* event = are_two ? node.final(1) : nullptr;
  if (event == nullptr || other->kind != Final::Kind::other || event->kind != Final::Kind::event)
    node.refuse("expected 1 − p and p, in this order");
  for (const std::size_t k : {0U, 1U}) node.require_last_axis(node.whole("axis", 1), node.shape(k));
  node.put({Final{Final::Kind::both}, {2}});
}

void fold_choice(FoldedNode& node, const Final& made, const std::vector<std::size_t>& chosen,
                 const Shape& shape) {
  const bool are_scores = made.kind == Final::Kind::scores || made.kind == Final::Kind::second;
  const bool is_single = chosen.size() == 1 && (made.kind == Final::Kind::both || are_scores);
  const bool is_event = is_single && chosen.front() == 1;
  if (!is_event && !(is_single && !are_scores))
    node.refuse("expected the second class, or one of two probabilities");
  node.put({Final{are_scores ? Final::Kind::score
                  : is_event ? Final::Kind::event
                             : Final::Kind::other},
            shape});
}

}  // namespace ellice::onnx

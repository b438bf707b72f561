#pragma once

// What each operator does to rows that are affine in the columns of the table. One that is given
// what it cannot follow refuses its node.

#include "model/onnx_folding.hpp"

namespace ellice::onnx {

// Numbers (onnx_fold_numbers.cpp).
void fold_arithmetic(FoldedNode& node);
void fold_product(FoldedNode& node);
void fold_scaler(FoldedNode& node);
void fold_activation(FoldedNode& node);

// What leaves the numbers as they are (onnx_fold_types.cpp).
void fold_constant(FoldedNode& node);
void fold_same(FoldedNode& node);
void fold_cast(FoldedNode& node);
void fold_imputer(FoldedNode& node);
void fold_dropout(FoldedNode& node);

// Shapes (onnx_fold_shapes.cpp) and columns that are joined and chosen (onnx_fold_parts.cpp).
void fold_flatten(FoldedNode& node);
void fold_reshape(FoldedNode& node);
void fold_squeeze(FoldedNode& node);
void fold_unsqueeze(FoldedNode& node);
void fold_concat(FoldedNode& node);
void fold_gather(FoldedNode& node);
void fold_slice(FoldedNode& node);

// Levels (onnx_fold_levels.cpp).
void fold_one_hot(FoldedNode& node);
void fold_label_encoder(FoldedNode& node);

// The score, and what is made of it (onnx_fold_classes.cpp).
void fold_classifier(FoldedNode& node);
void fold_softmax(FoldedNode& node);
void fold_normalizer(FoldedNode& node);
void fold_zip_map(FoldedNode& node);
void fold_arg_max(FoldedNode& node);
/// 1 − p, the other label's probability.
void fold_complement(FoldedNode& node);
/// 1 − p and p, side by side.
void fold_pair(FoldedNode& node);
/// One of two numbers, of which the second is the event's.
void fold_choice(FoldedNode& node, const Final& made, const std::vector<std::size_t>& chosen,
                 const Shape& shape);

// Labels of the two classes (onnx_fold_labels.cpp).
/// By other names.
void fold_renaming(FoldedNode& node);
/// By their index.
void fold_names(FoldedNode& node);
/// Two different ones, or none.
[[nodiscard]] std::vector<std::string> labels_of(const Operation& node,
                                                 std::string_view whole_numbers,
                                                 std::string_view texts);
/// Refuses keys or categories of which one stands twice.
void check_different(const Operation& node, std::vector<std::string> texts);

}  // namespace ellice::onnx

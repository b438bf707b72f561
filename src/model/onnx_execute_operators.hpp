#pragma once

// What each operator computes, with the shapes and types that the standard gives to it, in double
// precision. What is not executed refuses its node.

#include "model/onnx_execution.hpp"

namespace ellice::onnx {

// Numbers (onnx_execute_numbers.cpp).
void execute_arithmetic(ExecutedNode& node);
void execute_product(ExecutedNode& node);
void execute_activation(ExecutedNode& node);
void execute_scaler(ExecutedNode& node);
void execute_imputer(ExecutedNode& node);
void execute_cast(ExecutedNode& node);

// Shapes and choices (onnx_execute_shapes.cpp, onnx_execute_parts.cpp).
void execute_constant(ExecutedNode& node);
void execute_same(ExecutedNode& node);
void execute_dropout(ExecutedNode& node);
void execute_flatten(ExecutedNode& node);
void execute_reshape(ExecutedNode& node);
void execute_squeeze(ExecutedNode& node);
void execute_unsqueeze(ExecutedNode& node);
void execute_concat(ExecutedNode& node);
void execute_gather(ExecutedNode& node);
void execute_slice(ExecutedNode& node);

// Levels (onnx_execute_levels.cpp), and classes (onnx_execute_classes.cpp).
void execute_one_hot(ExecutedNode& node);
void execute_label_encoder(ExecutedNode& node);
void execute_classifier(ExecutedNode& node);
void execute_softmax(ExecutedNode& node);
void execute_arg_max(ExecutedNode& node);
void execute_normalizer(ExecutedNode& node);
void execute_zip_map(ExecutedNode& node);

}  // namespace ellice::onnx

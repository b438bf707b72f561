#pragma once

// Which attributes of which operator are read. An attribute that stands in a file and not here may
// change what the operator does, so that its node is refused: axis and broadcast of Add, Sub, Mul,
// Div and Gemm, consumed_inputs, is_test of Dropout and shape of Reshape (all of ONNX before
// version 7), the value_… and sparse_value of Constant, round_mode of Cast, the …_tensor of
// LabelEncoder, and whatever later versions add.

#include <array>
#include <string_view>

#include "model/onnx_file.hpp"

namespace ellice::onnx {

struct KnownAttribute {
  std::string_view op;
  std::string_view name;
  char field;  // see Attribute::fields
};

// What is done with each stands at its operator in onnx_fold.cpp; those of the second list change
// no value that a row can have: ratio and seed are Dropout's when it trains, defaults of
// LabelEncoder are for texts that are no levels, saturate is for eight-bit numbers, multi_class is
// read by no runtime, select_last_index decides between equal scores, which the margin excludes.
inline constexpr auto known_attributes = std::to_array<KnownAttribute>({
    {"Gemm", "alpha", 'f'},
    {"Gemm", "beta", 'f'},
    {"Gemm", "transA", 'i'},
    {"Gemm", "transB", 'i'},
    {"Softmax", "axis", 'i'},
    {"LinearClassifier", "classlabels_ints", 'I'},
    {"LinearClassifier", "classlabels_strings", 'S'},
    {"LinearClassifier", "coefficients", 'F'},
    {"LinearClassifier", "intercepts", 'F'},
    {"LinearClassifier", "post_transform", 's'},
    {"Scaler", "offset", 'F'},
    {"Scaler", "scale", 'F'},
    {"OneHotEncoder", "cats_int64s", 'I'},
    {"OneHotEncoder", "cats_strings", 'S'},
    {"OneHotEncoder", "zeros", 'i'},
    {"LabelEncoder", "classes_strings", 'S'},
    {"LabelEncoder", "keys_floats", 'F'},
    {"LabelEncoder", "keys_int64s", 'I'},
    {"LabelEncoder", "keys_strings", 'S'},
    {"LabelEncoder", "values_floats", 'F'},
    {"LabelEncoder", "values_int64s", 'I'},
    {"LabelEncoder", "values_strings", 'S'},
    {"Concat", "axis", 'i'},
    {"FeatureVectorizer", "inputdimensions", 'I'},
    {"Gather", "axis", 'i'},
    {"Constant", "value", 't'},
    {"Cast", "to", 'i'},
    {"Flatten", "axis", 'i'},
    {"Reshape", "allowzero", 'i'},
    {"Squeeze", "axes", 'I'},
    {"Unsqueeze", "axes", 'I'},
    {"Imputer", "imputed_value_floats", 'F'},
    {"Imputer", "imputed_value_int64s", 'I'},
    {"Imputer", "replaced_value_float", 'f'},
    {"Imputer", "replaced_value_int64", 'i'},
    {"Normalizer", "norm", 's'},
    {"ZipMap", "classlabels_int64s", 'I'},
    {"ZipMap", "classlabels_strings", 'S'},
    {"ArgMax", "axis", 'i'},
    {"ArgMax", "keepdims", 'i'},
    // Without effect.
    {"Dropout", "ratio", 'f'},
    {"Dropout", "seed", 'i'},
    {"LabelEncoder", "default_float", 'f'},
    {"LabelEncoder", "default_int64", 'i'},
    {"LabelEncoder", "default_string", 's'},
    {"Cast", "saturate", 'i'},
    {"LinearClassifier", "multi_class", 'i'},
    {"ArgMax", "select_last_index", 'i'},
});

/// The field that an attribute must have; '\0' where it is not read.
[[nodiscard]] constexpr char field_of(std::string_view op, std::string_view attribute) {
  for (const KnownAttribute& known : known_attributes) {
    if (known.op == op && known.name == attribute) return known.field;
  }
  return '\0';
}

}  // namespace ellice::onnx

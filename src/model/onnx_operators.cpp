#include "model/onnx_operators.hpp"

#include <algorithm>
#include <map>

#include "ellice/core/error.hpp"
#include "model/onnx_execute_operators.hpp"
#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

// An attribute that stands in a file and not here may change what the operator does, so that its
// node is refused: axis and broadcast of Add, Sub, Mul, Div and Gemm, consumed_inputs, is_test of
// Dropout and shape of Reshape (all of ONNX before version 7), the value_… and sparse_value of
// Constant, round_mode of Cast, the …_tensor of LabelEncoder, and whatever later versions add.
//
// Some change no value that a row can have: ratio and seed are Dropout's when it trains, defaults
// of LabelEncoder are for texts that are no levels, saturate is for eight-bit numbers, multi_class
// is read by no runtime, select_last_index decides between equal scores, which the margin excludes.
const std::map<std::string_view, Operator>& operators() {
  static const std::map<std::string_view, Operator> all = {
      {"Add", {fold_arithmetic, execute_arithmetic, {}}},
      {"ArgMax",
       {fold_arg_max,
        execute_arg_max,
        {{"axis", 'i'}, {"keepdims", 'i'}, {"select_last_index", 'i'}}}},
      {"ArrayFeatureExtractor", {fold_gather, execute_gather, {}}},
      {"Cast", {fold_cast, execute_cast, {{"saturate", 'i'}, {"to", 'i'}}}},
      {"Concat", {fold_concat, execute_concat, {{"axis", 'i'}}}},
      {"Constant", {fold_constant, execute_constant, {{"value", 't'}}}},
      {"Div", {fold_arithmetic, execute_arithmetic, {}}},
      {"Dropout", {fold_dropout, execute_dropout, {{"ratio", 'f'}, {"seed", 'i'}}}},
      {"FeatureVectorizer", {fold_concat, execute_concat, {{"inputdimensions", 'I'}}}},
      {"Flatten", {fold_flatten, execute_flatten, {{"axis", 'i'}}}},
      {"Gather", {fold_gather, execute_gather, {{"axis", 'i'}}}},
      {"Gemm",
       {fold_product,
        execute_product,
        {{"alpha", 'f'}, {"beta", 'f'}, {"transA", 'i'}, {"transB", 'i'}}}},
      {"Identity", {fold_same, execute_same, {}}},
      {"Imputer",
       {fold_imputer,
        execute_imputer,
        {{"imputed_value_floats", 'F'},
         {"imputed_value_int64s", 'I'},
         {"replaced_value_float", 'f'},
         {"replaced_value_int64", 'i'}}}},
      {"LabelEncoder",
       {fold_label_encoder,
        execute_label_encoder,
        {{"classes_strings", 'S'},
         {"default_float", 'f'},
         {"default_int64", 'i'},
         {"default_string", 's'},
         {"keys_floats", 'F'},
         {"keys_int64s", 'I'},
         {"keys_strings", 'S'},
         {"values_floats", 'F'},
         {"values_int64s", 'I'},
         {"values_strings", 'S'}}}},
      {"LinearClassifier",
       {fold_classifier,
        execute_classifier,
        {{"classlabels_ints", 'I'},
         {"classlabels_strings", 'S'},
         {"coefficients", 'F'},
         {"intercepts", 'F'},
         {"multi_class", 'i'},
         {"post_transform", 's'}}}},
      {"MatMul", {fold_product, execute_product, {}}},
      {"Mul", {fold_arithmetic, execute_arithmetic, {}}},
      {"Normalizer", {fold_normalizer, execute_normalizer, {{"norm", 's'}}}},
      {"OneHotEncoder",
       {fold_one_hot,
        execute_one_hot,
        {{"cats_int64s", 'I'}, {"cats_strings", 'S'}, {"zeros", 'i'}}}},
      {"Relu", {fold_activation, execute_activation, {}}},
      {"Reshape", {fold_reshape, execute_reshape, {{"allowzero", 'i'}}}},
      {"Scaler", {fold_scaler, execute_scaler, {{"offset", 'F'}, {"scale", 'F'}}}},
      {"Sigmoid", {fold_activation, execute_activation, {}}},
      {"Slice", {fold_slice, execute_slice, {{"axes", 'I'}, {"ends", 'I'}, {"starts", 'I'}}}},
      {"Softmax", {fold_softmax, execute_softmax, {{"axis", 'i'}}}},
      {"Squeeze", {fold_squeeze, execute_squeeze, {{"axes", 'I'}}}},
      {"Sub", {fold_arithmetic, execute_arithmetic, {}}},
      {"Tanh", {fold_activation, execute_activation, {}}},
      {"Unsqueeze", {fold_unsqueeze, execute_unsqueeze, {{"axes", 'I'}}}},
      {"ZipMap",
       {fold_zip_map,
        execute_zip_map,
        {{"classlabels_int64s", 'I'}, {"classlabels_strings", 'S'}}}},
  };
  return all;
}

void check_attribute(const Operation& node, const Operator& found, const Attribute& attribute) {
  const auto known =
      std::find_if(found.attributes.begin(), found.attributes.end(),
                   [&](const KnownAttribute& one) { return one.name == attribute.name; });
  if (known == found.attributes.end())
    node.refuse("its attribute \"{}\" is not one that can be imported", attribute.name);
  if (attribute.fields.find_first_not_of(known->field) != std::string::npos)
    node.refuse("its attribute \"{}\" holds a value of another kind", attribute.name);
}

}  // namespace

const Operator* find_operator(std::string_view name) {
  const auto found = operators().find(name);
  return found == operators().end() ? nullptr : &found->second;
}

const Operator& operator_of(const Operation& node) {
  const std::string& domain = node.node().domain;
  const bool is_standard = domain.empty() || domain == "ai.onnx" || domain == "ai.onnx.ml";
  const Operator* found = is_standard ? find_operator(node.op()) : nullptr;
  if (found == nullptr)
    node.refuse("operator {}{}{} is not one that can be imported", domain,
                domain.empty() ? "" : ".", node.op());
  for (const Attribute& attribute : node.node().attributes)
    check_attribute(node, *found, attribute);
  return *found;
}

}  // namespace ellice::onnx

#include <cmath>

#include "ellice/data/csv.hpp"
#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

[[noreturn]] void refuse_type(const Operation& node, std::int64_t to) {
  node.refuse("casts to the element type {}, which changes the value", to);
}

bool is_real_type(std::int64_t type) {
  return type == float_type || type == double_type;
}

/// Whether a text is digits alone, which every runtime reads as the same whole number.
bool spells_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  constexpr std::size_t most_digits = 15;  // doubles hold these exactly
  return !text.empty() && text.size() <= most_digits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Texts that spell numbers.
Affine numbers_of(const FoldedNode& node, const Texts& given, bool are_whole) {
  std::vector<Affine> parts;
  for (const std::size_t j : given.features) {
    for (const std::string& level : node.feature(j).levels) {
      double ignored = 0;
      if (are_whole ? !spells_whole_number(level) : !parse_number(level, ignored))
        node.refuse("the level \"{}\" of \"{}\" is no {}number", level, node.feature(j).name,
                    are_whole ? "whole " : "");
    }
    parts.push_back(node.columns().number(j));
  }
  return node.joined(parts);
}

Tensor cast_constant(const Operation& node, Tensor made, std::int64_t to) {
  if (made.type == string_type || (!is_real_type(to) && !is_whole_type(to))) refuse_type(node, to);
  made.type = to;
  for (double& number : made.numbers) {
    if (to == float_type) number = static_cast<float>(number);
    if (is_whole_type(to)) number = std::trunc(number);
  }
  return made;
}

}  // namespace

void fold_constant(FoldedNode& node) {
  const Attribute* tensor = node.find("value");
  if (tensor == nullptr || tensor->tensors.size() != 1 || node.node().outputs.empty())
    node.refuse("only tensors are understood");
  node.put_constant(tensor->tensors.front());
}

void fold_same(FoldedNode& node) {
  if (const Tensor* known = node.constant(0)) return node.put_constant(*known);
  node.put(node.value(0));
}

/// Numbers stay what they are as float or double; as whole ones only where they are whole.
void fold_cast(FoldedNode& node) {
  const std::int64_t to = node.whole("to", 0);
  const bool is_real = is_real_type(to);
  if (const Tensor* known = node.constant(0))
    return node.put_constant(cast_constant(node, *known, to));
  if (const Final* made = node.final(0)) {
    const bool is_name = made->kind == Final::Kind::index || made->kind == Final::Kind::label;
    if (!is_real && !(is_name && (is_whole_type(to) || to == string_type))) refuse_type(node, to);
    return node.put(node.value(0));
  }
  if (const Texts* given = node.texts(0)) {
    if (to == string_type) return node.put(node.value(0));
    if (!is_real && !is_whole_type(to)) refuse_type(node, to);
    return node.put(numbers_of(node, *given, !is_real), node.shape(0));
  }
  if (!is_real && !is_whole_type(to)) refuse_type(node, to);
  const Affine& row = node.affine(0);
  for (Index k = 0; !is_real && k < row.size(); ++k) {
    if (!node.columns().is_whole(row, k))
      node.refuse(
          "entry {} of what it casts to whole numbers is not always one, and what "
          "stands behind the point would be dropped; make the features `kind: "
          "integer` if they are whole",
          k);
  }
  node.put(node.value(0));
}

/// Of rows without empty cells an imputer that fills these alone changes nothing.
void fold_imputer(FoldedNode& node) {
  node.require_table(0);
  (void)node.affine(0);
  const Attribute* replaced = node.find("replaced_value_float");
  const bool has_whole =
      node.find("replaced_value_int64") != nullptr || node.find("imputed_value_int64s") != nullptr;
  if (has_whole) node.refuse("it replaces a whole number, which rows may have; expected NaN");
  if (replaced == nullptr || !std::isnan(replaced->f)) {
    node.refuse(
        "replaced_value_float: it replaces {}, a number that rows may have; "
        "expected NaN (missing_values=nan of scikit-learn)",
        node.real("replaced_value_float", 0));
  }
  node.put(node.value(0));
}

void fold_dropout(FoldedNode& node) {
  if (node.has_input(2)) {
    const Tensor* trains = node.constant(2);
    if (trains == nullptr || trains->numbers != std::vector{0.0})
      node.refuse("training_mode: it drops numbers by chance; export the model for inference");
  }
  fold_same(node);
}

}  // namespace ellice::onnx

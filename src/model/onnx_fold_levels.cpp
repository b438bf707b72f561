#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_fold_operators.hpp"

namespace ellice::onnx {

namespace {

/// The features that are encoded, as they stand in the table.
std::vector<std::size_t> encoded_features(const FoldedNode& node) {
  if (const Texts* given = node.texts(0)) return given->features;
  std::vector<std::size_t> features;
  const Affine& row = node.affine(0);
  for (Index k = 0; k < row.size(); ++k) {
    const std::optional<std::size_t> j = node.columns().bare_feature(row, k);
    if (!j) node.refuse("levels of something that is no column of the table");
    features.push_back(*j);
  }
  return features;
}

/// The categories of a OneHotEncoder, of the kind of its input.
std::vector<std::string> categories_of(const FoldedNode& node) {
  std::vector<std::string> codes;
  if (node.texts(0) != nullptr) {
    if (const Attribute* given = node.find("cats_strings")) codes = given->strings;
  } else if (const Attribute* numbers = node.find("cats_int64s")) {
    for (const std::int64_t code : numbers->ints) codes.push_back(std::to_string(code));
  }
  if (codes.empty()) node.refuse("no categories of the kind of its input, texts or whole numbers");
  check_different(node, codes);
  return codes;
}

/// The level that a text is, or, where numbers are read, that is the same number as a code: «01» is
/// 1 then. No two levels are, see Columns::number().
const std::string& level_of(const FoldedNode& node, const Feature& feature,
                            const std::string& code) {
  if (feature.level_index(code)) return code;
  double wanted = 0;
  const bool is_code = node.texts(0) == nullptr && parse_number(code, wanted);
  for (const std::string& level : feature.levels) {
    double number = 0;
    if (is_code && parse_number(level, number) && number == wanted) return level;
  }
  node.refuse("\"{}\" is no level of \"{}\"; {}", code, feature.name,
              suggestion(code, feature.levels));
}

/// Of levels that it does not know, it makes zeros or, with zeros = 0, no score at all.
void check_unknown_levels(const Operation& node, const Feature& feature,
                          const std::vector<std::string>& known) {
  if (node.whole("zeros", 1) != 0) return;
  for (const std::string& level : feature.levels) {
    if (std::find(known.begin(), known.end(), level) == known.end())
      node.refuse(
          "the model gives no score to \"{}\" of \"{}\", which is none of its "
          "categories (zeros: 0); leave that level out of the schema",
          level, feature.name);
  }
}

/// The numbers of a LabelEncoder's keys.
std::vector<double> key_numbers(const Operation& node, const Attribute& keys) {
  std::vector<double> numbers;
  if (keys.name == "classes_strings") {
    for (std::size_t k = 0; k < keys.strings.size(); ++k) numbers.push_back(static_cast<double>(k));
  }
  if (const Attribute* floats = node.find("values_floats"))
    numbers.insert(numbers.end(), floats->floats.begin(), floats->floats.end());
  if (const Attribute* ints = node.find("values_int64s"))
    numbers.insert(numbers.end(), ints->ints.begin(), ints->ints.end());
  if (numbers.size() != keys.strings.size())
    node.refuse("{} texts but {} numbers", keys.strings.size(), numbers.size());
  return numbers;
}

/// A feature's level by its number, which is affine in its place.
Affine ranked(const FoldedNode& node, std::size_t j, const std::vector<std::string>& keys,
              const std::vector<double>& numbers) {
  const Feature& feature = node.feature(j);
  if (feature.kind != FeatureKind::ordinal && feature.kind != FeatureKind::binary)
    node.refuse("\"{}\" is {}, expected an ordinal or a binary feature", feature.name,
                enum_name(feature.kind));
  Vector by_level = Vector::Constant(static_cast<Index>(feature.levels.size()), NAN);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (const std::optional<std::size_t> level = feature.level_index(keys[k]))
      by_level(static_cast<Index>(*level)) = numbers[k];
  }
  if (!by_level.allFinite()) node.refuse("a level of \"{}\" has no number", feature.name);
  const double step = by_level.size() > 1 ? by_level(1) - by_level(0) : 1;
  for (Index k = 0; k < by_level.size(); ++k) {
    if (by_level(k) != by_level(0) + static_cast<double>(k) * step)
      node.refuse(
          "the numbers of the levels of \"{}\" are not evenly spaced in the order "
          "of the schema",
          feature.name);
  }
  Affine made = node.columns().place(j);
  made.weights *= step;
  made.bias(0) = by_level(0);
  return made;
}

}  // namespace

void check_different(const Operation& node, std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  const auto twice = std::adjacent_find(texts.begin(), texts.end());
  if (twice != texts.end()) node.refuse("\"{}\" stands twice", *twice);
}

void fold_one_hot(FoldedNode& node) {
  const std::vector<std::string> codes = categories_of(node);
  std::vector<Affine> parts;
  for (const std::size_t j : encoded_features(node)) {
    std::vector<std::string> levels;
    for (const std::string& code : codes) levels.push_back(level_of(node, node.feature(j), code));
    check_unknown_levels(node, node.feature(j), levels);
    for (const std::string& level : levels) parts.push_back(node.columns().indicator(j, level));
  }
  // One axis more, of the categories.
  Shape made = node.shape(0);
  made.push_back(static_cast<Index>(codes.size()));
  node.put(node.joined(parts), made);
}

/// Levels as numbers, or other labels for the classes.
void fold_label_encoder(FoldedNode& node) {
  if (node.final(0) != nullptr) return fold_renaming(node);
  const Attribute* keys = node.find("keys_strings");
  if (keys == nullptr) keys = node.find("classes_strings");
  if (keys == nullptr || keys->strings.empty() || node.texts(0) == nullptr)
    node.refuse("only texts are encoded as numbers");
  check_different(node, keys->strings);
  const std::vector<double> numbers = key_numbers(node, *keys);
  std::vector<Affine> parts;
  for (const std::size_t j : encoded_features(node))
    parts.push_back(ranked(node, j, keys->strings, numbers));
  node.put(node.joined(parts), node.shape(0));
}

}  // namespace ellice::onnx

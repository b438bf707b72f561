#include "model/onnx_fold.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <variant>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_values.hpp"

namespace ellice::onnx {

namespace {

class Folder : private GraphValues {
 public:
  Folder(const Graph& graph, const Schema& schema, const std::string& source)
      : GraphValues(graph, schema, source) {
    result_.source = source;
    result_.kind = "onnx";
    result_.precision = Precision::float32;
  }

  DeployedModel run() {
    read_inputs();
    for (const Node& node : graph_->nodes) {
      node_ = &node;
      fold_node();
    }
    if (score_) {
      read_outputs();
    } else {
      take_output();
    }
    finish();
    return std::move(result_);
  }

 private:
  // ── operators ──────────────────────────────────────────────────────────────────────────────────

  void fold_node() {
    using Handler = void (Folder::*)();
    static const std::map<std::string, Handler, std::less<>> handlers = {
        {"Add", &Folder::fold_arithmetic},
        {"Sub", &Folder::fold_arithmetic},
        {"Mul", &Folder::fold_arithmetic},
        {"Div", &Folder::fold_arithmetic},
        {"MatMul", &Folder::fold_product},
        {"Gemm", &Folder::fold_product},
        {"Relu", &Folder::fold_activation},
        {"Tanh", &Folder::fold_activation},
        {"Sigmoid", &Folder::fold_activation},
        {"Softmax", &Folder::fold_softmax},
        {"LinearClassifier", &Folder::fold_classifier},
        {"Scaler", &Folder::fold_scaler},
        {"OneHotEncoder", &Folder::fold_one_hot},
        {"LabelEncoder", &Folder::fold_labels},
        {"Concat", &Folder::fold_concat},
        {"FeatureVectorizer", &Folder::fold_concat},
        {"Gather", &Folder::fold_gather},
        {"ArrayFeatureExtractor", &Folder::fold_gather},
        {"Constant", &Folder::fold_constant},
        {"Cast", &Folder::fold_cast},
        {"Identity", &Folder::fold_same},
        {"Dropout", &Folder::fold_dropout},
        {"Flatten", &Folder::fold_flatten},
        {"Reshape", &Folder::fold_reshape},
        {"Squeeze", &Folder::fold_squeeze},
        {"Unsqueeze", &Folder::fold_unsqueeze},
        {"Imputer", &Folder::fold_imputer},
        {"Normalizer", &Folder::fold_normalizer},
        {"ZipMap", &Folder::fold_zip_map},
        {"ArgMax", &Folder::fold_arg_max},
    };
    const bool is_standard =
        node_->domain.empty() || node_->domain == "ai.onnx" || node_->domain == "ai.onnx.ml";
    const auto found = handlers.find(node_->op);
    if (!is_standard || found == handlers.end())
      refuse(fmt::format("operator {}{}{} is not one that can be imported", node_->domain,
                         node_->domain.empty() ? "" : ".", node_->op));
    check_attributes();
    (this->*found->second)();
  }

  void fold_arithmetic() {
    if (final(0) != nullptr || final(1) != nullptr) return fold_complement();
    if (constant(0) == nullptr && constant(1) == nullptr) return fold_sum();
    const bool swapped = constant(0) != nullptr;
    if (swapped && constant(1) != nullptr) refuse("of two constants");
    const std::size_t k = swapped ? 1 : 0;
    const Tensor& tensor = *constant(1 - k);
    Affine made = affine(k);
    const Vector other = along(tensor, shape(k));
    if (node_->op == "Add") {
      made.bias += other;
    } else if (node_->op == "Sub") {
      if (swapped) {
        made.weights = -made.weights;
        made.bias = other - made.bias;
      } else {
        made.bias -= other;
      }
    } else if (node_->op == "Mul") {
      made.weights = other.asDiagonal() * made.weights;
      made.bias = made.bias.cwiseProduct(other);
    } else {
      if (swapped) refuse("a constant is divided by what the row says, which is not linear");
      if (is_whole_type(tensor.type))
        refuse("of whole numbers, which drops what is left over; cast to float before it");
      made.weights = other.cwiseInverse().asDiagonal() * made.weights;
      made.bias = made.bias.cwiseQuotient(other);
    }
    put(std::move(made), shape(k));
  }

  /// 1 − p, the other label's probability.
  void fold_complement() {
    const Final* made = final(1);
    const bool is_one =
        final(0) == nullptr && constant(0) != nullptr && constant(0)->numbers == std::vector{1.0};
    const bool is_single =
        made != nullptr && (made->kind == Final::Kind::event || made->kind == Final::Kind::other);
    if (node_->op != "Sub" || !is_one || !is_single)
      refuse("only 1 − p of one probability is understood after the score");
    (void)along(*constant(0), shape(1));
    const bool is_event = made->kind == Final::Kind::event;
    put({Final{is_event ? Final::Kind::other : Final::Kind::event}, shape(1)});
  }

  void fold_sum() {
    if (node_->op != "Add" && node_->op != "Sub")
      refuse("of two numbers that both depend on the row, which is not linear");
    Affine one = affine(0);
    const Affine& other = affine(1);
    if (one.layer != other.layer || shape(0) != shape(1))
      refuse("of rows of different layers or lengths");
    const Index columns = std::max(one.weights.cols(), other.weights.cols());
    const double sign = node_->op == "Add" ? 1 : -1;
    one.weights = widened(one.weights, columns) + sign * widened(other.weights, columns);
    one.bias += sign * other.bias;
    put(std::move(one), shape(0));
  }

  void fold_product() {
    const bool is_gemm = node_->op == "Gemm";
    if (is_gemm && whole("transA", 0) != 0) refuse("transA of the rows");
    const Affine row = based(affine(0));
    require_table(0);
    const Tensor* matrix = constant(1);
    if (matrix == nullptr) refuse("its weights are no constant");
    if (matrix->dims.size() != 2 || matrix->type == string_type) {
      refuse(fmt::format("weights of the shape [{}], expected a matrix",
                         fmt::join(matrix->dims, ", ")));
    }
    Matrix weights =
        Eigen::Map<const RowMatrix>(matrix->numbers.data(), matrix->dims[0], matrix->dims[1]);
    if (!(is_gemm && whole("transB", 0) != 0)) weights.transposeInPlace();
    if (weights.cols() != row.bias.size()) {
      refuse(fmt::format("weights of the shape [{}] for {} numbers", fmt::join(matrix->dims, ", "),
                         row.bias.size()));
    }
    if (is_gemm) weights *= real("alpha", 1);
    Affine made{.layer = row.layer, .weights = weights * row.weights, .bias = weights * row.bias};
    const Shape made_shape = {made.bias.size()};
    if (is_gemm && has_input(2)) {
      const Tensor* bias = constant(2);
      if (bias == nullptr) refuse("its bias is no constant");
      made.bias += real("beta", 1) * along(*bias, made_shape);
    }
    put(std::move(made), made_shape);
  }

  void fold_activation() {
    const Affine row = based(affine(0));
    if (node_->op == "Sigmoid" && row.bias.size() == 1) {
      take_score(row);
      return put({Final{Final::Kind::event}, shape(0)});
    }
    if (row.layer != result_.layers.size() + 1) refuse("layers are not one after the other");
    const Activation kind = node_->op == "Relu"   ? Activation::relu
                            : node_->op == "Tanh" ? Activation::tanh
                                                  : Activation::sigmoid;
    result_.layers.push_back({.weights = row.weights, .bias = row.bias, .activation = kind});
    const Index units = row.bias.size();
    put(Affine{.layer = result_.layers.size() + 1,
               .weights = Matrix::Identity(units, units),
               .bias = Vector::Zero(units)},
        shape(0));
  }

  // Of two probabilities or scores too: the larger one stays the larger one, and has more than 1/2.
  void fold_softmax() {
    require_table(0);
    require_last_axis(whole("axis", -1), shape(0));
    if (const Final* made = final(0)) {
      if (made->kind != Final::Kind::both && made->kind != Final::Kind::scores)
        refuse("of what is made of the score only two numbers, one for each label, are understood");
    } else {
      set_scores(based(affine(0)));
    }
    put({Final{Final::Kind::both}, {2}});
  }

  /// One for each label.
  void set_scores(Affine both) {
    if (both.bias.size() != 2) refuse(fmt::format("{} classes, expected two", both.bias.size()));
    take_score(std::move(both));
  }

  void take_score(Affine score) {
    if (score_) refuse("there is a score already");
    score_ = std::move(score);
    score_node_ = node_;
  }

  void fold_classifier() {
    require_table(0);
    const Affine row = based(affine(0));
    const Attribute* given = node_->find("coefficients");
    const Index n = row.bias.size();
    const auto count = static_cast<Index>(given == nullptr ? 0 : given->floats.size());
    if (count != n && count != 2 * n)
      refuse(fmt::format("{} coefficients for {} numbers and two classes", count, n));
    const Index classes = n == 0 ? 0 : count / n;
    if (classes == 0) refuse("no coefficients");
    const Matrix weights = Eigen::Map<const RowMatrix>(given->floats.data(), classes, n);
    const Attribute* intercepts = node_->find("intercepts");
    const bool has_bias = intercepts != nullptr && !intercepts->floats.empty();
    if (has_bias && static_cast<Index>(intercepts->floats.size()) != classes)
      refuse(fmt::format("{} intercepts for {} rows of coefficients", intercepts->floats.size(),
                         classes));
    Affine made{.layer = row.layer, .weights = weights * row.weights, .bias = weights * row.bias};
    if (has_bias) made.bias += Eigen::Map<const Vector>(intercepts->floats.data(), classes);
    put_classes(std::move(made));
  }

  /// Labels first, then two numbers for each row.
  void put_classes(Affine made) {
    const std::vector<std::string> labels = labels_of("classlabels_ints", "classlabels_strings");
    if (!labels.empty()) result_.event = labels[1];
    const std::string after = word("post_transform", "NONE");
    const bool is_pair = made.bias.size() == 2;
    if (after != "NONE" && after != "LOGISTIC" && !(after == "SOFTMAX" && is_pair)) {
      refuse(fmt::format("post_transform: found {}, expected NONE or LOGISTIC{}", after,
                         is_pair ? " or SOFTMAX" : ""));
    }
    // Of one row of coefficients runtimes give 1 − s and s where nothing is transformed.
    const Final::Kind kind = after != "NONE" ? Final::Kind::both
                             : is_pair       ? Final::Kind::scores
                                             : Final::Kind::second;
    if (is_pair && after != "SOFTMAX") {
      const bool is_mirrored =
          made.weights.row(0) == -made.weights.row(1) && made.bias(0) == -made.bias(1);
      if (!is_mirrored) refuse("its two rows of coefficients are not each other's opposites");
      made = {.layer = made.layer, .weights = made.weights.row(1), .bias = made.bias.tail(1)};
    }
    take_score(std::move(made));
    put({Final{Final::Kind::label, labels}, {}});
    put_as(1, {Final{kind}, {2}});
  }

  /// Two different labels, or none.
  [[nodiscard]] std::vector<std::string> labels_of(std::string_view whole_numbers,
                                                   std::string_view texts) const {
    std::vector<std::string> labels;
    if (const Attribute* numbers = node_->find(whole_numbers)) {
      for (const std::int64_t label : numbers->ints) labels.push_back(std::to_string(label));
    }
    if (const Attribute* given = node_->find(texts); given != nullptr && !given->strings.empty()) {
      if (!labels.empty()) refuse("its labels are numbers and texts, expected one of them");
      labels = given->strings;
    }
    if (!labels.empty()) check_labels(labels);
    return labels;
  }

  void check_labels(const std::vector<std::string>& labels) const {
    if (labels.size() != 2) refuse(fmt::format("{} labels, expected two", labels.size()));
    if (labels[0] == labels[1]) refuse(fmt::format("both labels are \"{}\"", labels[0]));
  }

  void fold_scaler() {
    require_table(0);
    Affine made = affine(0);
    made.bias -= along("offset", made.bias.size(), 0);
    const Vector scale = along("scale", made.bias.size(), 1);
    made.weights = scale.asDiagonal() * made.weights;
    made.bias = made.bias.cwiseProduct(scale);
    put(std::move(made), shape(0));
  }

  /// The feature that a row's entry is, as it stands in the table.
  std::size_t bare_feature(const Affine& row, Index k) {
    for (std::size_t i = 0; row.layer == 0 && i < atoms_.size(); ++i) {
      const auto column = static_cast<Index>(i);
      if (!atoms_[i].level.empty() || column >= row.weights.cols()) continue;
      const std::size_t j = *schema_->find(atoms_[i].feature);
      const Affine bare = number(j);
      Vector rest = row.weights.row(k);
      rest(column) -= bare.weights(0, column);
      if (rest.isZero(0) && row.bias(k) == bare.bias(0)) return j;
    }
    refuse("levels of something that is no column of the table");
  }

  std::vector<std::size_t> bare_features() {
    if (const Texts* given = texts(0)) return given->features;
    std::vector<std::size_t> features;
    const Affine row = affine(0);
    for (Index k = 0; k < row.bias.size(); ++k) features.push_back(bare_feature(row, k));
    return features;
  }

  /// The level that a code or a text stands for.
  std::string level_of(const Feature& feature, const std::string& code) const {
    if (feature.level_index(code)) return code;
    refuse(fmt::format("\"{}\" is no level of \"{}\"; {}", code, feature.name,
                       suggestion(code, feature.levels)));
  }

  void fold_one_hot() {
    std::vector<std::string> codes;
    if (texts(0) != nullptr) {
      if (const Attribute* given = node_->find("cats_strings")) codes = given->strings;
    } else if (const Attribute* numbers = node_->find("cats_int64s")) {
      for (const std::int64_t code : numbers->ints) codes.push_back(std::to_string(code));
    }
    if (codes.empty()) refuse("no categories of the kind of its input, texts or whole numbers");
    check_different(codes);
    std::vector<Affine> parts;
    for (const std::size_t j : bare_features()) {
      check_unknown_levels(schema_->features[j], codes);
      for (const std::string& code : codes)
        parts.push_back(unit(atom(j, level_of(schema_->features[j], code))));
    }
    // One axis more, of the categories.
    Shape made = shape(0);
    made.push_back(static_cast<Index>(codes.size()));
    put(joined(parts), made);
  }

  void check_different(std::vector<std::string> codes) const {
    std::sort(codes.begin(), codes.end());
    const auto twice = std::adjacent_find(codes.begin(), codes.end());
    if (twice != codes.end()) refuse(fmt::format("\"{}\" stands twice", *twice));
  }

  /// Of levels that it does not know, it makes zeros or, with zeros = 0, no score at all.
  void check_unknown_levels(const Feature& feature, const std::vector<std::string>& codes) const {
    if (whole("zeros", 1) != 0) return;
    for (const std::string& level : feature.levels) {
      if (std::find(codes.begin(), codes.end(), level) == codes.end())
        refuse(
            fmt::format("the model gives no score to \"{}\" of \"{}\", which is none of its "
                        "categories (zeros: 0); leave that level out of the schema",
                        level, feature.name));
    }
  }

  /// Levels as numbers: affine in the index of an ordinal or binary feature's level.
  void fold_labels() {
    if (final(0) != nullptr) return fold_renaming();
    const Attribute* keys = node_->find("keys_strings");
    if (keys == nullptr) keys = node_->find("classes_strings");
    if (keys == nullptr || keys->strings.empty() || texts(0) == nullptr)
      refuse("only texts are encoded as numbers");
    check_different(keys->strings);
    const std::vector<double> numbers = values_of(*keys);
    if (numbers.size() != keys->strings.size())
      refuse(fmt::format("{} texts but {} numbers", keys->strings.size(), numbers.size()));
    std::vector<Affine> parts;
    for (const std::size_t j : bare_features()) {
      const Feature& feature = schema_->features[j];
      if (feature.kind != FeatureKind::ordinal && feature.kind != FeatureKind::binary)
        refuse(fmt::format("\"{}\" is {}, expected an ordinal or a binary feature", feature.name,
                           enum_name(feature.kind)));
      parts.push_back(ranked(j, keys->strings, numbers));
    }
    put(joined(parts), shape(0));
  }

  [[nodiscard]] std::vector<double> values_of(const Attribute& keys) const {
    std::vector<double> numbers;
    if (keys.name == "classes_strings") {
      for (std::size_t k = 0; k < keys.strings.size(); ++k)
        numbers.push_back(static_cast<double>(k));
    }
    if (const Attribute* floats = node_->find("values_floats"))
      numbers.insert(numbers.end(), floats->floats.begin(), floats->floats.end());
    if (const Attribute* ints = node_->find("values_int64s"))
      numbers.insert(numbers.end(), ints->ints.begin(), ints->ints.end());
    return numbers;
  }

  Affine ranked(std::size_t j, const std::vector<std::string>& keys,
                const std::vector<double>& numbers) {
    const Feature& feature = schema_->features[j];
    Vector by_level = Vector::Constant(static_cast<Index>(feature.levels.size()), NAN);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (const std::optional<std::size_t> level = feature.level_index(keys[k]))
        by_level(static_cast<Index>(*level)) = numbers[k];
    }
    if (!by_level.allFinite()) refuse(fmt::format("a level of \"{}\" has no number", feature.name));
    const double step = by_level.size() > 1 ? by_level(1) - by_level(0) : 1;
    for (Index k = 0; k < by_level.size(); ++k) {
      if (by_level(k) != by_level(0) + static_cast<double>(k) * step)
        refuse(
            fmt::format("the numbers of the levels of \"{}\" are not evenly spaced in the order "
                        "of the schema",
                        feature.name));
    }
    Affine made = unit(atom(j, {}));
    made.weights *= step;
    made.bias(0) = by_level(0);
    return made;
  }

  /// Labels, or their indices, by other names.
  void fold_renaming() {
    const std::vector<std::string> before = names_of(*final(0));
    std::vector<std::string> keys = listed("keys");
    std::vector<std::string> values = listed("values");
    if (const Attribute* classes = node_->find("classes_strings")) {
      if (!keys.empty() || !values.empty()) refuse("classes beside keys");
      values = classes->strings;
      for (std::size_t k = 0; k < values.size(); ++k) keys.push_back(std::to_string(k));
      if (before != keys) std::swap(keys, values);  // texts to their places
    }
    if (keys.size() != values.size())
      refuse(fmt::format("{} keys but {} values", keys.size(), values.size()));
    check_different(keys);
    std::vector<std::string> after;
    for (const std::string& label : before) {
      const auto found = std::find(keys.begin(), keys.end(), label);
      if (found == keys.end()) refuse(fmt::format("no value for \"{}\"", label));
      after.push_back(values[static_cast<std::size_t>(found - keys.begin())]);
    }
    check_labels(after);
    put({Final{Final::Kind::label, after}, shape(0)});
  }

  /// What stands for the other class, and for the event.
  [[nodiscard]] std::vector<std::string> names_of(const Final& made) const {
    if (made.kind == Final::Kind::index) return {"0", "1"};
    if (made.kind != Final::Kind::label || made.labels.empty())
      refuse("of what is made of the score only labels and their indices are understood");
    return made.labels;
  }

  /// The keys or values of a LabelEncoder, as texts.
  [[nodiscard]] std::vector<std::string> listed(const std::string& what) const {
    std::vector<std::string> result;
    std::size_t lists = 0;
    if (const Attribute* given = node_->find(what + "_strings")) {
      result = given->strings;
      ++lists;
    }
    if (const Attribute* given = node_->find(what + "_int64s")) {
      for (const std::int64_t label : given->ints) result.push_back(std::to_string(label));
      ++lists;
    }
    if (const Attribute* given = node_->find(what + "_floats")) {
      for (const double label : given->floats) result.push_back(fmt::format("{}", label));
      ++lists;
    }
    if (lists > 1) refuse(fmt::format("{} of several kinds", what));
    return result;
  }

  void fold_concat() {
    if (final(0) != nullptr) return fold_both();
    Shape made = shape(0);
    if (node_->op == "Concat") {
      require_last_axis(whole("axis", 1), made);
    } else {
      check_sizes();
    }
    made.back() = 0;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
      Shape part = shape(k);
      if (node_->op != "Concat") require_table(k);
      if (part.size() != made.size() || size_of(part) != part.back())
        refuse("of values that have not the same axes");
      made.back() += part.back();
    }
    if (texts(0) != nullptr) {
      Texts all;
      for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
        const Texts* part = texts(k);
        if (part == nullptr) refuse("of texts and numbers");
        all.features.insert(all.features.end(), part->features.begin(), part->features.end());
      }
      return put({all, made});
    }
    std::vector<Affine> parts;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) parts.push_back(affine(k));
    put(joined(parts), made);
  }

  /// FeatureVectorizer cuts, or fills up, to the sizes that it names.
  void check_sizes() const {
    const Attribute* sizes = node_->find("inputdimensions");
    if (sizes == nullptr) return;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
      if (k >= sizes->ints.size() || sizes->ints[k] != size_of(shape(k)))
        refuse(fmt::format("inputdimensions: found [{}], expected {} at place {}",
                           fmt::join(sizes->ints, ", "), size_of(shape(k)), k));
    }
  }

  /// The probabilities of both labels.
  void fold_both() {
    const bool are_two = node_->op == "Concat" && node_->inputs.size() == 2;
    const Final* other = final(0);
    const Final* event = are_two ? final(1) : nullptr;
    if (event == nullptr || other->kind != Final::Kind::other || event->kind != Final::Kind::event)
      refuse("expected 1 − p and p, in this order");
    for (const std::size_t k : {0U, 1U}) require_last_axis(whole("axis", 1), shape(k));
    put({Final{Final::Kind::both}, {2}});
  }

  void fold_gather() {
    if (constant(0) != nullptr && final(1) != nullptr) return fold_names();
    const Tensor* indices = constant(1);
    if (indices == nullptr) refuse("its indices are no constant");
    const Shape from = shape(0);
    if (node_->op == "Gather") {
      require_last_axis(whole("axis", 0), from);
    } else {
      require_table(0);
    }
    const std::vector<std::size_t> chosen = chosen_of(*indices, from.back());
    // The axes of the indices come in place of that of the columns.
    Shape made(from.begin(), from.end() - 1);
    if (node_->op == "Gather") {
      made.insert(made.end(), indices->dims.begin(), indices->dims.end());
    } else {
      made.push_back(static_cast<Index>(chosen.size()));
    }
    if (const Final* given = final(0)) return fold_choice(*given, chosen, made);
    if (const Texts* given = texts(0)) {
      Texts some;
      for (const std::size_t k : chosen) some.features.push_back(given->features[k]);
      return put({some, made});
    }
    const Affine& row = affine(0);
    Affine part{.layer = row.layer,
                .weights = Matrix(static_cast<Index>(chosen.size()), row.weights.cols()),
                .bias = Vector(static_cast<Index>(chosen.size()))};
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      part.weights.row(static_cast<Index>(k)) = row.weights.row(static_cast<Index>(chosen[k]));
      part.bias(static_cast<Index>(k)) = row.bias(static_cast<Index>(chosen[k]));
    }
    put(std::move(part), made);
  }

  [[nodiscard]] std::vector<std::size_t> chosen_of(const Tensor& indices, Index size) const {
    std::vector<std::size_t> chosen;
    if (!is_whole_type(indices.type)) refuse("its indices are no whole numbers");
    for (const double index : indices.numbers) {
      if (!(index >= 0 && index < static_cast<double>(size)))
        refuse(fmt::format("the index {} of {} numbers", index, size));
      chosen.push_back(static_cast<std::size_t>(index));
    }
    return chosen;
  }

  /// The number of the second class.
  void fold_choice(const Final& made, const std::vector<std::size_t>& chosen, const Shape& shape) {
    const bool are_scores = made.kind == Final::Kind::scores || made.kind == Final::Kind::second;
    if ((made.kind != Final::Kind::both && !are_scores) || chosen != std::vector<std::size_t>{1})
      refuse("expected the second class");
    put({Final{are_scores ? Final::Kind::score : Final::Kind::event}, shape});
  }

  /// Labels by their index.
  void fold_names() {
    const Tensor& labels = *constant(0);
    if (node_->op == "Gather" && axis_of(whole("axis", 0), labels.dims.size()) != 0)
      refuse(fmt::format("along the axis {} of labels, expected 0", whole("axis", 0)));
    if (names_of(*final(1)) != std::vector<std::string>{"0", "1"})
      refuse("its indices are no 0 and 1");
    std::vector<std::string> names = labels.texts;
    for (const double label : labels.numbers) names.push_back(number_text(label));
    check_labels(names);
    put({Final{Final::Kind::label, names}, shape(1)});
  }

  void fold_constant() {
    const Attribute* tensor = node_->find("value");
    if (tensor == nullptr || tensor->tensors.size() != 1 || node_->outputs.empty())
      refuse("only tensors are understood");
    made_[node_->outputs.front()] = tensor->tensors.front();
  }

  void fold_same() {
    if (const Tensor* known = constant(0); known != nullptr && !node_->outputs.empty()) {
      made_[node_->outputs.front()] = *known;
      return;
    }
    put(value(0));
  }

  // ── types ──────────────────────────────────────────────────────────────────────────────────────

  /// Numbers stay what they are as float or double; as whole ones only where they are whole.
  void fold_cast() {
    const std::int64_t to = whole("to", 0);
    const bool is_real = to == float_type || to == double_type;
    if (const Tensor* known = constant(0); known != nullptr) return cast_constant(*known, to);
    if (const Final* made = final(0)) {
      const bool is_name = made->kind == Final::Kind::index || made->kind == Final::Kind::label;
      if (!is_real && !(is_name && (is_whole_type(to) || to == string_type))) refuse_type(to);
      return put(value(0));
    }
    if (const Texts* given = texts(0)) {
      if (to == string_type) return put(value(0));
      if (!is_real && !is_whole_type(to)) refuse_type(to);
      return put(numbers_of(*given), shape(0));
    }
    if (!is_real && !is_whole_type(to)) refuse_type(to);
    const Affine& row = affine(0);
    for (Index k = 0; !is_real && k < row.bias.size(); ++k) {
      if (!is_whole(row, k))
        refuse(
            fmt::format("entry {} of what it casts to whole numbers is not always one, and what "
                        "stands behind the point would be dropped; make the features `kind: "
                        "integer` if they are whole",
                        k));
    }
    put(value(0));
  }

  [[noreturn]] void refuse_type(std::int64_t to) const {
    refuse(fmt::format("casts to the element type {}, which changes the value", to));
  }

  /// Texts that spell numbers.
  [[nodiscard]] Affine numbers_of(const Texts& given) {
    std::vector<Affine> parts;
    for (const std::size_t j : given.features) {
      for (const std::string& level : schema_->features[j].levels) {
        double ignored = 0;
        if (!parse_number(level, ignored))
          refuse(fmt::format("the level \"{}\" of \"{}\" is no number", level,
                             schema_->features[j].name));
      }
      parts.push_back(number(j));
    }
    return joined(parts);
  }

  void cast_constant(const Tensor& known, std::int64_t to) {
    const bool is_real = to == float_type || to == double_type;
    if (known.type == string_type || (!is_real && !is_whole_type(to))) refuse_type(to);
    Tensor made = known;
    made.type = to;
    for (double& number : made.numbers) {
      if (to == float_type) number = static_cast<float>(number);
      if (!is_real) number = std::trunc(number);
    }
    if (!node_->outputs.empty()) made_[node_->outputs.front()] = std::move(made);
  }

  /// Of rows without empty cells an imputer that fills these alone changes nothing.
  void fold_imputer() {
    require_table(0);
    (void)affine(0);
    const Attribute* replaced = node_->find("replaced_value_float");
    const bool has_whole = node_->find("replaced_value_int64") != nullptr ||
                           node_->find("imputed_value_int64s") != nullptr;
    if (has_whole) refuse("it replaces a whole number, which rows may have; expected NaN");
    if (replaced == nullptr || !std::isnan(replaced->f)) {
      refuse(
          fmt::format("replaced_value_float: it replaces {}, a number that rows may have; "
                      "expected NaN (missing_values=nan of scikit-learn)",
                      real("replaced_value_float", 0)));
    }
    put(value(0));
  }

  void fold_dropout() {
    if (has_input(2)) {
      const Tensor* trains = constant(2);
      if (trains == nullptr || trains->numbers != std::vector{0.0})
        refuse("training_mode: it drops numbers by chance; export the model for inference");
    }
    fold_same();
  }

  // ── shapes ─────────────────────────────────────────────────────────────────────────────────────

  void put_reshaped(Shape made) { put({value(0).is, std::move(made)}); }

  void fold_flatten() {
    if (constant(0) != nullptr) refuse("of a constant");
    const std::int64_t axis = whole("axis", 1);
    const auto rank = static_cast<std::int64_t>(shape(0).size()) + 1;
    if (axis != 1 && axis != 1 - rank)
      refuse(fmt::format("axis: found {}, expected 1, which keeps the rows", axis));
    put_reshaped({size_of(shape(0))});
  }

  void fold_reshape() {
    if (constant(0) != nullptr) refuse("of a constant");
    const Tensor* to = constant(1);
    if (to == nullptr || !is_whole_type(to->type) || to->dims.size() != 1)
      refuse("its shape is no constant list of whole numbers");
    const Shape& from = shape(0);
    const std::vector<double>& sizes = to->numbers;
    const auto refuse_shape = [&] {
      refuse(
          fmt::format("the shape [{}] of {} numbers for each row, expected one that keeps rows "
                      "apart, such as [-1, {}]",
                      fmt::join(sizes, ", "), size_of(from), size_of(from)));
    };
    const bool has_zero = std::find(sizes.begin(), sizes.end(), 0.0) != sizes.end();
    if (sizes.empty() || (has_zero && whole("allowzero", 0) != 0)) refuse_shape();
    // The rows' own axis: as many as there are (0), as many as come out (−1), or a single one.
    const bool is_copied = sizes[0] == 0;
    if (!is_copied && sizes[0] != -1 && sizes[0] != 1) refuse_shape();
    Shape made;
    std::optional<std::size_t> open;
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      if (sizes[i] == -1 && is_copied && !open) {
        open = i - 1;
        made.push_back(1);
        continue;
      }
      if (sizes[i] < 0 || (sizes[i] == 0 && i > from.size())) refuse_shape();
      made.push_back(sizes[i] == 0 ? from[i - 1] : static_cast<Index>(sizes[i]));
    }
    if (open && size_of(made) > 0) made[*open] = size_of(from) / size_of(made);
    if (size_of(made) != size_of(from)) refuse_shape();
    put_reshaped(std::move(made));
  }

  /// The axes of Squeeze and Unsqueeze, by attribute or input; none where they are not given.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> axes() const {
    if (const Attribute* given = node_->find("axes")) return given->ints;
    if (!has_input(1)) return std::nullopt;
    const Tensor* given = constant(1);
    if (given == nullptr || !is_whole_type(given->type)) refuse("its axes are no constant");
    return std::vector<std::int64_t>(given->numbers.begin(), given->numbers.end());
  }

  void fold_squeeze() {
    if (constant(0) != nullptr) refuse("of a constant");
    const Shape& from = shape(0);
    const auto given = axes();
    if (!given) {
      if (size_of(from) != 1) refuse("no axes, which one to drop");
      return put_reshaped({});
    }
    std::set<std::size_t> dropped;
    for (const std::int64_t axis : *given) dropped.insert(axis_of(axis, from.size() + 1));
    Shape made;
    for (std::size_t i = 0; i <= from.size(); ++i) {
      if (!dropped.contains(i)) {
        if (i > 0) made.push_back(from[i - 1]);
      } else if (i == 0 || from[i - 1] != 1) {
        refuse(fmt::format("drops the axis {}, which has more than one entry", i));
      }
    }
    put_reshaped(std::move(made));
  }

  void fold_unsqueeze() {
    if (constant(0) != nullptr) refuse("of a constant");
    const Shape& from = shape(0);
    const auto given = axes();
    if (!given) refuse("no axes");
    const std::size_t rank = from.size() + 1 + given->size();
    std::set<std::size_t> added;
    for (const std::int64_t axis : *given) added.insert(axis_of(axis, rank));
    if (added.contains(0) || added.size() != given->size())
      refuse("puts an axis before that of the rows");
    Shape made;
    auto next = from.begin();
    for (std::size_t i = 1; i < rank; ++i) made.push_back(added.contains(i) ? 1 : *next++);
    put_reshaped(std::move(made));
  }

  // ── after the score ────────────────────────────────────────────────────────────────────────────

  /// Divides by the sum, which is 1; the other norms would move the threshold of 1/2.
  void fold_normalizer() {
    const Final* made = final(0);
    if (made == nullptr || made->kind != Final::Kind::both)
      refuse("only of the probabilities of both labels is it understood");
    if (word("norm", "MAX") != "L1")
      refuse(fmt::format("norm: found {}, expected L1", word("norm", "MAX")));
    put(value(0));
  }

  void fold_zip_map() {
    const Final* made = final(0);
    const std::vector<std::string> labels = labels_of("classlabels_int64s", "classlabels_strings");
    if (made == nullptr || labels.empty() ||
        (made->kind != Final::Kind::both && made->kind != Final::Kind::scores))
      refuse("only of the probabilities of both labels, with their names, is it understood");
    put({Final{Final::Kind::map, labels}, {}});
  }

  /// The place of the larger of two numbers.
  void fold_arg_max() {
    require_last_axis(whole("axis", 0), shape(0));
    if (const Final* made = final(0)) {
      if (made->kind != Final::Kind::both && made->kind != Final::Kind::scores)
        refuse("of what is made of the score only two numbers, one for each label, are understood");
    } else {
      require_table(0);
      set_scores(based(affine(0)));
    }
    put({Final{Final::Kind::index}, whole("keepdims", 1) != 0 ? Shape{1} : Shape{}});
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────

  /// A network that ends with its score.
  void take_output() {
    require_input(graph_->outputs.size() == 1, "{}: the graph has {} outputs and none is a score",
                  *source_, graph_->outputs.size());
    const auto found = values_.find(graph_->outputs.front());
    const Affine* row = found == values_.end() ? nullptr : std::get_if<Affine>(&found->second.is);
    require_input(row != nullptr && (row->bias.size() == 1 || row->bias.size() == 2),
                  "{}: the output \"{}\" is no score of two classes", *source_,
                  graph_->outputs.front());
    score_ = *row;
  }

  /// What the outputs say must be made of the score, and by labels that agree.
  void read_outputs() {
    require_input(!graph_->outputs.empty(), "{}: the graph has no output", *source_);
    std::set<Final::Kind> kinds;
    std::vector<std::string> labels;
    for (const std::string& output : graph_->outputs) {
      const bool is_score =
          score_node_->op != "LinearClassifier" && output == score_node_->inputs.front();
      if (is_score) continue;
      const auto found = values_.find(output);
      const Final* made = found == values_.end() ? nullptr : std::get_if<Final>(&found->second.is);
      require_input(made != nullptr,
                    "{}: the output \"{}\" is not made of the score, which is that of {}; export "
                    "the model with the output that decides alone",
                    *source_, output, score_node_->text());
      kinds.insert(made->kind);
      if (made->labels.empty()) continue;
      require_input(labels.empty() || labels == made->labels,
                    "{}: the outputs have the labels {} and {}, expected the same of all, in the "
                    "same order",
                    *source_, fmt::join(labels, ", "), fmt::join(made->labels, ", "));
      labels = made->labels;
    }
    if (!labels.empty()) result_.event = labels[1];
    if (result_.event.empty()) read_unnamed(kinds);
  }

  /// Without labels an output speaks for the event: the index 1, or a large number.
  void read_unnamed(const std::set<Final::Kind>& kinds) {
    const std::string& favourable = schema_->target.favourable;
    const bool are_indices = favourable == "0" || favourable == "1";
    if (kinds.contains(Final::Kind::index) && are_indices) result_.event = "1";
    if (!kinds.contains(Final::Kind::other)) return;
    require_input(kinds.size() == 1 && score_->bias.size() == 1,
                  "{}: the outputs are 1 − p and others, and no labels say which one decides; "
                  "export the model with one of them",
                  *source_);
    score_->weights = -score_->weights;
    score_->bias = -score_->bias;
  }

  void finish() {
    require_input(score_->layer == result_.layers.size() + 1,
                  "{}: the score does not come from the last layer", *source_);
    result_.layers.push_back({.weights = score_->weights, .bias = score_->bias});
  }

  std::optional<Affine> score_;
  const Node* score_node_ = nullptr;  // that makes probabilities or labels of it
};

}  // namespace

DeployedModel fold(const Graph& graph, const Schema& schema, const std::string& source) {
  return Folder(graph, schema, source).run();
}

}  // namespace ellice::onnx

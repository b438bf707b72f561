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
    if (!score_) take_output();
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
        {"Cast", &Folder::fold_same},
        {"Identity", &Folder::fold_same},
        {"Dropout", &Folder::fold_same},
        {"Flatten", &Folder::fold_same},
        {"Reshape", &Folder::fold_same},
        {"Squeeze", &Folder::fold_same},
        {"Unsqueeze", &Folder::fold_same},
        {"Imputer", &Folder::fold_same},
        {"Normalizer", &Folder::fold_after_score},
        {"ZipMap", &Folder::fold_after_score},
        {"ArgMax", &Folder::fold_after_score},
    };
    const bool is_standard =
        node_->domain.empty() || node_->domain == "ai.onnx" || node_->domain == "ai.onnx.ml";
    const auto found = handlers.find(node_->op);
    if (!is_standard || found == handlers.end())
      refuse(fmt::format("operator {}{}{} is not one that can be imported", node_->domain,
                         node_->domain.empty() ? "" : ".", node_->op));
    (this->*found->second)();
  }

  void fold_arithmetic() {
    const bool final_first = is_final(0);
    if (final_first || is_final(1)) {
      // 1 − p, the other label's probability.
      const Tensor* one = constant(0);
      if (node_->op != "Sub" || final_first || one == nullptr || one->numbers != std::vector{1.0})
        refuse("only 1 − p is understood after the score");
      inverted_.insert(node_->outputs.front());
      return put(Value(Final{}));
    }
    if (constant(0) == nullptr && constant(1) == nullptr) return fold_sum();
    const bool swapped = constant(0) != nullptr;
    if (swapped && constant(1) != nullptr) refuse("of two constants");
    Affine made = affine(swapped ? 1 : 0);
    const Vector other = along(*constant(swapped ? 0 : 1), made.bias.size());
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
      made.weights = other.cwiseInverse().asDiagonal() * made.weights;
      made.bias = made.bias.cwiseQuotient(other);
    }
    put(std::move(made));
  }

  void fold_sum() {
    if (node_->op != "Add" && node_->op != "Sub")
      refuse("of two numbers that both depend on the row, which is not linear");
    Affine one = affine(0);
    const Affine& other = affine(1);
    if (one.layer != other.layer || one.bias.size() != other.bias.size())
      refuse("of rows of different layers or lengths");
    const Index columns = std::max(one.weights.cols(), other.weights.cols());
    const double sign = node_->op == "Add" ? 1 : -1;
    one.weights = widened(one.weights, columns) + sign * widened(other.weights, columns);
    one.bias += sign * other.bias;
    put(std::move(one));
  }

  void fold_product() {
    const bool is_gemm = node_->op == "Gemm";
    if (is_gemm && whole("transA", 0) != 0) refuse("transA of the rows");
    const Affine row = based(affine(0));
    const Tensor* matrix = constant(1);
    if (matrix == nullptr) refuse("its weights are no constant");
    if (matrix->dims.size() != 2) {
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
    if (is_gemm && node_->inputs.size() > 2 && !node_->inputs[2].empty()) {
      const Tensor* bias = constant(2);
      if (bias == nullptr) refuse("its bias is no constant");
      made.bias += real("beta", 1) * along(*bias, made.bias.size());
    }
    put(std::move(made));
  }

  void fold_activation() {
    const Affine row = based(affine(0));
    if (node_->op == "Sigmoid" && row.bias.size() == 1) return set_score(row);
    if (row.layer != result_.layers.size() + 1) refuse("layers are not one after the other");
    const Activation kind = node_->op == "Relu"   ? Activation::relu
                            : node_->op == "Tanh" ? Activation::tanh
                                                  : Activation::sigmoid;
    result_.layers.push_back({.weights = row.weights, .bias = row.bias, .activation = kind});
    const Index units = row.bias.size();
    put(Affine{.layer = result_.layers.size() + 1,
               .weights = Matrix::Identity(units, units),
               .bias = Vector::Zero(units)});
  }

  void fold_softmax() {
    if (is_final(0)) return put(Value(Final{}));
    set_scores(based(affine(0)));
  }

  /// One for each label.
  void set_scores(Affine both) {
    if (both.bias.size() != 2) refuse(fmt::format("{} classes, expected two", both.bias.size()));
    take_score(std::move(both));
  }

  void fold_classifier() {
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
    read_labels(node_->find("classlabels_ints"), node_->find("classlabels_strings"));
    if (classes == 1) return set_score(made);
    const std::string after = word("post_transform", "NONE");
    if (after == "SOFTMAX") return set_scores(made);
    const bool is_mirrored =
        made.weights.row(0) == -made.weights.row(1) && made.bias(0) == -made.bias(1);
    if (!is_mirrored || (after != "LOGISTIC" && after != "NONE"))
      refuse("its two rows of coefficients are not each other's opposites");
    set_score({.layer = made.layer, .weights = made.weights.row(1), .bias = made.bias.tail(1)});
  }

  void read_labels(const Attribute* numbers, const Attribute* texts) {
    std::vector<std::string> labels;
    if (numbers != nullptr) {
      for (const std::int64_t label : numbers->ints) labels.push_back(std::to_string(label));
    }
    if (texts != nullptr && !texts->strings.empty()) labels = texts->strings;
    if (labels.empty()) return;
    if (labels.size() != 2) refuse(fmt::format("{} labels, expected two", labels.size()));
    result_.event = labels[1];
  }

  void set_score(Affine score) {
    if (score.bias.size() != 1) refuse(fmt::format("{} scores, expected one", score.bias.size()));
    take_score(std::move(score));
  }

  void take_score(Affine score) {
    if (score_) refuse("there is a score already");
    score_ = std::move(score);
    put(Value(Final{}));
  }

  void fold_scaler() {
    Affine made = affine(0);
    made.bias -= along("offset", made.bias.size(), 0);
    const Vector scale = along("scale", made.bias.size(), 1);
    made.weights = scale.asDiagonal() * made.weights;
    made.bias = made.bias.cwiseProduct(scale);
    put(std::move(made));
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
    if (const auto* texts = std::get_if<Texts>(&value(0))) return texts->features;
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
    if (const Attribute* texts = node_->find("cats_strings")) codes = texts->strings;
    if (const Attribute* numbers = node_->find("cats_int64s")) {
      for (const std::int64_t code : numbers->ints) codes.push_back(std::to_string(code));
    }
    if (codes.empty()) refuse("no categories");
    std::vector<Affine> parts;
    for (const std::size_t j : bare_features()) {
      for (const std::string& code : codes)
        parts.push_back(unit(atom(j, level_of(schema_->features[j], code))));
    }
    put(joined(parts));
  }

  /// Levels as numbers: affine in the index of an ordinal or binary feature's level.
  void fold_labels() {
    if (is_final(0)) return put(Value(Final{}));
    const Attribute* keys = node_->find("keys_strings");
    if (keys == nullptr) keys = node_->find("classes_strings");
    if (keys == nullptr || keys->strings.empty()) refuse("only texts are encoded as numbers");
    std::vector<double> numbers;
    if (const Attribute* floats = node_->find("values_floats")) numbers = floats->floats;
    if (const Attribute* ints = node_->find("values_int64s"))
      numbers.assign(ints->ints.begin(), ints->ints.end());
    if (keys->name == "classes_strings") {
      for (std::size_t k = 0; k < keys->strings.size(); ++k)
        numbers.push_back(static_cast<double>(k));
    }
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
    put(joined(parts));
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

  void fold_concat() {
    if (is_final(0)) {
      // The probabilities of both labels.
      if (node_->inputs.size() != 2 || !inverted_.contains(node_->inputs[0]) ||
          inverted_.contains(node_->inputs[1]))
        refuse("expected 1 − p and p, in this order");
      return put(Value(Final{}));
    }
    if (node_->op == "Concat" && whole("axis", 1) != 1 && whole("axis", 1) != -1)
      refuse(fmt::format("joins along the axis {}, expected 1", whole("axis", 1)));
    if (std::holds_alternative<Texts>(value(0))) {
      Texts all;
      for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
        const auto* texts = std::get_if<Texts>(&value(k));
        if (texts == nullptr) refuse("of texts and numbers");
        all.features.insert(all.features.end(), texts->features.begin(), texts->features.end());
      }
      return put(Value(all));
    }
    std::vector<Affine> parts;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) parts.push_back(affine(k));
    put(joined(parts));
  }

  void fold_gather() {
    if (constant(0) != nullptr && is_final(1)) {  // labels by their index
      const Tensor& labels = *constant(0);
      std::vector<std::string> names = labels.texts;
      for (const double label : labels.numbers) names.push_back(number_text(label));
      if (names.size() != 2) refuse(fmt::format("{} labels, expected two", names.size()));
      result_.event = names[1];
      return put(Value(Final{}));
    }
    const Tensor* indices = constant(1);
    if (indices == nullptr) refuse("its indices are no constant");
    if (is_final(0)) {
      if (indices->numbers != std::vector{1.0}) refuse("expected the second class");
      return put(Value(Final{}));
    }
    if (node_->op == "Gather" && whole("axis", 0) != 1 && whole("axis", 0) != -1)
      refuse(fmt::format("along the axis {}, expected 1", whole("axis", 0)));
    const auto* texts = std::get_if<Texts>(&value(0));
    const std::size_t size =
        texts != nullptr ? texts->features.size() : static_cast<std::size_t>(affine(0).bias.size());
    std::vector<std::size_t> chosen;
    for (const double index : indices->numbers) {
      if (!(index >= 0 && index < static_cast<double>(size)))
        refuse(fmt::format("the index {} of {} numbers", index, size));
      chosen.push_back(static_cast<std::size_t>(index));
    }
    if (texts != nullptr) {
      Texts some;
      for (const std::size_t k : chosen) some.features.push_back(texts->features[k]);
      return put(Value(some));
    }
    const Affine& row = affine(0);
    Affine made{.layer = row.layer,
                .weights = Matrix(static_cast<Index>(chosen.size()), row.weights.cols()),
                .bias = Vector(static_cast<Index>(chosen.size()))};
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      made.weights.row(static_cast<Index>(k)) = row.weights.row(static_cast<Index>(chosen[k]));
      made.bias(static_cast<Index>(k)) = row.bias(static_cast<Index>(chosen[k]));
    }
    put(std::move(made));
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

  void fold_after_score() {
    if (!is_final(0)) refuse("only after the score is it understood");
    put(value(0));
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────

  /// A network that ends with its score.
  void take_output() {
    require_input(graph_->outputs.size() == 1, "{}: the graph has {} outputs and none is a score",
                  *source_, graph_->outputs.size());
    const auto found = values_.find(graph_->outputs.front());
    const Affine* row = found == values_.end() ? nullptr : std::get_if<Affine>(&found->second);
    require_input(row != nullptr && (row->bias.size() == 1 || row->bias.size() == 2),
                  "{}: the output \"{}\" is no score of two classes", *source_,
                  graph_->outputs.front());
    score_ = *row;
  }

  void finish() {
    require_input(score_->layer == result_.layers.size() + 1,
                  "{}: the score does not come from the last layer", *source_);
    result_.layers.push_back({.weights = score_->weights, .bias = score_->bias});
  }

  std::set<std::string> inverted_;  // 1 − p
  std::optional<Affine> score_;
};

}  // namespace

DeployedModel fold(const Graph& graph, const Schema& schema, const std::string& source) {
  return Folder(graph, schema, source).run();
}

}  // namespace ellice::onnx

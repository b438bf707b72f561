#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_fold.hpp"

namespace ellice::onnx {

namespace {

// The row that is asked about, and another one beside it.
constexpr std::int64_t batch = 2;

std::int64_t count_of(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t size : dims) count *= size;
  return count;
}

/// Executes a graph on two rows, operator for operator, with the shapes and types that the
/// standard gives to each; what it does not execute, it refuses.
class Interpreter {
 public:
  Interpreter(const Graph& graph, const Schema& schema, std::span<const double> raw,
              const std::string& source)
      : graph_(&graph), source_(&source) {
    for (const auto& [name, tensor] : graph.constants) known_[name] = &tensor;
    for (const Input& input : graph.inputs) read(input, schema, raw);
    for (const Node& node : graph.nodes) {
      node_ = &node;
      run();
    }
  }

  [[nodiscard]] double score(const std::string& event) {
    if (!score_) {  // a network that ends with it
      const std::vector<double>& last = tensor(graph_->outputs.front()).numbers;
      return last.size() == 2 * batch ? last[1] - last[0] : last.front();
    }
    // Of 1 − p alone the other label is meant.
    const auto only = probabilities_.find(graph_->outputs.front());
    const bool is_turned = event.empty() && only != probabilities_.end() && only->second < 0;
    const double score = is_turned ? -*score_ : *score_;
    for (const std::string& output : graph_->outputs) check(output, event, *score_);
    return score;
  }

 private:
  // ── what is known ──────────────────────────────────────────────────────────────────────────────

  void read(const Input& input, const Schema& schema, std::span<const double> raw) {
    Tensor made{.type = input.type == 0 ? std::int64_t{float_type} : input.type};
    const std::optional<std::size_t> own = schema.find(input.name);
    const std::size_t first = own.value_or(0);
    const std::size_t last = own ? *own + 1 : schema.features.size();
    for (std::int64_t row = 0; row < batch; ++row) {
      for (std::size_t j = first; j < last; ++j) {
        const double value = row == 0 ? raw[j] : 0;
        const std::vector<std::string>& levels = schema.features[j].levels;
        const std::string text =
            levels.empty() ? std::string() : levels[static_cast<std::size_t>(value)];
        // Levels that are codes count as these numbers where a column of numbers is asked for.
        double ignored = 0;
        const bool is_code = std::all_of(levels.begin(), levels.end(), [&](const auto& level) {
          return parse_number(level, ignored);
        });
        const bool is_number = levels.empty() || !is_code;
        if (made.type == string_type) {
          made.texts.push_back(text);
        } else {
          made.numbers.push_back(is_number ? value : std::strtod(text.c_str(), nullptr));
        }
      }
    }
    made.dims = {batch};
    if (input.dims.size() != 1) made.dims.push_back(static_cast<std::int64_t>(last - first));
    keep(input.name, std::move(made));
  }

  void keep(const std::string& name, Tensor made) {
    Tensor& place = made_[name];
    place = std::move(made);
    known_[name] = &place;
  }

  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::input, "{}: {}: {}", *source_, node_->text(), why);
  }

  [[nodiscard]] const Tensor& tensor(const std::string& name) const {
    const auto found = known_.find(name);
    require_input(found != known_.end(), "{}: nothing makes \"{}\"", *source_, name);
    return *found->second;
  }
  [[nodiscard]] const std::string& name_of(std::size_t k) const {
    if (k >= node_->inputs.size()) refuse(fmt::format("input {} is missing", k));
    return node_->inputs[k];
  }
  [[nodiscard]] const Tensor& in(std::size_t k) const { return tensor(name_of(k)); }
  [[nodiscard]] bool has_input(std::size_t k) const {
    return k < node_->inputs.size() && !node_->inputs[k].empty();
  }
  [[nodiscard]] std::int64_t whole(const char* name, std::int64_t otherwise) const {
    const Attribute* found = node_->find(name);
    return found == nullptr ? otherwise : found->i;
  }
  [[nodiscard]] double real(const char* name, double otherwise) const {
    const Attribute* found = node_->find(name);
    return found == nullptr ? otherwise : found->f;
  }
  [[nodiscard]] std::size_t axis(std::int64_t given, std::size_t rank) const {
    const std::int64_t found = given < 0 ? given + static_cast<std::int64_t>(rank) : given;
    if (found < 0 || found >= static_cast<std::int64_t>(rank))
      refuse(fmt::format("the axis {} of {}", given, rank));
    return static_cast<std::size_t>(found);
  }

  void put(Tensor made) { keep(node_->outputs.front(), std::move(made)); }
  /// That the result holds probabilities: of the event (1), or of the other label (−1).
  void mark(double sign) { probabilities_[node_->outputs.front()] = sign; }
  void mark_as_input() {
    const auto found = probabilities_.find(name_of(0));
    if (found != probabilities_.end()) mark(found->second);
  }
  void take_score(double score) {
    if (!score_) score_ = score;
  }

  void run() {
    using Handler = void (Interpreter::*)();
    static const std::map<std::string, Handler, std::less<>> handlers = {
        {"Add", &Interpreter::arithmetic},
        {"Sub", &Interpreter::arithmetic},
        {"Mul", &Interpreter::arithmetic},
        {"Div", &Interpreter::arithmetic},
        {"MatMul", &Interpreter::product},
        {"Gemm", &Interpreter::product},
        {"Relu", &Interpreter::activation},
        {"Tanh", &Interpreter::activation},
        {"Sigmoid", &Interpreter::activation},
        {"Softmax", &Interpreter::softmax},
        {"LinearClassifier", &Interpreter::classify},
        {"Scaler", &Interpreter::scale},
        {"OneHotEncoder", &Interpreter::one_hot},
        {"LabelEncoder", &Interpreter::encode},
        {"Concat", &Interpreter::concat},
        {"FeatureVectorizer", &Interpreter::concat},
        {"Gather", &Interpreter::gather},
        {"ArrayFeatureExtractor", &Interpreter::gather},
        {"Constant", &Interpreter::constant},
        {"Cast", &Interpreter::cast},
        {"Identity", &Interpreter::same},
        {"Dropout", &Interpreter::dropout},
        {"Flatten", &Interpreter::flatten},
        {"Reshape", &Interpreter::reshape},
        {"Squeeze", &Interpreter::squeeze},
        {"Unsqueeze", &Interpreter::unsqueeze},
        {"Imputer", &Interpreter::impute},
        {"Normalizer", &Interpreter::normalize},
        {"ZipMap", &Interpreter::zip},
        {"ArgMax", &Interpreter::arg_max},
    };
    const auto found = handlers.find(node_->op);
    if (found == handlers.end()) refuse("is not executed");
    (this->*found->second)();
  }

  // ── numbers ────────────────────────────────────────────────────────────────────────────────────

  /// The place, in a tensor that is repeated along axes of size 1, of an entry of the result.
  static std::size_t place_of(std::int64_t at, const std::vector<std::int64_t>& result,
                              const std::vector<std::int64_t>& own) {
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::int64_t size = own[own.size() - 1 - i];
      const std::int64_t whole_size = result[result.size() - 1 - i];
      if (size != 1) place += at % whole_size * stride;
      stride *= size;
      at /= whole_size;
    }
    return static_cast<std::size_t>(place);
  }

  [[nodiscard]] std::vector<std::int64_t> common(const Tensor& a, const Tensor& b) const {
    std::vector<std::int64_t> result(std::max(a.dims.size(), b.dims.size()), 1);
    for (const Tensor* one : {&a, &b}) {
      for (std::size_t i = 0; i < one->dims.size(); ++i) {
        const std::int64_t size = one->dims[one->dims.size() - 1 - i];
        std::int64_t& place = result[result.size() - 1 - i];
        if (size != 1 && place != 1 && place != size) refuse("of shapes that do not match");
        if (size != 1) place = size;
      }
    }
    return result;
  }

  void arithmetic() {
    const Tensor& a = in(0);
    const Tensor& b = in(1);
    Tensor made{.dims = common(a, b), .type = a.type};
    const bool are_whole = is_whole_type(a.type) && is_whole_type(b.type);
    const std::int64_t count = count_of(made.dims);
    for (std::int64_t k = 0; k < count; ++k) {
      const double x = a.numbers[place_of(k, made.dims, a.dims)];
      const double y = b.numbers[place_of(k, made.dims, b.dims)];
      const double value = node_->op == "Add"   ? x + y
                           : node_->op == "Sub" ? x - y
                           : node_->op == "Mul" ? x * y
                                                : x / y;
      made.numbers.push_back(are_whole ? std::trunc(value) : value);
    }
    const auto probability = probabilities_.find(name_of(1));
    put(std::move(made));
    if (node_->op == "Sub" && probability != probabilities_.end()) mark(-probability->second);
  }

  void product() {
    const Tensor& x = in(0);
    const Tensor& w = in(1);
    if (x.dims.size() != 2 || w.dims.size() != 2 || whole("transA", 0) != 0)
      refuse("of what is no matrix");
    const bool is_turned = whole("transB", 0) != 0;
    const auto n = static_cast<std::size_t>(x.dims[1]);
    const auto units = static_cast<std::size_t>(w.dims[is_turned ? 0 : 1]);
    if (n * units != w.numbers.size()) refuse("of matrices that do not match");
    Tensor made{.dims = {x.dims[0], static_cast<std::int64_t>(units)}, .type = x.type};
    made.numbers.assign(static_cast<std::size_t>(x.dims[0]) * units, 0);
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.dims[0]); ++row) {
      const double* const values = x.numbers.data() + row * n;
      double* const sums = made.numbers.data() + row * units;
      // In the order in which the weights are stored; each sum goes through the inputs in theirs.
      if (is_turned) {
        for (std::size_t k = 0; k < units; ++k) {
          for (std::size_t i = 0; i < n; ++i) sums[k] += values[i] * w.numbers[k * n + i];
        }
      } else {
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t k = 0; k < units; ++k) sums[k] += values[i] * w.numbers[i * units + k];
        }
      }
    }
    if (node_->op == "Gemm") add_bias(made);
    put(std::move(made));
  }

  void add_bias(Tensor& made) {
    const double alpha = real("alpha", 1);
    const double beta = real("beta", 1);
    for (double& sum : made.numbers) sum *= alpha;
    if (!has_input(2)) return;
    const Tensor& bias = in(2);
    if (common(made, bias) != made.dims) refuse("of shapes that do not match");
    for (std::size_t k = 0; k < made.numbers.size(); ++k)
      made.numbers[k] +=
          beta * bias.numbers[place_of(static_cast<std::int64_t>(k), made.dims, bias.dims)];
  }

  void activation() {
    Tensor made = in(0);
    const bool is_score = node_->op == "Sigmoid" && count_of(made.dims) == batch;
    if (is_score) take_score(made.numbers.front());
    for (double& x : made.numbers) {
      if (node_->op == "Relu") x = std::max(x, 0.0);
      if (node_->op == "Tanh") x = std::tanh(x);
      if (node_->op == "Sigmoid") x = 1 / (1 + std::exp(-x));
    }
    put(std::move(made));
    if (is_score) mark(1);
  }

  void softmax() {
    Tensor made = in(0);
    if (made.dims.size() != 2) refuse("of what is no matrix");
    const std::size_t along = axis(whole("axis", -1), 2);
    if (made.dims[1] == 2) take_score(made.numbers[1] - made.numbers[0]);
    const auto rows = static_cast<std::size_t>(made.dims[0]);
    const auto columns = static_cast<std::size_t>(made.dims[1]);
    const std::size_t groups = along == 1 ? rows : columns;
    const std::size_t entries = along == 1 ? columns : rows;
    for (std::size_t g = 0; g < groups; ++g) {
      const auto at = [&](std::size_t e) -> double& {
        return made.numbers[along == 1 ? g * columns + e : e * columns + g];
      };
      double largest = at(0);
      for (std::size_t e = 1; e < entries; ++e) largest = std::max(largest, at(e));
      double sum = 0;
      for (std::size_t e = 0; e < entries; ++e) sum += at(e) = std::exp(at(e) - largest);
      for (std::size_t e = 0; e < entries; ++e) at(e) /= sum;
    }
    put(std::move(made));
    mark(1);
  }

  void scale() {
    Tensor made = in(0);
    made.type = float_type;
    if (made.dims.size() != 2) refuse("of what is no matrix");
    for (std::size_t k = 0; k < made.numbers.size(); ++k) {
      const std::size_t column = k % static_cast<std::size_t>(made.dims[1]);
      const auto at = [&](const char* name, double otherwise) {
        const Attribute* found = node_->find(name);
        if (found == nullptr || found->floats.empty()) return otherwise;
        return found->floats[std::min(column, found->floats.size() - 1)];
      };
      made.numbers[k] = (made.numbers[k] - at("offset", 0)) * at("scale", 1);
    }
    put(std::move(made));
  }

  void impute() {
    Tensor made = in(0);
    const Attribute* values = node_->find("imputed_value_floats");
    const double replaced = real("replaced_value_float", 0);
    if (is_whole_type(made.type) || values == nullptr || values->floats.empty() ||
        made.dims.size() != 2)
      refuse("is not executed without a table of numbers and imputed_value_floats");
    for (std::size_t k = 0; k < made.numbers.size(); ++k) {
      const std::size_t column = k % static_cast<std::size_t>(made.dims[1]);
      const bool is_replaced =
          std::isnan(replaced) ? std::isnan(made.numbers[k]) : made.numbers[k] == replaced;
      if (is_replaced)
        made.numbers[k] = values->floats[std::min(column, values->floats.size() - 1)];
    }
    put(std::move(made));
  }

  void cast() {
    Tensor made = in(0);
    const std::int64_t to = whole("to", 0);
    if (to == string_type) {
      for (const double number : made.numbers) made.texts.push_back(fmt::format("{}", number));
      made.numbers.clear();
    } else if (to == float_type || to == double_type || is_whole_type(to)) {
      for (const std::string& text : made.texts)
        made.numbers.push_back(std::strtod(text.c_str(), nullptr));
      made.texts.clear();
      for (double& number : made.numbers) {
        if (is_whole_type(to)) number = std::trunc(number);
      }
    } else {
      refuse(fmt::format("casts to the element type {}, which is not executed", to));
    }
    made.type = to;
    put(std::move(made));
    mark_as_input();
  }

  // ── shapes and choices ─────────────────────────────────────────────────────────────────────────

  // Not copied: it may be large.
  void constant() { known_[node_->outputs.front()] = &node_->find("value")->tensors.front(); }

  void same() {
    put(in(0));
    mark_as_input();
  }

  void dropout() {
    if (has_input(2) && in(2).numbers != std::vector{0.0}) refuse("trains");
    same();
  }

  void put_as(std::vector<std::int64_t> dims) {
    Tensor made = in(0);
    if (count_of(dims) != count_of(made.dims))
      refuse(fmt::format("makes [{}] of [{}]", fmt::join(dims, ", "), fmt::join(made.dims, ", ")));
    made.dims = std::move(dims);
    put(std::move(made));
    mark_as_input();
  }

  void flatten() {
    const std::vector<std::int64_t>& from = in(0).dims;
    const std::int64_t given = whole("axis", 1);
    const auto rank = static_cast<std::int64_t>(from.size());
    const std::int64_t before = given < 0 ? given + rank : given;
    if (before < 0 || before > rank) refuse("the axis is out of range");
    const std::int64_t rows = count_of({from.begin(), from.begin() + before});
    put_as({rows, count_of({from.begin() + before, from.end()})});
  }

  void reshape() {
    const std::vector<std::int64_t>& from = in(0).dims;
    std::vector<std::int64_t> to;
    std::int64_t rest = count_of(from);
    for (const double size : in(1).numbers) {
      const bool is_copied = size == 0 && whole("allowzero", 0) == 0 && to.size() < from.size();
      to.push_back(is_copied ? from[to.size()] : static_cast<std::int64_t>(size));
      if (to.back() > 0) rest /= to.back();
    }
    for (std::int64_t& size : to) {
      if (size == -1) size = rest;
    }
    // A model of one row at a time; both here have one each.
    if (!to.empty() && to.front() == 1 && batch * count_of(to) == count_of(from))
      to.front() = batch;
    put_as(std::move(to));
  }

  [[nodiscard]] std::vector<std::int64_t> axes() const {
    if (const Attribute* given = node_->find("axes")) return given->ints;
    if (!has_input(1)) return {};
    return {in(1).numbers.begin(), in(1).numbers.end()};
  }

  void squeeze() {
    const std::vector<std::int64_t>& from = in(0).dims;
    std::vector<bool> is_dropped(from.size());
    for (const std::int64_t one : axes()) is_dropped[axis(one, from.size())] = true;
    std::vector<std::int64_t> to;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!is_dropped[i] && !(axes().empty() && from[i] == 1)) to.push_back(from[i]);
    }
    put_as(std::move(to));
  }

  void unsqueeze() {
    std::vector<std::int64_t> to = in(0).dims;
    std::vector<std::size_t> added;
    const std::vector<std::int64_t> given = axes();
    for (const std::int64_t one : given) added.push_back(axis(one, to.size() + given.size()));
    std::sort(added.begin(), added.end());
    for (const std::size_t one : added)
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(std::min(one, to.size())), 1);
    put_as(std::move(to));
  }

  void concat() {
    Tensor made{.dims = in(0).dims, .type = in(0).type};
    if (node_->op != "Concat") made.type = float_type;
    const std::size_t along = axis(node_->op == "Concat" ? whole("axis", 1) : 1, made.dims.size());
    made.dims[along] = 0;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
      if (in(k).dims.size() != made.dims.size()) refuse("of shapes that do not match");
      made.dims[along] += in(k).dims[along];
    }
    const std::int64_t blocks =
        count_of({made.dims.begin(), made.dims.begin() + static_cast<std::ptrdiff_t>(along)});
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::size_t k = 0; k < node_->inputs.size(); ++k)
        append_block(in(k), block, blocks, made);
    }
    const auto first = probabilities_.find(name_of(0));
    const bool has_probabilities = first != probabilities_.end();
    put(std::move(made));
    if (has_probabilities) mark(1);
  }

  /// The entries of one of `blocks` equal parts.
  static void append_block(const Tensor& from, std::int64_t block, std::int64_t blocks,
                           Tensor& to) {
    const auto append = [&](const auto& entries, auto& into) {
      const auto size = static_cast<std::ptrdiff_t>(entries.size()) / blocks;
      into.insert(into.end(), entries.begin() + block * size, entries.begin() + (block + 1) * size);
    };
    append(from.numbers, to.numbers);
    append(from.texts, to.texts);
  }

  void gather() {
    const Tensor& from = in(0);
    const Tensor& indices = in(1);
    const bool is_gather = node_->op == "Gather";
    const std::size_t rank = from.dims.size();
    const std::size_t along = axis(is_gather ? whole("axis", 0) : -1, rank);
    const auto place = from.dims.begin() + static_cast<std::ptrdiff_t>(along);
    const std::int64_t before = count_of({from.dims.begin(), place});
    const std::int64_t after = count_of({place + 1, from.dims.end()});
    Tensor made{.dims = {from.dims.begin(), place}, .type = from.type};
    if (is_gather) {
      made.dims.insert(made.dims.end(), indices.dims.begin(), indices.dims.end());
    } else {
      if (made.dims.empty()) made.dims.push_back(1);  // of a list: one row
      made.dims.push_back(static_cast<std::int64_t>(indices.numbers.size()));
    }
    made.dims.insert(made.dims.end(), place + 1, from.dims.end());
    for (std::int64_t b = 0; b < before; ++b) {
      for (const double index : indices.numbers) {
        if (!(index >= 0 && index < static_cast<double>(*place)))
          refuse(fmt::format("the index {}", index));
        for (std::int64_t a = 0; a < after; ++a) {
          const auto at =
              static_cast<std::size_t>((b * *place + static_cast<std::int64_t>(index)) * after + a);
          if (from.type == string_type) made.texts.push_back(from.texts[at]);
          if (from.type != string_type) made.numbers.push_back(from.numbers[at]);
        }
      }
    }
    put(std::move(made));
    mark_as_input();
  }

  // ── levels and labels ──────────────────────────────────────────────────────────────────────────

  void one_hot() {
    const Tensor& from = in(0);
    Tensor made{.dims = from.dims, .type = float_type};
    const Attribute* texts = node_->find("cats_strings");
    const Attribute* codes = node_->find("cats_int64s");
    const bool are_texts = from.type == string_type;
    const std::size_t count = are_texts ? (texts == nullptr ? 0 : texts->strings.size())
                                        : (codes == nullptr ? 0 : codes->ints.size());
    made.dims.push_back(static_cast<std::int64_t>(count));
    for (std::size_t k = 0; k < (are_texts ? from.texts.size() : from.numbers.size()); ++k) {
      for (std::size_t c = 0; c < count; ++c) {
        const bool is_there = are_texts ? from.texts[k] == texts->strings[c]
                                        : from.numbers[k] == static_cast<double>(codes->ints[c]);
        made.numbers.push_back(is_there ? 1 : 0);
      }
    }
    put(std::move(made));
  }

  /// The place of an entry among the keys; past the end where it is none of them.
  [[nodiscard]] std::size_t key_of(const Tensor& from, std::size_t k) const {
    const auto place = [](const auto& list, const auto& wanted) {
      return static_cast<std::size_t>(std::find(list.begin(), list.end(), wanted) - list.begin());
    };
    const Attribute* classes = node_->find("classes_strings");
    if (from.type == string_type) {
      const Attribute* keys = classes != nullptr ? classes : node_->find("keys_strings");
      if (keys == nullptr) refuse("has no keys for texts");
      return place(keys->strings, from.texts[k]);
    }
    if (classes != nullptr) return static_cast<std::size_t>(from.numbers[k]);
    if (const Attribute* keys = node_->find("keys_int64s"))
      return place(keys->ints, static_cast<std::int64_t>(from.numbers[k]));
    if (const Attribute* keys = node_->find("keys_floats"))
      return place(keys->floats, from.numbers[k]);
    refuse("has no keys for numbers");
  }

  void encode() {
    const Tensor& from = in(0);
    Tensor made{.dims = from.dims};
    const Attribute* floats = node_->find("values_floats");
    const Attribute* ints = node_->find("values_int64s");
    const Attribute* strings = node_->find("values_strings");
    if (strings == nullptr && from.type != string_type) strings = node_->find("classes_strings");
    made.type = strings != nullptr ? string_type : floats != nullptr ? float_type : int64_type;
    const std::int64_t count = count_of(from.dims);
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      const std::size_t key = key_of(from, k);
      const std::size_t values = strings != nullptr  ? strings->strings.size()
                                 : floats != nullptr ? floats->floats.size()
                                 : ints != nullptr   ? ints->ints.size()
                                                     : key + 1;
      if (key >= values) refuse("has no value for a level");
      if (strings != nullptr) {
        made.texts.push_back(strings->strings[key]);
      } else {
        made.numbers.push_back(floats != nullptr ? floats->floats[key]
                               : ints != nullptr ? static_cast<double>(ints->ints[key])
                                                 : static_cast<double>(key));
      }
    }
    put(std::move(made));
  }

  void classify() {
    const Tensor& x = in(0);
    const std::vector<double>& w = node_->find("coefficients")->floats;
    const Attribute* intercepts = node_->find("intercepts");
    if (x.dims.size() != 2) refuse("of what is no matrix");
    const auto n = static_cast<std::size_t>(x.dims[1]);
    Tensor labels{.dims = {x.dims[0]}};
    Tensor scores{.dims = {x.dims[0], 2}, .type = float_type};
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.dims[0]); ++row) {
      std::vector<double> sums;
      for (std::size_t k = 0; k < w.size() / n; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += w[k * n + i] * x.numbers[row * n + i];
        if (intercepts != nullptr && !intercepts->floats.empty()) sum += intercepts->floats[k];
        sums.push_back(sum);
      }
      classify(sums, labels, scores);
    }
    keep(node_->outputs[0], std::move(labels));
    if (node_->outputs.size() < 2) return;
    keep(node_->outputs[1], std::move(scores));
    const Attribute* after = node_->find("post_transform");
    if (after != nullptr && after->s != "NONE") probabilities_[node_->outputs[1]] = 1;
  }

  void classify(const std::vector<double>& sums, Tensor& labels, Tensor& scores) {
    const Attribute* post = node_->find("post_transform");
    const std::string after = post == nullptr ? "NONE" : post->s;
    const bool is_pair = sums.size() == 2;
    const bool is_softmax = after == "SOFTMAX" && is_pair;
    const double score = is_softmax ? sums[1] - sums[0] : sums.back();
    if (labels.numbers.empty() && labels.texts.empty()) take_score(score);
    const bool is_event = is_pair ? sums[1] > sums[0] : score > 0;
    const Attribute* texts = node_->find("classlabels_strings");
    const Attribute* ints = node_->find("classlabels_ints");
    if (texts != nullptr && !texts->strings.empty()) {
      labels.type = string_type;
      labels.texts.push_back(texts->strings.at(is_event ? 1 : 0));
    } else {
      labels.type = int64_type;
      const bool has_labels = ints != nullptr && ints->ints.size() == 2;
      labels.numbers.push_back(has_labels ? static_cast<double>(ints->ints[is_event ? 1 : 0])
                                          : (is_event ? 1 : 0));
    }
    if (after == "NONE") {
      scores.numbers.push_back(is_pair ? sums[0] : 1 - score);
      scores.numbers.push_back(score);
    } else if (after == "LOGISTIC" || is_softmax) {
      const double p = 1 / (1 + std::exp(-score));
      scores.numbers.push_back(1 - p);
      scores.numbers.push_back(p);
    } else {
      refuse(fmt::format("post_transform {} is not executed", after));
    }
  }

  void arg_max() {
    const Tensor& from = in(0);
    if (from.dims.size() != 2) refuse("of what is no matrix");
    const std::size_t along = axis(whole("axis", 0), 2);
    if (!probabilities_.contains(name_of(0)) && from.dims[1] == 2)
      take_score(from.numbers[1] - from.numbers[0]);
    const auto columns = static_cast<std::size_t>(from.dims[1]);
    const auto groups = static_cast<std::size_t>(from.dims[1 - along]);
    const auto entries = static_cast<std::size_t>(from.dims[along]);
    Tensor made{.dims = {static_cast<std::int64_t>(groups)}, .type = int64_type};
    for (std::size_t g = 0; g < groups; ++g) {
      const auto at = [&](std::size_t e) {
        return from.numbers[along == 1 ? g * columns + e : e * columns + g];
      };
      std::size_t largest = 0;
      for (std::size_t e = 1; e < entries; ++e) {
        if (at(e) > at(largest)) largest = e;
      }
      made.numbers.push_back(static_cast<double>(largest));
    }
    if (whole("keepdims", 1) != 0)
      made.dims.insert(made.dims.begin() + static_cast<std::ptrdiff_t>(along), 1);
    put(std::move(made));
  }

  void normalize() {
    const Attribute* norm = node_->find("norm");
    if (norm == nullptr || norm->s != "L1" || in(0).dims.size() != 2) refuse("is not executed");
    Tensor made = in(0);
    const auto columns = static_cast<std::size_t>(made.dims[1]);
    for (std::size_t row = 0; row < static_cast<std::size_t>(made.dims[0]); ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < columns; ++k) sum += std::abs(made.numbers[row * columns + k]);
      for (std::size_t k = 0; k < columns; ++k) made.numbers[row * columns + k] /= sum;
    }
    put(std::move(made));
    mark_as_input();
  }

  /// The larger probability's label, which is what people read from a map.
  void zip() {
    const Tensor& from = in(0);
    const Attribute* texts = node_->find("classlabels_strings");
    const Attribute* ints = node_->find("classlabels_int64s");
    Tensor made{.dims = {from.dims.front()}, .type = texts != nullptr ? string_type : int64_type};
    for (std::size_t row = 0; row < static_cast<std::size_t>(from.dims.front()); ++row) {
      const std::size_t k = from.numbers[2 * row + 1] > from.numbers[2 * row] ? 1 : 0;
      if (texts != nullptr) made.texts.push_back(texts->strings.at(k));
      if (texts == nullptr) made.numbers.push_back(static_cast<double>(ints->ints.at(k)));
    }
    put(std::move(made));
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────

  /// That an output says of the first row what the sign of its score says.
  void check(const std::string& output, const std::string& event, double score) const {
    constexpr double undecided = 1e-6;
    if (std::abs(score) <= undecided) return;
    const Tensor& made = tensor(output);
    const auto probability = probabilities_.find(output);
    const bool is_pair = made.numbers.size() == 2 * batch;
    bool says_event = score > 0;
    if (probability != probabilities_.end()) {
      const double p = is_pair ? made.numbers[1] : made.numbers.front();
      says_event = (p > 0.5) == (probability->second > 0);
      if (std::abs(p - 0.5) <= undecided) return;
    } else if (made.type == string_type) {
      says_event = event.empty() || made.texts.front() == event;
    } else if (is_whole_type(made.type) && !is_pair) {
      says_event = fmt::format("{}", static_cast<std::int64_t>(made.numbers.front())) ==
                   (event.empty() ? "1" : event);
    }
    require_input(says_event == (score > 0),
                  "{}: the output \"{}\" of a row says another thing than the score, {:g}, that "
                  "was recognised; export the model without what stands between them",
                  *source_, output, score);
  }

  const Graph* graph_;
  const std::string* source_;
  const Node* node_ = nullptr;
  std::map<std::string, const Tensor*> known_;
  std::map<std::string, Tensor> made_;
  std::map<std::string, double> probabilities_;  // 1: of the event, −1: of the other label
  std::optional<double> score_;
};

}  // namespace

double interpret(const Graph& graph, const Schema& schema, std::span<const double> raw,
                 const std::string& event, const std::string& source) {
  return Interpreter(graph, schema, raw, source).score(event);
}

}  // namespace ellice::onnx

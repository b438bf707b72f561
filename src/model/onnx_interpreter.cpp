#include <algorithm>
#include <cmath>
#include <map>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/onnx_fold.hpp"

namespace ellice::onnx {

namespace {

/// One row of a tensor.
struct Row {
  std::vector<double> numbers = {};
  std::vector<std::string> texts = {};
};

/// Executes a graph that fold() has recognised on one row, operator for operator.
class Interpreter {
 public:
  Interpreter(const Graph& graph, const Schema& schema, std::span<const double> raw) {
    const auto text = [&](std::size_t j) {
      const Feature& feature = schema.features[j];
      return feature.is_number() ? std::string() : feature.levels[static_cast<std::size_t>(raw[j])];
    };
    // Levels that are codes count as these numbers where a column of numbers is asked for.
    const auto number = [&](std::size_t j, bool as_code) {
      if (!as_code) return raw[j];
      return std::strtod(text(j).c_str(), nullptr);
    };
    for (const auto& [name, tensor] : graph.constants)
      rows_[name] = {.numbers = tensor.numbers, .texts = tensor.texts};
    for (const Input& input : graph.inputs) {
      Row row;
      const std::optional<std::size_t> own = schema.find(input.name);
      for (std::size_t j = own.value_or(0); j < (own ? *own + 1 : schema.features.size()); ++j) {
        const std::vector<std::string>& levels = schema.features[j].levels;
        double ignored = 0;
        const bool is_code =
            !levels.empty() && std::all_of(levels.begin(), levels.end(), [&](const auto& level) {
              return parse_number(level, ignored);
            });
        row.numbers.push_back(number(j, is_code));
        row.texts.push_back(text(j));
      }
      if (input.type != string_type) row.texts.clear();
      rows_[input.name] = std::move(row);
    }
    for (const Node& node : graph.nodes) {
      run(node);
      if (score_) return;
    }
    const std::vector<double>& last = rows_[graph.outputs.front()].numbers;
    score_ = last.size() == 2 ? last[1] - last[0] : last.front();
  }

  [[nodiscard]] double score() const { return *score_; }

 private:
  const Row& in(const Node& node, std::size_t k) { return rows_[node.inputs[k]]; }

  void run(const Node& node) {
    Row out;
    if (node.op == "Constant") {
      const Tensor& tensor = node.find("value")->tensors.front();
      out = {.numbers = tensor.numbers, .texts = tensor.texts};
    } else if (node.op == "Concat" || node.op == "FeatureVectorizer") {
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const Row& part = in(node, k);
        out.numbers.insert(out.numbers.end(), part.numbers.begin(), part.numbers.end());
        out.texts.insert(out.texts.end(), part.texts.begin(), part.texts.end());
      }
    } else if (node.op == "Gather" || node.op == "ArrayFeatureExtractor") {
      const Row& from = in(node, 0);
      for (const double index : in(node, 1).numbers) {
        const auto k = static_cast<std::size_t>(index);
        if (k < from.numbers.size()) out.numbers.push_back(from.numbers[k]);
        if (k < from.texts.size()) out.texts.push_back(from.texts[k]);
      }
    } else if (node.op == "OneHotEncoder") {
      out.numbers = one_hot(node);
    } else if (node.op == "LabelEncoder") {
      out.numbers = coded(node);
    } else if (node.op == "LinearClassifier") {
      return classify(node);
    } else if (node.op == "Sigmoid" && in(node, 0).numbers.size() == 1) {
      score_ = in(node, 0).numbers.front();
      return;
    } else if (node.op == "Softmax") {
      score_ = in(node, 0).numbers[1] - in(node, 0).numbers[0];
      return;
    } else if (node.op == "MatMul" || node.op == "Gemm") {
      out.numbers = product(node);
    } else if (node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div") {
      out.numbers = arithmetic(node);
    } else {
      out = in(node, 0);
      for (std::size_t k = 0; k < out.numbers.size(); ++k)
        out.numbers[k] = elementwise(node, out.numbers[k], k);
    }
    rows_[node.outputs.front()] = std::move(out);
  }

  static double elementwise(const Node& node, double x, std::size_t k) {
    if (node.op == "Relu") return std::max(x, 0.0);
    if (node.op == "Tanh") return std::tanh(x);
    if (node.op == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (node.op != "Scaler") return x;
    const auto at = [&](const char* name, double otherwise) {
      const Attribute* found = node.find(name);
      if (found == nullptr || found->floats.empty()) return otherwise;
      return found->floats[std::min(k, found->floats.size() - 1)];
    };
    return (x - at("offset", 0)) * at("scale", 1);
  }

  std::vector<double> arithmetic(const Node& node) {
    const std::vector<double>& a = in(node, 0).numbers;
    const std::vector<double>& b = in(node, 1).numbers;
    std::vector<double> result;
    for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k) {
      const double x = a.size() == 1 ? a.front() : a[k];
      const double y = b.size() == 1 ? b.front() : b[k];
      result.push_back(node.op == "Add"   ? x + y
                       : node.op == "Sub" ? x - y
                       : node.op == "Mul" ? x * y
                                          : x / y);
    }
    return result;
  }

  std::vector<double> product(const Node& node) {
    const std::vector<double>& x = in(node, 0).numbers;
    const std::vector<double>& w = in(node, 1).numbers;
    const auto flag = [&](const char* name) {
      const Attribute* found = node.find(name);
      return found != nullptr && found->i != 0;
    };
    const auto factor = [&](const char* name) {
      const Attribute* found = node.find(name);
      return found == nullptr ? 1 : found->f;
    };
    const std::size_t units = w.size() / x.size();
    std::vector<double> result;
    for (std::size_t k = 0; k < units; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        sum += x[i] * (flag("transB") ? w[k * x.size() + i] : w[i * units + k]);
      if (node.op == "Gemm") {
        sum *= factor("alpha");
        if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
          const std::vector<double>& c = in(node, 2).numbers;
          sum += factor("beta") * (c.size() == 1 ? c.front() : c[k]);
        }
      }
      result.push_back(sum);
    }
    return result;
  }

  std::vector<double> one_hot(const Node& node) {
    const Row& row = in(node, 0);
    std::vector<double> result;
    const Attribute* texts = node.find("cats_strings");
    const Attribute* codes = node.find("cats_int64s");
    for (std::size_t k = 0; k < row.numbers.size(); ++k) {
      if (texts != nullptr && !texts->strings.empty()) {
        for (const std::string& text : texts->strings)
          result.push_back(k < row.texts.size() && row.texts[k] == text ? 1 : 0);
      } else if (codes != nullptr) {
        for (const std::int64_t code : codes->ints)
          result.push_back(row.numbers[k] == static_cast<double>(code) ? 1 : 0);
      }
    }
    return result;
  }

  std::vector<double> coded(const Node& node) {
    const Row& row = in(node, 0);
    const Attribute* keys = node.find("keys_strings");
    if (keys == nullptr) keys = node.find("classes_strings");
    const Attribute* floats = node.find("values_floats");
    const Attribute* ints = node.find("values_int64s");
    std::vector<double> result;
    if (row.texts.empty()) return row.numbers;
    for (const std::string& text : row.texts) {
      const auto found = std::find(keys->strings.begin(), keys->strings.end(), text);
      const auto k = static_cast<std::size_t>(found - keys->strings.begin());
      result.push_back(floats != nullptr ? floats->floats[k]
                       : ints != nullptr ? static_cast<double>(ints->ints[k])
                                         : static_cast<double>(k));
    }
    return result;
  }

  void classify(const Node& node) {
    const std::vector<double>& x = in(node, 0).numbers;
    const std::vector<double>& w = node.find("coefficients")->floats;
    const Attribute* intercepts = node.find("intercepts");
    std::vector<double> scores;
    for (std::size_t k = 0; k < w.size() / x.size(); ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += w[k * x.size() + i] * x[i];
      if (intercepts != nullptr && !intercepts->floats.empty()) sum += intercepts->floats[k];
      scores.push_back(sum);
    }
    const Attribute* after = node.find("post_transform");
    const bool is_softmax = after != nullptr && after->s == "SOFTMAX";
    score_ = is_softmax && scores.size() == 2 ? scores[1] - scores[0] : scores.back();
  }

  std::map<std::string, Row> rows_;
  std::optional<double> score_;
};

}  // namespace

double interpret(const Graph& graph, const Schema& schema, std::span<const double> raw) {
  return Interpreter(graph, schema, raw).score();
}

}  // namespace ellice::onnx

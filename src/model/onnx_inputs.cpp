#include "model/onnx_inputs.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"

namespace ellice::onnx {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// What every release of skl2onnx leaves as it is; letters outside of ASCII some keep, others not.
bool is_plain(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Whether a name is what is made of a feature's name, or that name itself.
bool may_be(std::string_view name, std::string_view feature) {
  if (name == feature) return true;
  if (!feature.empty() && is_digit(feature.front())) {
    if (!name.starts_with('_')) return false;
    name.remove_prefix(1);
  }
  // An underscore for each character.
  std::size_t at = 0;
  for (std::size_t i = 0; i < feature.size();) {
    std::size_t end = i + 1;
    while (end < feature.size() && continues_character(feature[end])) ++end;
    const std::string_view character = feature.substr(i, end - i);
    i = end;
    if (name.substr(at).starts_with(character)) {
      at += character.size();
    } else if (!is_plain(character.front()) && name.substr(at).starts_with('_')) {
      ++at;
    } else {
      return false;
    }
  }
  return at == name.size();
}

/// Whether some name has what skl2onnx replaces: then all of them stand as they were.
bool are_verbatim(const std::vector<Input>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Input& input) {
    const std::string& name = input.name;
    const auto is_replaced = [](char c) {
      return !is_plain(c) && c != '+' && static_cast<unsigned char>(c) < 0x80;
    };
    return (!name.empty() && is_digit(name.front())) ||
           std::any_of(name.begin(), name.end(), is_replaced);
  });
}

/// Those features whose name it may be.
std::vector<std::size_t> candidates(const std::string& name, const Schema& schema,
                                    bool is_verbatim) {
  std::vector<std::size_t> found;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const std::string& feature = schema.features[j].name;
    if (is_verbatim ? name == feature : may_be(name, feature)) found.push_back(j);
  }
  return found;
}

}  // namespace

InputFeatures features_of_inputs(const Graph& graph, const Schema& schema,
                                 const std::string& source) {
  const std::vector<Input>& inputs = graph.inputs;
  require_input(!inputs.empty(), "{}: the graph has no inputs", source);
  std::vector<std::string> names;
  for (const Feature& feature : schema.features) names.push_back(feature.name);
  const bool is_verbatim = are_verbatim(inputs);
  InputFeatures result;
  for (const Input& input : inputs) {
    const std::vector<std::size_t> found = candidates(input.name, schema, is_verbatim);
    if (found.empty() && inputs.size() == 1) return {std::nullopt};
    require_input(!found.empty(), "{}: the input \"{}\" is no feature of the schema; {}", source,
                  input.name, suggestion(input.name, names));
    require_input(found.size() == 1,
                  "{}: the input \"{}\" may be \"{}\" or \"{}\", as exports write underscores for "
                  "other signs; give these columns names that differ in letters and digits, in the "
                  "model and in the schema",
                  source, input.name, names[found.front()], names[found.back()]);
    const auto before = std::find(result.begin(), result.end(), found.front());
    require_input(before == result.end(), "{}: the inputs \"{}\" and \"{}\" are both \"{}\"",
                  source, inputs[static_cast<std::size_t>(before - result.begin())].name,
                  input.name, names[found.front()]);
    result.emplace_back(found.front());
  }
  return result;
}

}  // namespace ellice::onnx

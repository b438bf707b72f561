#include "model/input_groups.hpp"

#include "ellice/core/error.hpp"

namespace ellice {

std::vector<InputGroup> input_groups(const Encoder& encoder, const TrainingOptions& options) {
  std::vector<InputGroup> groups;
  if (options.model != NetworkKind::nam) return groups;
  const std::vector<Feature>& features = encoder.schema().features;
  for (std::size_t j = 0; j < features.size(); ++j) {
    const auto asked = options.monotone.find(features[j].name);
    groups.push_back({.columns = encoder.column_count(j),
                      .monotone = asked == options.monotone.end() ? Monotone::any : asked->second});
  }
  return groups;
}

void check_monotone(const Schema& schema, const TrainingOptions& options) {
  if (options.monotone.empty()) return;
  require(options.model == NetworkKind::nam,
          "`monotone` is for neural additive models, `model: nam`");
  require(!options.refit,
          "`refit` fits the last layer without regard to signs; it does not go with `monotone`");
  std::vector<std::string> names;
  for (const Feature& feature : schema.features) names.push_back(feature.name);
  for (const auto& [name, way] : options.monotone) {
    const std::optional<std::size_t> found = schema.find(name);
    require(found.has_value(), "`monotone`: there is no feature \"{}\"; {}", name,
            suggestion(name, names));
    const Feature& feature = schema.features[*found];
    require(
        feature.kind != FeatureKind::categorical && !feature.is_binned(),
        "`monotone`: \"{}\" is {}, expected a feature whose values have an order for the model: "
        "a number, whole number, ordinal or binary one",
        name, enum_name(feature.kind));
  }
}

}  // namespace ellice

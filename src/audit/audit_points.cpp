#include "audit/audit_points.hpp"

#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

constexpr int written_digits = 6;
constexpr std::size_t most_points = 200000;

double rounded(double value) {
  double result = 0;
  (void)parse_number(fmt::format("{:.{}g}", value, written_digits), result);
  return result;
}

std::optional<double> number_at(const Json& node, const char* key) {
  const auto found = node.find(key);
  if (found == node.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<Hint> read(const Json& node, const Schema& schema, Index columns) {
  if (!node.is_object() || node.contains("parts")) return std::nullopt;
  const auto point = node.find("point");
  const std::optional<double> price = number_at(node, "price");
  const double cone = number_at(node, "cone").value_or(0);
  const double place = number_at(node, "place").value_or(0);
  const bool fits = point != node.end() && point->is_array() && price && *price >= 0 &&
                    static_cast<Index>(point->size()) == columns && cone >= 0 && cone < 1e6 &&
                    place >= 0 && place < 1e6;
  if (!fits) return std::nullopt;
  Hint hint{.cone = static_cast<std::size_t>(cone),
            .point = Vector(columns),
            .price = *price,
            .place = static_cast<int>(place),
            .is_single = node.contains("single")};
  for (Index i = 0; i < columns; ++i) {
    const Json& entry = (*point)[static_cast<std::size_t>(i)];
    if (!entry.is_number()) return std::nullopt;
    hint.point(i) = entry.get<double>();
  }
  const auto split = node.find("split");
  if (split != node.end() && split->is_string()) hint.unit = schema.find(split->get<std::string>());
  return hint;
}

}  // namespace

std::vector<Hint> points_of(const Json& log, const Schema& schema, Index columns) {
  std::vector<Hint> points;
  if (!log.is_array()) return points;
  for (const Json& node : log) {
    std::optional<Hint> hint = read(node, schema, columns);
    if (!hint || points.size() >= most_points) return {};
    points.push_back(std::move(*hint));
  }
  return points;
}

Json written(const Hint& hint, const Schema& schema) {
  Json node = {{"price", hint.price}, {"point", to_json_array(hint.point)}};
  if (hint.cone > 0) node["cone"] = hint.cone;
  if (!hint.unit) return node;
  node["split"] = schema.features[*hint.unit].name;
  if (hint.place > 0) node["place"] = hint.place;
  if (hint.is_single) node["single"] = true;
  return node;
}

void round_digits(Hint& hint) {
  for (double& entry : hint.point) entry = rounded(entry);
  hint.price = rounded(hint.price);
}

}  // namespace ellice::audit

#include "data/schema_bins.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

// Beyond these a search takes long and a bin has hardly any rows.
constexpr std::size_t most_bins = 250;

std::vector<double> read_edges(const YamlEntry& entry) {
  std::vector<double> edges;
  for (const YamlEntry& item : entry.list("the list of numbers at which bins end")) {
    const double edge = item.number();
    if (!edges.empty() && edge == edges.back()) {
      item.fault("{} stands twice, expected each edge once", number_text(edge));
    }
    if (!edges.empty() && edge < edges.back()) {
      item.wrong(
          fmt::format("more than the edge before it, which is {}", number_text(edges.back())));
    }
    edges.push_back(edge);
  }
  return edges;
}

std::vector<Bins::Code> read_codes(const YamlEntry& entry) {
  std::vector<Bins::Code> codes;
  for (const auto& [name, member] : entry.members("a map such as {\"-9\": no record}")) {
    Bins::Code code{.text = member.filled_text("what the code means")};
    if (!parse_number(name, code.number)) {
      member.fault("found the code \"{}\", expected a number", name);
    }
    for (const Bins::Code& other : codes) {
      if (other.number == code.number) {
        member.fault("the code {} stands twice, expected each once", number_text(code.number));
      }
      if (other.text == code.text) {
        member.fault("code {} has the text \"{}\" as well, expected another",
                     number_text(other.number), code.text);
      }
    }
    codes.push_back(std::move(code));
  }
  return codes;
}

std::vector<double> read_values(const YamlEntry& entry, const Bins& bins) {
  std::vector<double> values;
  for (const YamlEntry& item : entry.list("the list of what the model sees of each bin"))
    values.push_back(item.number());
  if (values.size() != bins.count()) {
    entry.fault("found {} values, expected {}: one for each of the {} intervals{}", values.size(),
                bins.count(), bins.intervals(),
                bins.special.empty()
                    ? std::string()
                    : fmt::format(", then one for each of the {} codes", bins.special.size()));
  }
  return values;
}

/// The ends that the schema gives; every bin has numbers within them.
void read_ends(const YamlRecord& record, Bins& bins) {
  const auto read = [&](const char* key, std::optional<double>& end, double edge, auto is_beyond) {
    const YamlEntry* const entry = record.find(key);
    if (entry == nullptr) return;
    end = entry->number();
    if (bins.are_whole && *end != std::nearbyint(*end))
      entry->wrong("a whole number, as the feature has them alone");
    if (!bins.edges.empty() && !is_beyond(*end, edge)) {
      entry->wrong(fmt::format("a number of the {} bin, which ends at {}",
                               key[0] == 'l' ? "first" : "last", number_text(edge)));
    }
  };
  const bool is_right = bins.closed == Bins::Closed::right;
  const double first = bins.edges.empty() ? 0 : bins.edges.front();
  const double last = bins.edges.empty() ? 0 : bins.edges.back();
  read("lowest", bins.lowest, first,
       [&](double end, double edge) { return end < edge || (is_right && end == edge); });
  read("highest", bins.highest, last,
       [&](double end, double edge) { return end > edge || (!is_right && end == edge); });
  if (bins.lowest && bins.highest && *bins.lowest > *bins.highest) {
    record.find("highest")->wrong(
        fmt::format("at least lowest, which is {}", number_text(*bins.lowest)));
  }
}

void check_allowed(const YamlEntry& entry, const Feature& feature) {
  for (const Value& value : feature.allowed) {
    const double number = std::get<double>(value);
    if (!feature.may_be(number)) {
      entry.fault("found {}, expected {}", number_text(number),
                  feature.expected_in_place_of(number));
    }
    if (feature.bins.code(number) != nullptr) {
      entry.fault("{} is a code, to which no plan leads; take it out of allowed",
                  number_text(number));
    }
  }
}

}  // namespace

double usual_bin_step(const Bins& bins) {
  constexpr int most_places = 9;
  int places = 0;
  for (const double edge : bins.edges) {
    for (double power = std::pow(10.0, places);
         places < most_places &&
         std::abs(edge * power - std::nearbyint(edge * power)) > 1e-9 * std::abs(edge * power);
         power *= 10) {
      ++places;
    }
  }
  return places == 0 ? 1 : 1 / std::pow(10.0, places + 1);
}

void read_bins(const YamlRecord& record, Feature& feature) {
  if (!feature.is_binned()) {
    for (const char* key : {"edges", "closed", "special", "values", "whole", "lowest", "highest"}) {
      if (const YamlEntry* const entry = record.find(key))
        entry->fault("a feature of kind {} has no {}; only binned ones do", enum_name(feature.kind),
                     key);
    }
    return;
  }
  const YamlEntry& edges = record.at("edges", "the list of numbers at which bins end");
  Bins& bins = feature.bins;
  bins.edges = read_edges(edges);
  if (const YamlEntry* const closed = record.find("closed"))
    bins.closed = closed->choice<Bins::Closed>();
  if (const YamlEntry* const special = record.find("special")) bins.special = read_codes(*special);
  if (bins.count() < 2) edges.fault("found no edges and no codes, expected at least two bins");
  if (bins.count() > most_bins)
    edges.fault("found {} bins, expected at most {}", bins.count(), most_bins);
  if (const YamlEntry* const values = record.find("values"))
    bins.values = read_values(*values, bins);
  read_ends(record, bins);
  if (!feature.step) feature.step = bins.are_whole ? 1 : usual_bin_step(bins);
  if (const YamlEntry* const allowed = record.find("allowed")) check_allowed(*allowed, feature);
}

void bins_to_json(const Bins& bins, Json& feature) {
  feature["edges"] = bins.edges;
  if (bins.closed != Bins::Closed::right) feature["closed"] = enum_name(bins.closed);
  for (const Bins::Code& code : bins.special)
    feature["special"][number_text(code.number)] = code.text;
  if (!bins.values.empty()) feature["values"] = bins.values;
  if (bins.are_whole) feature["whole"] = true;
  if (bins.lowest) feature["lowest"] = *bins.lowest;
  if (bins.highest) feature["highest"] = *bins.highest;
}

}  // namespace ellice

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

/// An end that the schema gives, as one that people have or as one that they do not reach; of whole
/// numbers always the outermost, `inside` of one that is not reached.
std::optional<Bins::End> read_end(const YamlRecord& record, const char* closed, const char* open,
                                  double inside, bool is_whole) {
  const YamlEntry* const has_it = record.find(closed);
  const YamlEntry* const misses_it = record.find(open);
  if (has_it == nullptr && misses_it == nullptr) return std::nullopt;
  if (has_it != nullptr && misses_it != nullptr)
    misses_it->fault("{} stands beside {}; expected one of the two", open, closed);
  const YamlEntry& entry = has_it != nullptr ? *has_it : *misses_it;
  Bins::End end{.at = entry.number() + 0.0, .is_open = has_it == nullptr};  // no −0
  if (is_whole && end.at != std::nearbyint(end.at))
    entry.wrong("a whole number, as the feature has them alone");
  if (is_whole && end.is_open) end = {.at = end.at + inside};
  return end;
}

/// Every bin has numbers between the ends.
void read_ends(const YamlRecord& record, Bins& bins) {
  bins.lowest = read_end(record, "lowest", "above", 1, bins.are_whole);
  bins.highest = read_end(record, "highest", "below", -1, bins.are_whole);
  const auto entry = [&](const char* closed, const char* open) -> const YamlEntry& {
    return record.find(closed) != nullptr ? *record.find(closed) : *record.find(open);
  };
  // Whether numbers lie between two ends.
  const auto has_room = [](const Bins::End& low, const Bins::End& high) {
    return low.at < high.at || (low.at == high.at && !low.is_open && !high.is_open);
  };
  const bool is_right = bins.closed == Bins::Closed::right;
  if (bins.lowest && !bins.edges.empty() &&
      !has_room(*bins.lowest, {.at = bins.edges.front(), .is_open = !is_right})) {
    entry("lowest", "above")
        .wrong(fmt::format("a number of the first bin, which ends at {}",
                           number_text(bins.edges.front())));
  }
  if (bins.highest && !bins.edges.empty() &&
      !has_room({.at = bins.edges.back(), .is_open = is_right}, *bins.highest)) {
    entry("highest", "below")
        .wrong(fmt::format("a number of the last bin, which begins at {}",
                           number_text(bins.edges.back())));
  }
  if (bins.lowest && bins.highest && !has_room(*bins.lowest, *bins.highest)) {
    entry("highest", "below")
        .wrong(fmt::format("more than the other end, which is {}", number_text(bins.lowest->at)));
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
    for (const char* key :
         {"edges", "closed", "special", "values", "whole", "lowest", "above", "highest", "below"}) {
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
  if (bins.lowest) feature[bins.lowest->is_open ? "above" : "lowest"] = bins.lowest->at;
  if (bins.highest) feature[bins.highest->is_open ? "below" : "highest"] = bins.highest->at;
}

}  // namespace ellice

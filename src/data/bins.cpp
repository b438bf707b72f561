// Bins of a number: which one it lies in, and what they are called.

#include <algorithm>

#include "core/infinity.hpp"
#include "core/number_text.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

std::size_t Bins::of(double number) const {
  for (std::size_t k = 0; k < special.size(); ++k) {
    if (special[k].number == number) return intervals() + k;
  }
  const auto end = closed == Closed::right ? std::lower_bound(edges.begin(), edges.end(), number)
                                           : std::upper_bound(edges.begin(), edges.end(), number);
  return static_cast<std::size_t>(end - edges.begin());
}

const Bins::Code* Bins::code(double number) const {
  const std::size_t bin = of(number);
  return bin < intervals() ? nullptr : &special[bin - intervals()];
}

double Bins::lower(std::size_t interval) const {
  if (interval > 0) return edges[interval - 1];
  return lowest ? lowest->at : -infinity;
}

double Bins::upper(std::size_t interval) const {
  if (interval < edges.size()) return edges[interval];
  return highest ? highest->at : infinity;
}

std::string Bins::name(std::size_t bin) const {
  if (bin >= intervals()) return number_text(special[bin - intervals()].number);
  const bool is_right = closed == Closed::right;
  const std::string low = bin == 0 ? "(-inf" : (is_right ? "(" : "[") + number_text(lower(bin));
  const std::string high =
      bin == edges.size() ? "inf)" : number_text(upper(bin)) + (is_right ? "]" : ")");
  return low + "," + high;
}

namespace {

/// «at least 0 and below 100», of ends that there may be.
std::string between(const std::optional<Bins::End>& low, const std::optional<Bins::End>& high) {
  std::string text;
  if (low) text = (low->is_open ? "above " : "at least ") + number_text(low->at);
  if (low && high) text += " and ";
  if (high) text += (high->is_open ? "below " : "at most ") + number_text(high->at);
  return text;
}

}  // namespace

std::string Bins::words(std::size_t bin) const {
  if (bin >= intervals()) return special[bin - intervals()].text;
  const bool is_right = closed == Closed::right;
  std::optional<End> low = lowest;
  std::optional<End> high = highest;
  if (bin > 0) low = End{.at = edges[bin - 1], .is_open = is_right};
  if (bin < edges.size()) high = End{.at = edges[bin], .is_open = !is_right};
  return low || high ? between(low, high) : "any number";
}

std::string Bins::range_words() const {
  return between(lowest, highest) + (special.empty() ? "" : ", or a code");
}

std::string Feature::expected_in_place_of(double number) const {
  if (!is_whole() || number == std::nearbyint(number)) {
    return "a number that has a bin: " + bins.range_words();
  }
  return is_binned() ? "a whole number, as of all of this feature (whole: true)" : "a whole number";
}

}  // namespace ellice

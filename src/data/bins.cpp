// Bins of a number: which one it lies in, and what they are called.

#include <algorithm>
#include <cmath>

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
  return interval == 0 ? -infinity : edges[interval - 1];
}

double Bins::upper(std::size_t interval) const {
  return interval < edges.size() ? edges[interval] : infinity;
}

std::string Bins::name(std::size_t bin) const {
  if (bin >= intervals()) return number_text(special[bin - intervals()].number);
  const bool is_right = closed == Closed::right;
  const std::string low = bin == 0 ? "(-inf" : (is_right ? "(" : "[") + number_text(lower(bin));
  const std::string high =
      bin == edges.size() ? "inf)" : number_text(upper(bin)) + (is_right ? "]" : ")");
  return low + "," + high;
}

std::string Bins::words(std::size_t bin) const {
  if (bin >= intervals()) return special[bin - intervals()].text;
  const bool is_right = closed == Closed::right;
  if (edges.empty()) return "any number";
  const auto above = [&] { return (is_right ? "above " : "at least ") + number_text(lower(bin)); };
  const auto below = [&](const char* right) {
    return (is_right ? right : "below ") + number_text(upper(bin));
  };
  if (bin == 0) return below("at most ");
  if (bin == edges.size()) return above();
  return above() + " and " + below("at most ");
}

std::string Bins::range_words() const {
  // An end that no bin has is kept as the next number inside, and people know it as itself.
  const auto words = [](double end, const char* has_it, const char* misses_it, double outside) {
    const std::string own = number_text(end);
    const std::string next = number_text(std::nextafter(end, outside));
    return next.size() < own.size() ? misses_it + next : has_it + own;
  };
  const std::string low = lowest ? words(*lowest, "at least ", "above ", -infinity) : "";
  const std::string high = highest ? words(*highest, "at most ", "below ", infinity) : "";
  const std::string ends = low + (low.empty() || high.empty() ? "" : " and ") + high;
  return special.empty() ? ends : ends + ", or a code";
}

std::string Feature::expected_in_place_of(double number) const {
  if (!is_whole() || number == std::nearbyint(number)) {
    return "a number that has a bin: " + bins.range_words();
  }
  return is_binned() ? "a whole number, as of all of this feature (whole: true)" : "a whole number";
}

}  // namespace ellice

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

}  // namespace ellice

#pragma once

// Values for the fields of any options struct, drawn from what its fields() says of them: an option
// that is new is drawn from then on.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"

namespace ellice::combination {

/// True once in `times`.
inline bool once_in(Random& random, std::uint64_t times) {
  return random.below(times) == 0;
}

template <class T>
const T& one_of(Random& random, const std::vector<T>& items) {
  return items[random.below(items.size())];
}

/// At an end of the range, just inside it, or well inside.
inline double draw_number(const Range& range, Random& random) {
  static const std::vector<double> distances = {0, 1e-9, 1e-3, 0.01, 0.1, 0.5, 1, 3, 30, 1e6};
  const double distance = one_of(random, distances);
  double value = 10 * random.normal();
  if (std::isfinite(range.lower) && std::isfinite(range.upper)) {
    value = range.lower + (range.upper - range.lower) * std::min(distance, 1.0);
  } else if (std::isfinite(range.lower)) {
    value = range.lower + distance;
  } else if (std::isfinite(range.upper)) {
    value = range.upper - distance;
  }
  return range.contains(value) ? value : range.lower + 0.25;
}

/// Few, because most such numbers say how much work to do.
inline int draw_whole(const Range& range, Random& random) {
  const double lower = std::max(range.lower, -3.0);
  const double value = lower + static_cast<double>(random.below(once_in(random, 4) ? 40 : 5));
  return static_cast<int>(std::min(value, range.upper));
}

template <class F>
void draw_field(F& value, const Range& range, Random& random) {
  if constexpr (IsOptional<F>::value) {
    value.reset();
    if (!once_in(random, 4)) draw_field(value.emplace(), range, random);
  } else if constexpr (std::is_same_v<F, bool>) {
    value = once_in(random, 2);
  } else if constexpr (std::is_enum_v<F>) {
    value = static_cast<F>(random.below(EnumNames<F>::names.size()));
  } else if constexpr (std::is_same_v<F, std::vector<int>>) {
    value.assign(1 + random.below(2), 0);
    for (int& entry : value) entry = draw_whole(range, random);
  } else if constexpr (std::is_same_v<F, int>) {
    value = draw_whole(range, random);
  } else if constexpr (std::is_same_v<F, std::uint64_t>) {
    value = random.below(1000);
  } else if constexpr (std::is_same_v<F, double>) {
    value = draw_number(range, random);
  }  // texts keep what they are
}

/// Each field once in `times`.
template <class T>
void draw_fields(T& options, Random& random, std::uint64_t times) {
  T::fields(options, [&](std::string_view /*name*/, auto& value, const Range& range,
                         std::string_view /*text*/) {
    if (once_in(random, times)) draw_field(value, range, random);
  });
}

/// All groups of options; `visit` gets the name under which messages and commands know a group.
template <class Options, class Visit>
void visit_groups(Options& options, const Visit& visit) {
  // A further group stops the compiler here, until it is visited.
  [[maybe_unused]] const auto& [exact, data, network, gradient, greedy, gumbel, baseline] = options;
  std::remove_const_t<Options>::groups(options, visit);
  visit("baseline", options.baseline);
}

}  // namespace ellice::combination

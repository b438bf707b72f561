#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// A stream of random numbers of our own: xoshiro256++ seeded through SplitMix64 (Blackman and
/// Vigna, 2021). The same seed gives the same bytes on every platform; standard distributions would
/// not. split(k) makes child k, a stream that depends on the parent's seed and k only, not on what
/// the parent has drawn: work item k draws from child k, whatever thread runs it.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  [[nodiscard]] Random split(std::uint64_t child) const;

  std::uint64_t bits();
  double uniform();                          // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t bound);  // {0, …, bound-1}, exactly uniform; bound > 0
  double normal();                           // standard normal
  Vector normal_vector(Index size);

  template <class T>
  void shuffle(std::vector<T>& items) {  // Fisher–Yates
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
};

}  // namespace ellice

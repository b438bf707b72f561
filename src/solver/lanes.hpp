#pragma once

// Eight instances side by side. The compiler maps the type to whatever vectors the machine has;
// every lane computes exactly what it would compute alone, so grouping never changes a result.

#include <cmath>
#include <cstdint>
#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

namespace ellice::lanes {

inline constexpr int width = 8;

using Lanes = double __attribute__((vector_size(width * sizeof(double))));
using Mask = std::int64_t __attribute__((vector_size(width * sizeof(std::int64_t))));

inline Lanes broadcast(double value) {
  return Lanes{} + value;
}

inline Lanes sqrt(Lanes value) {
  Lanes root;
  for (int l = 0; l < width; ++l) root[l] = std::sqrt(value[l]);
  return root;
}

inline Lanes abs(Lanes value) {
  return value < 0 ? -value : value;
}
inline Lanes max(Lanes left, Lanes right) {
  return left > right ? left : right;
}

inline bool any(Mask mask) {
#ifdef __AVX512DQ__
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0;
#else
  std::int64_t bits = 0;
  for (int l = 0; l < width; ++l) bits |= mask[l];
  return bits != 0;
#endif
}

/// `at` must be aligned to the size of Lanes.
inline Lanes load(const double* at) {
  return *reinterpret_cast<const Lanes*>(at);
}
inline void store(double* at, Lanes value) {
  *reinterpret_cast<Lanes*>(at) = value;
}

}  // namespace ellice::lanes

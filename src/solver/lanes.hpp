#pragma once

// Sixteen instances side by side, as vectors of the machine's width: the operations of one hide the
// latency of the others. Vectors wider than the machine's would be taken apart through memory.
// Every lane computes exactly what it would compute alone, so neither grouping nor width changes a
// result.

#include <cmath>
#include <cstdint>
#include <limits>
#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

namespace ellice::lanes {

#if defined(__AVX512F__)
inline constexpr int part = 8;
#elif defined(__AVX__)
inline constexpr int part = 4;
#else
inline constexpr int part = 2;
#endif
inline constexpr int width = 16;
inline constexpr int parts = width / part;

using Doubles = double __attribute__((vector_size(part * sizeof(double))));
using Integers = std::int64_t __attribute__((vector_size(part * sizeof(std::int64_t))));

struct Mask {
  Integers v[parts];
  [[nodiscard]] bool get(int lane) const { return v[lane / part][lane % part] != 0; }
  void clear(int lane) { v[lane / part][lane % part] = 0; }
};

struct Lanes {
  Doubles
      v[parts];  // not initialised unless written Lanes{}: there are many in SecularSolver::Group
  [[nodiscard]] double get(int lane) const { return v[lane / part][lane % part]; }
  void set(int lane, double value) { v[lane / part][lane % part] = value; }
};

inline Lanes broadcast(double value) {
  Lanes result;
  for (Doubles& v : result.v) v = Doubles{} + value;
  return result;
}

/// Part by part; the loop is short and known, so that nothing is left of it.
template <class Result, class Operation>
inline Result by_parts(const Operation& operation) {
  Result result;
  for (int p = 0; p < parts; ++p) result.v[p] = operation(p);
  return result;
}

#define ELLICE_LANES_ARITHMETIC(op)                                         \
  inline Lanes operator op(const Lanes& left, const Lanes& right) {         \
    return by_parts<Lanes>([&](int p) { return left.v[p] op right.v[p]; }); \
  }                                                                         \
  inline Lanes operator op(double left, const Lanes& right) {               \
    return by_parts<Lanes>([&](int p) { return left op right.v[p]; });      \
  }                                                                         \
  inline Lanes operator op(const Lanes& left, double right) {               \
    return by_parts<Lanes>([&](int p) { return left.v[p] op right; });      \
  }
ELLICE_LANES_ARITHMETIC(+)
ELLICE_LANES_ARITHMETIC(-)
ELLICE_LANES_ARITHMETIC(*)
ELLICE_LANES_ARITHMETIC(/)
#undef ELLICE_LANES_ARITHMETIC

#define ELLICE_LANES_COMPARISON(op)                                        \
  inline Mask operator op(const Lanes& left, const Lanes& right) {         \
    return by_parts<Mask>([&](int p) { return left.v[p] op right.v[p]; }); \
  }                                                                        \
  inline Mask operator op(const Lanes& left, double right) {               \
    return by_parts<Mask>([&](int p) { return left.v[p] op right; });      \
  }
ELLICE_LANES_COMPARISON(<)
ELLICE_LANES_COMPARISON(<=)
ELLICE_LANES_COMPARISON(>)
ELLICE_LANES_COMPARISON(>=)
#undef ELLICE_LANES_COMPARISON

inline Lanes operator-(const Lanes& value) {
  return by_parts<Lanes>([&](int p) { return -value.v[p]; });
}
inline Lanes& operator+=(Lanes& left, const Lanes& right) {
  return left = left + right;
}

inline Mask operator&(const Mask& left, const Mask& right) {
  return by_parts<Mask>([&](int p) { return left.v[p] & right.v[p]; });
}
inline Mask operator|(const Mask& left, const Mask& right) {
  return by_parts<Mask>([&](int p) { return left.v[p] | right.v[p]; });
}
inline Mask operator~(const Mask& mask) {
  return by_parts<Mask>([&](int p) { return ~mask.v[p]; });
}

inline Lanes select(const Mask& mask, const Lanes& yes, const Lanes& no) {
  return by_parts<Lanes>([&](int p) { return mask.v[p] ? yes.v[p] : no.v[p]; });
}

inline Lanes sqrt(const Lanes& value) {
  Lanes root;
  for (int p = 0; p < parts; ++p) {
    for (int l = 0; l < part; ++l) root.v[p][l] = std::sqrt(value.v[p][l]);
  }
  return root;
}

inline Lanes abs(const Lanes& value) {
  constexpr std::int64_t all_but_sign = std::numeric_limits<std::int64_t>::max();
  Lanes result;
  for (int p = 0; p < parts; ++p) {
    result.v[p] = reinterpret_cast<Doubles>(reinterpret_cast<Integers>(value.v[p]) & all_but_sign);
  }
  return result;
}
inline Lanes max(const Lanes& left, const Lanes& right) {
  return select(left > right, left, right);
}

inline bool any(const Mask& mask) {
  Integers either = mask.v[0];
  for (int p = 1; p < parts; ++p) either |= mask.v[p];
#ifdef __AVX512DQ__
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(either)) != 0;
#else
  std::int64_t bits = 0;
  for (int l = 0; l < part; ++l) bits |= either[l];
  return bits != 0;
#endif
}

/// `at` must be aligned to the size of Doubles.
inline Lanes load(const double* at) {
  const Doubles* from = reinterpret_cast<const Doubles*>(at);
  return by_parts<Lanes>([&](int p) { return from[p]; });
}
inline void store(double* at, const Lanes& value) {
  Doubles* to = reinterpret_cast<Doubles*>(at);
  for (int p = 0; p < parts; ++p) to[p] = value.v[p];
}

}  // namespace ellice::lanes

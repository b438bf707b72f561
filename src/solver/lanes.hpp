#pragma once

// Sixteen instances side by side, as two vectors of eight: the operations of one hide the latency
// of the other. The compiler maps them to whatever vectors the machine has; every lane computes
// exactly what it would compute alone, so grouping never changes a result.

#include <cmath>
#include <cstdint>
#include <limits>
#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

namespace ellice::lanes {

inline constexpr int part = 8;
inline constexpr int parts = 2;
inline constexpr int width = part * parts;

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

#define ELLICE_LANES_ARITHMETIC(op)                                 \
  inline Lanes operator op(const Lanes& left, const Lanes& right) { \
    return {{left.v[0] op right.v[0], left.v[1] op right.v[1]}};    \
  }                                                                 \
  inline Lanes operator op(double left, const Lanes& right) {       \
    return {{left op right.v[0], left op right.v[1]}};              \
  }                                                                 \
  inline Lanes operator op(const Lanes& left, double right) {       \
    return {{left.v[0] op right, left.v[1] op right}};              \
  }
ELLICE_LANES_ARITHMETIC(+)
ELLICE_LANES_ARITHMETIC(-)
ELLICE_LANES_ARITHMETIC(*)
ELLICE_LANES_ARITHMETIC(/)
#undef ELLICE_LANES_ARITHMETIC

#define ELLICE_LANES_COMPARISON(op)                                \
  inline Mask operator op(const Lanes& left, const Lanes& right) { \
    return {{left.v[0] op right.v[0], left.v[1] op right.v[1]}};   \
  }                                                                \
  inline Mask operator op(const Lanes& left, double right) {       \
    return {{left.v[0] op right, left.v[1] op right}};             \
  }
ELLICE_LANES_COMPARISON(<)
ELLICE_LANES_COMPARISON(<=)
ELLICE_LANES_COMPARISON(>)
ELLICE_LANES_COMPARISON(>=)
#undef ELLICE_LANES_COMPARISON

inline Lanes operator-(const Lanes& value) {
  return {{-value.v[0], -value.v[1]}};
}
inline Lanes& operator+=(Lanes& left, const Lanes& right) {
  return left = left + right;
}

inline Mask operator&(const Mask& left, const Mask& right) {
  return {{left.v[0] & right.v[0], left.v[1] & right.v[1]}};
}
inline Mask operator|(const Mask& left, const Mask& right) {
  return {{left.v[0] | right.v[0], left.v[1] | right.v[1]}};
}
inline Mask operator~(const Mask& mask) {
  return {{~mask.v[0], ~mask.v[1]}};
}

inline Lanes select(const Mask& mask, const Lanes& yes, const Lanes& no) {
  return {{mask.v[0] ? yes.v[0] : no.v[0], mask.v[1] ? yes.v[1] : no.v[1]}};
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
  const Integers either = mask.v[0] | mask.v[1];
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
  return {{from[0], from[1]}};
}
inline void store(double* at, const Lanes& value) {
  Doubles* to = reinterpret_cast<Doubles*>(at);
  to[0] = value.v[0];
  to[1] = value.v[1];
}

}  // namespace ellice::lanes

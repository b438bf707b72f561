// Compiled with AVX-512 (src/core/CMakeLists.txt); called only where the processor has it.
#include <immintrin.h>

#include "core/product_tile.hpp"

namespace ellice::blas {

namespace {

struct Lanes {
  using Type = __m512d;
  static constexpr int width = 8;
  static Type zero() { return _mm512_setzero_pd(); }
  static Type load(const double* from) { return _mm512_loadu_pd(from); }
  static void store(double* to, Type value) { _mm512_storeu_pd(to, value); }
  static Type broadcast(const double* from) { return _mm512_set1_pd(*from); }
  static Type add(Type left, Type right) { return _mm512_add_pd(left, right); }
  static Type fma(Type left, Type right, Type sum) { return _mm512_fmadd_pd(left, right, sum); }
};

}  // namespace

constexpr TileKernel avx512_tiles = make_tile_kernel<Lanes, 8>("avx512");

}  // namespace ellice::blas

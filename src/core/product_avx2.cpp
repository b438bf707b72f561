// Compiled with AVX2 and FMA (src/core/CMakeLists.txt); called only where the processor has both.
#include <immintrin.h>

#include "core/product_tile.hpp"

namespace ellice::blas {

namespace {

struct Lanes {
  using Type = __m256d;
  static constexpr int width = 4;
  static Type zero() { return _mm256_setzero_pd(); }
  static Type load(const double* from) { return _mm256_loadu_pd(from); }
  static void store(double* to, Type value) { _mm256_storeu_pd(to, value); }
  static Type broadcast(const double* from) { return _mm256_broadcast_sd(from); }
  static Type add(Type left, Type right) { return _mm256_add_pd(left, right); }
  static Type fma(Type left, Type right, Type sum) { return _mm256_fmadd_pd(left, right, sum); }
};

}  // namespace

constexpr TileKernel avx2_tiles = make_tile_kernel<Lanes, 4>("avx2");

}  // namespace ellice::blas

#pragma once

// The body of every tile kernel. Sources that include it are compiled for processors that the rest
// of the program may not have, so it uses nothing whose code another source could come to share:
// its only instantiations are of types that are local to those sources.

#include "core/product_tiles.hpp"

#ifdef __clang__
#define ELLICE_UNROLLED _Pragma("unroll")
#else
#define ELLICE_UNROLLED _Pragma("GCC unroll 8")
#endif

namespace ellice::blas {

/// `Lanes` has a Type, its width, and zero, load, store, broadcast, add and fma.
template <class Lanes, int height, int columns>
void multiply_tile(const Tile& tile) {
  using Type = typename Lanes::Type;
  Type sums[height][columns];
  ELLICE_UNROLLED
  for (int j = 0; j < columns; ++j) {
    ELLICE_UNROLLED
    for (int i = 0; i < height; ++i) sums[i][j] = Lanes::zero();
  }
  const double* a = tile.a;
  const double* b = tile.b;
  const Index step_j = tile.step_j;
  const Index step_k = tile.step_k;
  for (Index k = tile.depth; k > 0; --k) {
    Type left[height];
    ELLICE_UNROLLED
    for (int i = 0; i < height; ++i) left[i] = Lanes::load(a + i * Lanes::width);
    ELLICE_UNROLLED
    for (int j = 0; j < columns; ++j) {
      const Type right = Lanes::broadcast(b + j * step_j);
      ELLICE_UNROLLED
      for (int i = 0; i < height; ++i) sums[i][j] = Lanes::fma(left[i], right, sums[i][j]);
    }
    a += height * Lanes::width;
    b += step_k;
  }
  ELLICE_UNROLLED
  for (int j = 0; j < columns; ++j) {
    ELLICE_UNROLLED
    for (int i = 0; i < height; ++i) {
      double* c = tile.c + j * tile.leading + i * Lanes::width;
      Lanes::store(c, tile.is_added ? Lanes::add(Lanes::load(c), sums[i][j]) : sums[i][j]);
    }
  }
}

template <class Lanes, int columns>
constexpr TileKernel make_tile_kernel(const char* name) {
  return {.name = name,
          .width = Lanes::width,
          .columns = columns,
          .tiles = {multiply_tile<Lanes, 1, columns>, multiply_tile<Lanes, 2, columns>,
                    multiply_tile<Lanes, 3, columns>}};
}

}  // namespace ellice::blas

#pragma once

// The innermost part of blas.cpp's products, once for each instruction set. Every entry of a tile
// is one sum, made in the order of k with one rounding per term (fused multiply and add), whatever
// vectors it is made in: all of these kernels give the same bytes
// (docs/decisions/0022-bytes-and-processors.md).

// Nothing of Eigen or the standard library whose code could be compiled here: some sources that
// include this are for processors that the rest of the program may not have.
#include <cstddef>
#include <span>

namespace ellice::blas {

using Index = std::ptrdiff_t;  // as Eigen's

/// C = ΣₖAₖBₖ, or C += it, for a tile of C, column-major with its leading dimension. A is packed:
/// the tile's rows of k, then those of k+1; bₖⱼ is b[k·step_k + j·step_j].
struct Tile {
  Index depth = 0;
  const double* a = nullptr;
  const double* b = nullptr;
  Index step_k = 0;
  Index step_j = 0;
  double* c = nullptr;
  Index leading = 0;
  bool is_added = false;
};

struct TileKernel {
  static constexpr Index most_rows = 24;
  static constexpr Index most_columns = 8;
  static constexpr int heights = 3;

  const char* name = nullptr;
  Index width = 0;    // rows of the lowest tile; others have twice and three times as many
  Index columns = 0;  // of every tile
  void (*tiles[heights])(const Tile&) = {};
};

/// Those that this processor has, the fastest first; the last one runs everywhere.
std::span<const TileKernel* const> tile_kernels();

/// The fastest that this processor has; the environment variable ELLICE_KERNEL names another one.
const TileKernel& chosen_tile_kernel();

extern const TileKernel plain_tiles;
#ifdef __x86_64__
extern const TileKernel avx2_tiles;
extern const TileKernel avx512_tiles;
#endif

}  // namespace ellice::blas
